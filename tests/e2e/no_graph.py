# SPDX-License-Identifier: Apache-2.0
"""`analyze --no-graph` sums blocks up without keeping them: the same answer but for what needs pointers, and it says so."""

import os

from support import hawk

NODES = 20000
NEED_POINTERS = ("lost", "definitely_lost", "indirectly_lost", "possibly_lost")
REASON = "Leaks and suspects: not asked for (--no-graph)."


def check(environment, name):
    core, _ = hawk.crash([program, str(NODES), "4"], environment, folder)
    if not core:
        return
    whole, sums = hawk.analyze(core), hawk.analyze(core, "--no-graph")
    hawk.expect(whole["suspects"] and whole["suspects_skipped"] is None, f"{name}: nobody is suspected")
    hawk.expect_equal((sums.pop("suspects"), sums.pop("suspects_skipped")), ([], REASON), f"{name}: suspects")
    del whole["suspects"], whole["suspects_skipped"]
    for answer in whole, sums:
        for key in "suspects_shown", "suspects_total", "next", "next_shown", "next_total":
            del answer[key]
    lost = [whole["heap"].pop(key) is None for key in NEED_POINTERS]
    hawk.expect_equal([sums["heap"].pop(key) is None for key in NEED_POINTERS], [not known for known in lost],
                      f"{name}: lost blocks")
    hawk.expect_equal(sums, whole, f"{name}: the other values")
    text = hawk.text_of("analyze", core)
    hawk.expect(hawk.text_of("analyze", "--no-graph", core).startswith(text[:text.index("\nLeaks:")] + "\n" + REASON),
                f"{name}: the first screen")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "many_lists"), ["many_lists.c"])
check(hawk.tracer_environment(), "traced")
check(hawk.plain_environment(), "glibc")
jemalloc = hawk.find_allocator("jemalloc")
if jemalloc:
    check(hawk.plain_environment(jemalloc), "jemalloc")
hawk.finish()
