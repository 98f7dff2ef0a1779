# SPDX-License-Identifier: Apache-2.0
"""A cycle of shared_ptr is one entry of `leaks`, with the way round, the count that the program prints, and the pointer to
cut: traced or not, stripped, in a core, a snapshot, a redacted core, and of a living process."""

import os
import subprocess

from support import hawk, leaks

BLOCKS_A_SESSION = 4  # session, its buffer, deadline, callback


def short(name):
    return (name or "").split("<", 1)[-1].split(",", 1)[0]


def check(source, cycles, what, offsets=True):
    document = leaks.ask(*source)
    if not document:
        return
    hawk.expect_equal([entry["cycles"] for entry in document["cycles"]], [cycles], f"{what}: cycles")
    entry = document["cycles"][0]
    hawk.expect_equal(entry["length"], 3, f"{what}: length")
    hawk.expect_equal(entry["lost"]["objects"], cycles * BLOCKS_A_SESSION, f"{what}: lost blocks")
    hawk.expect_equal(entry["lost"], document["lost"], f"{what}: all that is lost")
    names = [short(step["type"]) for step in entry["steps"]]
    hawk.expect_equal(names, ["Session", "Deadline", ""], f"{what}: types")
    if offsets:
        hawk.expect(all(step["offset"] for step in entry["steps"]), f"{what}: {entry['steps']}")
    hawk.expect_equal((entry["cut_step"], entry["freed_by_cut"]["objects"]), (1, BLOCKS_A_SESSION), f"{what}: cut")
    records = [record for record in document["records"] if record["kind"] == "definitely_lost"]
    hawk.expect(records and all(record["cycle"] == 0 for record in records), f"{what}: records without the cycle")
    text = hawk.text_of("leaks", *source, codes=(1,))
    hawk.expect("cycle of 3: Session +" in text and f"{cycles} cycles like this" in text, f"{what}: {text}")
    hawk.expect_columns(text, what)
    path = hawk.text_of("path", "--type=Session", "--top=1", *source)
    hawk.expect("    held at +" in path and "holds: a cycle" in path, f"{what}: {path}")
    hawk.expect_columns(path, what)
    found = hawk.parse(hawk.run([hawk.CORE, "path", "--json", "--type=Session", "--top=1", *source]).stdout)["addresses"][0]
    hawk.expect_equal((len(found["holders"]), found["cycle_holder"], found["holders_cut"]), (2, 0, False), f"{what}: {found}")


def check_copies(core, cycles, folder, what):
    for verb in "snapshot", "redact":
        copy = os.path.join(folder, f"{what}.{verb}")
        done = hawk.run([hawk.CORE, verb, "-q", "-o", copy, core])
        hawk.expect_equal(done.returncode, 0, f"{verb} {what}: {done.stderr[-300:]}")
        check([copy], cycles, f"{what}, {verb}")


def check_alive(program, environment, what):
    process = hawk.spawn([program, "500", "wait"], stdout=subprocess.PIPE, text=True, env=environment)
    cycles = int(process.stdout.readline())
    hawk.wait_for_state(process.pid, "S", what)
    check([f"--pid={process.pid}"], cycles, f"{what}, alive")
    process.kill()
    process.wait()


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "server"), ["session_server.cpp"], "g++", ["-O1", "-std=c++17"])
hawk.strip_to_debug_file(program)
for what, environment in ("traced", hawk.tracer_environment()), ("untraced", hawk.plain_environment()):
    core, done = hawk.crash([program, "6000"], environment, folder)
    if core:
        check([core], int(done.stdout), what)
        check_copies(core, int(done.stdout), folder, what)
    check_alive(program, environment, what)
hawk.finish()
