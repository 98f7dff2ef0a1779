# SPDX-License-Identifier: Apache-2.0
"""Arenas that are reset and heaps that are destroyed take their blocks along: where the tracer
cannot follow, nothing is called lost, and why, is said; where it can, the verdicts stay."""

import collections
import os

from support import hawk, leaks

LOST = (3, 300)  # blocks and bytes of make_lost()
KEY = "heaps-discarded"


def compile_program(folder):
    return hawk.compile_program(os.path.join(folder, "arena_reset"), ["arena_reset.c"],
                                flags=["-O1", "-fno-builtin", "-Wl,-z,dynamic-undefined-weak"])


def kinds_of(document):
    """{(function, kind): (objects, bytes)} of the program's own blocks"""
    found = collections.defaultdict(lambda: (0, 0))
    for record in document["records"]:
        for frame in record["frames"]:
            if (frame["function"] or "").startswith("make_"):
                key = frame["function"], record["kind"]
                found[key] = (found[key][0] + record["objects"], found[key][1] + record["bytes"])
    return found


def reasons(document):
    return {item["key"]: item["text"] for item in document["missing"]}


def check_doubts(core, times, what):
    """Checks a core in which blocks were taken back unnoticed."""
    document = leaks.ask(core, codes=(hawk.EXIT_PARTIAL,))
    if not document:
        return {}
    hawk.expect_equal(document["definitely_lost"]["objects"], 0, f"{what}: lost")
    hawk.expect_equal(document["indirectly_lost"]["objects"], 0, f"{what}: lost indirectly")
    words = "an arena of the allocator was" if times == 1 else f"destroyed {times} times"
    hawk.expect(words in reasons(document).get(KEY, ""), f"{what}: {reasons(document)}")
    hawk.expect("arena was reset" in reasons(document).get("leaks-downgraded", ""),
                f"{what}: {reasons(document)}")
    text = hawk.run([hawk.CORE, "leaks", core]).stdout
    hawk.expect("NOT CERTAIN: an arena" in text, f"{what}: {text[:600]}")
    kinds = kinds_of(document)
    hawk.expect_equal(kinds.get(("make_lost", "possibly_lost")), LOST, f"{what}: make_lost")
    analysis = hawk.analyze(core, codes=(hawk.EXIT_PARTIAL,))
    hawk.expect(analysis and KEY in reasons(analysis), f"{what}: analyze says so")
    hawk.expect(analysis and all(item["reach_bytes"] is None for item in analysis["suspects"]),
                f"{what}: no suspect is lost")
    damage = [item["key"] for item in analysis["damage"]] if analysis else []
    hawk.expect("block-unaccounted" not in damage, f"{what}: {damage}")
    return kinds


def check_certain(core, what):
    document = leaks.ask(core, codes=(hawk.EXIT_CONDITION,))
    if not document:
        return {}
    hawk.expect(KEY not in reasons(document), f"{what}: {reasons(document)}")
    kinds = kinds_of(document)
    hawk.expect_equal(kinds.get(("make_lost", "definitely_lost")), LOST, f"{what}: make_lost")
    return kinds


def check_jemalloc(program, folder, library):
    for way in ("reset", "destroy", "mib reset", "mib destroy"):
        core, _ = hawk.crash([program, way], hawk.tracer_environment(library), folder)
        if core:
            check_doubts(core, 2 if way == "reset" else 1, way)
    core, _ = hawk.crash([program, "kept"], hawk.tracer_environment(library), folder)
    if core:
        kinds = check_certain(core, "refused")
        hawk.expect_equal(kinds.get(("make_in_arena", "still_reachable")), (50, 50000), "refused")
        first = leaks.ask(core)["records"][0]["example"]
        hawk.expect("definitely lost" in hawk.run([hawk.CORE, "path", core, first]).stdout,
                    "path: lost")


def check_table_file(program, folder, library):
    table = os.path.join(folder, "table")
    core, _ = hawk.crash([program, "reset"],
                         hawk.tracer_environment(library, f"table={table}"), folder)
    analysis = hawk.analyze(table, codes=(hawk.EXIT_OK,)) if core else None
    hawk.expect(not core or KEY in reasons(analysis), "a table file says so")
    document = leaks.ask(core, "--table", table) if core else None
    hawk.expect(not core or KEY in reasons(document), "a core with its table file says so")


def check_mimalloc(program, folder, library):
    """One heap more than are remembered: its block is left."""
    core, _ = hawk.crash([program, "heaps"], hawk.tracer_environment(library), folder)
    if core:
        kinds = check_doubts(core, 1, "mimalloc")
        left = kinds.get(("make_in_heap", "possibly_lost"), (0, 0))
        hawk.expect(left[0] <= 1, f"mimalloc: {left} of heaps that were destroyed")


folder = hawk.temporary_folder()
program = compile_program(folder)
allocator = hawk.need_allocator("jemalloc")
check_jemalloc(program, folder, allocator)
check_table_file(program, folder, allocator)
check_mimalloc(program, folder, hawk.need_allocator("mimalloc"))
hawk.finish()
