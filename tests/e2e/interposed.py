# SPDX-License-Identifier: Apache-2.0
"""A library before the C library whose clock_gettime() and dl_iterate_phdr() allocate under a lock,
and whose clock is days ahead: the program runs as it does without the tracer, and ages are right."""

import json
import os

from support import hawk

BLOCKS, PAUSE_SECONDS = 200, 4
LATE_BLOCKS = 64  # after a pause so many look older than they are


def check(name, preload):
    environment = hawk.tracer_environment()
    environment["LD_PRELOAD"] = preload
    core, _ = hawk.crash([program], environment, folder, timeout=60)
    if not core:
        return
    done = hawk.run([hawk.CORE, "blocks", "--json", core])
    blocks = [json.loads(line) for line in done.stdout.splitlines()]
    old = [block["age_seconds"] for block in blocks if block["size"] == 1000]
    young = [block["age_seconds"] for block in blocks if block["size"] == 3000]
    hawk.expect_equal((len(old), len(young)), (BLOCKS, BLOCKS), f"{name}: blocks")
    hawk.expect(old and min(old) > PAUSE_SECONDS / 2 and max(old) < 60, f"{name}: old {old}")
    hawk.expect(sum(age < PAUSE_SECONDS / 2 for age in young) >= BLOCKS - LATE_BLOCKS,
                f"{name}: young {young}")
    analysis = hawk.analyze(core)
    hawk.expect(PAUSE_SECONDS / 2 < analysis["heap"]["uptime_seconds"] < 60,
                f"{name}: {analysis['heap']}")
    hawk.check_counters(analysis, name)


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "two_ages"), ["two_ages.c"])
library = hawk.compile_program(os.path.join(folder, "interposer.so"), ["interposer.c"],
                               flags=["-shared", "-fPIC", "-pthread"])
check("alone", hawk.TRACER)
check("the tracer first", f"{hawk.TRACER}:{library}")
check("the tracer last", f"{library}:{hawk.TRACER}")
hawk.finish()
