# SPDX-License-Identifier: Apache-2.0
"""Alternate signal stacks in blocks are known to the kernel alone: they are held while their threads are
there. What a handler on such a stack has interrupted is held by its ucontext."""

import os

from support import hawk, leaks

KEPT = "still_reachable"
LOST = "definitely_lost"
STACK = 16 << 10
WANTED = {
    "site_in_use": {KEPT: (10, 10 * STACK)},
    "site_behind_guard": {KEPT: (1, STACK + 1024)},
    "site_disabled": {LOST: (1, STACK)},
    "site_of_ended": {LOST: (1, STACK)},
    "site_of_handler": {KEPT: (1, STACK)},
    "site_in_general": {KEPT: (1, 200)},
    "site_in_vector": {KEPT: (1, 300)},
}


def check(core, what):
    document = leaks.ask(core, codes=(hawk.EXIT_CONDITION,))
    if document:
        hawk.expect_equal(document["missing"], [], f"{what}: missing")
        hawk.expect_equal(leaks.by_site(core), WANTED, what)


def check_names(core):
    """Each of them is held by its own thread."""
    threads = set()
    for block in hawk.blocks(core, "--size", f"{STACK}-{STACK + 1024}"):
        roots = [place["root"] for place in hawk.document("refs", core, block["address"])["addresses"][0]["roots"]]
        threads |= {root["thread"] for root in roots if root["register"] == "signal stack"}
    hawk.expect_equal(len(threads), 12, "threads that hold signal stacks")


hawk.use_debug_files()  # nothing is to be missing
folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "signal_stacks"), ["signal_stacks.c"], flags=["-O1", "-pthread"])
core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
if core:
    check(core, "core")
    check_names(core)
    snapshot = os.path.join(folder, "core.snapshot")
    hawk.run([hawk.CORE, "snapshot", "-o", snapshot, core])
    check(snapshot, "snapshot")
    redacted = os.path.join(folder, "core.redacted")
    hawk.run([hawk.CORE, "redact", "-o", redacted, core])
    check(redacted, "redacted core")
hawk.finish()
