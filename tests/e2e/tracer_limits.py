# SPDX-License-Identifier: Apache-2.0
"""max_table=SIZE: the tracer's memory ends there, the program goes on, and what found no room is
counted. stats=1: the tracer's own counters at exit."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import hawk  # noqa: E402

STACKS = 1 << 17


def statistics(options, *arguments):
    done = hawk.run([program, *arguments], env=hawk.tracer_environment(options=options))
    hawk.expect_equal((done.returncode, done.stdout), (0, f"{STACKS} blocks\n"), options)
    return {name: int(value) for name, value
            in re.findall(r"^libhawk_tracer: (\w+) (\d+)$", done.stderr, re.MULTILINE)}


def check_statistics():
    free = statistics("stats=1")
    hawk.expect(free["distinct_stacks"] >= STACKS, f"{free}")
    hawk.expect(free["allocations"] >= STACKS and free["dropped"] == 0, f"{free}")
    hawk.expect_equal(free["unchanged_stacks"] + free["changed_stacks"], free["allocations"],
                      "stacks")
    hawk.expect(free["looked_up_stacks"] >= STACKS, f"{free}")
    hawk.expect(0 < free["rules_made"] < 10000, f"{free}")
    capped = statistics("stats=1:max_table=8M")
    hawk.expect(capped["table_bytes"] <= 8 << 20 < free["table_bytes"], f"{capped} of {free}")
    hawk.expect(capped["dropped"] > STACKS / 2, f"{capped}")
    hawk.expect_equal(statistics("stats=0"), {}, "words without stats=1")


def check_last_table():
    """There is room for nearly all stacks, but not for a whole further table of their index."""
    for limit in (26, 28):
        capped = statistics(f"stats=1:max_table={limit}M")
        hawk.expect(capped["table_bytes"] <= limit << 20, f"{capped}")
        hawk.expect(capped["dropped"] < STACKS / 1000, f"{capped}")


def check_core():
    core, _ = hawk.crash([program, "abort"], hawk.tracer_environment(options="max_table=8M"),
                         folder)
    heap = hawk.analyze(core)["heap"]
    hawk.expect(heap["inuse_objects"] >= STACKS, f"blocks are missing: {heap}")
    hawk.expect(heap["dropped"] > STACKS / 2, f"{heap}")
    hawk.expect(heap["tracer_bytes"] <= 8 << 20, f"{heap}")


folder = hawk.temporary_folder()
program = os.path.join(folder, "many_stacks")
hawk.compile_program(program, [os.path.join(hawk.SOURCE, "tests", "e2e", "programs",
                                            "many_stacks.c")], flags=("-O2", "-g"))
check_statistics()
check_last_table()
check_core()
hawk.finish()
