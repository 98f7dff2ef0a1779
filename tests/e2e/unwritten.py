# SPDX-License-Identifier: Apache-2.0
"""Memory that was never written is not in a core, and holds nothing. Memory that the program keeps out of
cores looks the same, and may hold anything: the tracer has seen which it is."""

import os
import subprocess

from support import hawk, leaks


def check_whole(core, what):
    """All is known: the lost blocks are lost, the other one is held."""
    document = leaks.ask(core, codes=(hawk.EXIT_CONDITION,)) if core else None
    if not document:
        return
    hawk.expect_equal(document["missing"], [], f"{what}: missing")
    found = leaks.by_site(core)
    hawk.expect_equal(found.get("site_held"), {"still_reachable": (1, 200)}, f"{what}: held")
    hawk.expect_equal(found.get("site_lost", {}).get("definitely_lost"), (10, 1000), f"{what}: lost")


def check_uncertain(core, what, told=True):
    """Calls nothing lost, with the reason, if a pointer may lie in memory that the core lacks."""
    document = leaks.ask(core, codes=(hawk.EXIT_PARTIAL,)) if core else None
    if not document:
        return
    keys = [item["key"] for item in document["missing"]]
    hawk.expect("roots-missing" in keys and ("roots-undumped" in keys) >= told, f"{what}: {keys}")
    hawk.expect_equal(document["definitely_lost"]["objects"], 0, f"{what}: lost")
    hawk.expect_equal(leaks.by_site(core).get("site_held"), {"possibly_lost": (1, 200)}, f"{what}: held")


def crash(mode):
    return hawk.crash([program, mode, "abort"], hawk.tracer_environment(), folder)[0]


def check_gcore(mode, check):
    """gdb leaves out the whole mapping, with its address."""
    with hawk.spawn([program, mode, "wait"], env=hawk.tracer_environment(), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        core = hawk.gcore(process.pid, folder)
        process.kill()
    check(core, f"gcore, {mode}")


def check_untraced():
    """A program that imports no madvise() keeps nothing out of cores."""
    never = hawk.compile_program(os.path.join(folder, "never"), ["unwritten.c"], flags=["-DWITHOUT_MADVISE"])
    for path, known in ((never, True), (program, False)):
        core = hawk.crash([path, "untouched", "abort"], hawk.plain_environment(), folder)[0]
        found = leaks.ask(core) if core else None
        if found:
            hawk.expect_equal((found["definitely_lost"]["objects"], [item["key"] for item in found["missing"]]),
                              (10, []) if known else (0, ["roots-missing", "leaks-downgraded"]), f"untraced {path}")


hawk.use_debug_files()  # nothing is to be missing
folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "unwritten"), ["unwritten.c"])
check_whole(crash("untouched"), "untouched")
check_whole(crash("again"), "again")
check_uncertain(crash("kept out"), "kept out")
check_uncertain(crash("many"), "many")
check_uncertain(crash("moved"), "moved", told=False)
check_gcore("kept out", check_uncertain)
check_gcore("untouched", check_whole)
check_untraced()
hawk.finish()
