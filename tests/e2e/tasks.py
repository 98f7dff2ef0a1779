# SPDX-License-Identifier: Apache-2.0
"""Suspended coroutines by place, on a program that prints how many wait where: every count is exact, whichever compiler
made it, and tables of two functions are none."""
# ctest: for=optimized plain
# ctest: long=plain

import json
import os
import signal
import subprocess
import sys

from support import hawk

BUILDS = {"gcc": ("g++", ["-std=c++20"]), "clang": ("clang++", ["-std=c++20", "-fcoroutines-ts"])}
COUNT = 100000
FEWER = 20000


def truth_of(text):
    """Tasks by coroutine and suspend point, and lines."""
    rows = [line.split() for line in text.splitlines() if line != "ready"]
    return {(name, place): (int(count), int(line)) for name, place, count, line in rows}


def key_of(group):
    name = group["coroutine"].removeprefix("flow::").partition("(")[0]
    return name, "ended" if group["state"] == "ended" else str(group["suspend_point"])


def check_counts(core, truth, name, single="1"):
    document = hawk.document("tasks", core)
    found = {key_of(group): group["objects"] for group in document["groups"]}
    wanted = {key if key[0] != "single" else ("single", single): count for key, (count, _) in truth.items()}
    hawk.expect_equal(found, wanted, f"{name}: tasks")
    hawk.expect_equal(document["tasks"]["objects"], sum(wanted.values()), f"{name}: sum")
    hawk.expect(not any(group["guess"] for group in document["groups"]), f"{name}: names are facts")
    leaf = next(group for group in document["groups"] if key_of(group)[0] == "leaf")
    [awaiter] = leaf["awaited_by"]
    hawk.expect_equal((key_of(document["groups"][awaiter["group"]]), awaiter["objects"]), (("reader", "3"), leaf["objects"]),
                      f"{name}: who awaits")
    return document


def check_lines(document, truth, name, all_known):
    """A line that is called a fact is right, and at -O0 all are."""
    for group in document["groups"]:
        line, wanted = group["line"], truth.get(key_of(group), (0, 0))[1]
        if line and not line["guess"]:
            hawk.expect_equal(line["line"], wanted, f"{name}: line of {key_of(group)}")
        if all_known and wanted:
            hawk.expect(line and not line["guess"], f"{name}: {key_of(group)} has a line")


def check_verbs(core, document, name):
    """Other verbs name the frames, too."""
    group = next(group for group in document["groups"] if key_of(group) == ("leaf", "1"))
    frame = f"coroutine frame of {group['coroutine']}"
    for verb in ("whatis", "path"):
        [entry] = json.loads(hawk.text_of(verb, "--json", core, group["example"]))["addresses"]
        hawk.expect_equal(entry["block"]["type"], frame, f"{name}: {verb}")
    types = {entry["type"]: entry for entry in hawk.document("types", core, "--no-graph")["types"]}
    hawk.expect_equal((types[frame]["objects"], types[frame]["known_by"]), (group["objects"], "coroutine"), f"{name}: types")
    [only] = hawk.document("tasks", core, "--type=leaf")["groups"]
    hawk.expect_equal(only["objects"], group["objects"], f"{name}: a filter")
    text = hawk.text_of("tasks", core)
    hawk.expect_columns(text, "tasks")
    hawk.expect("flow::leaf(int) #1" in text and f"awaited by {group['objects']:,}: flow::reader(int) #3" in text, f"{name}: {text}")


def check_stripped(program, core, truth, name):
    """Without symbols a coroutine is its place. clang's then have no numbers, and are guesses."""
    stripped = program + ".stripped"
    hawk.run(["strip", "-o", stripped, program])
    by_gcc = name.startswith("gcc")
    groups = hawk.document("tasks", core, f"--exe={stripped}")["groups"]
    hawk.expect(all(group["guess"] != by_gcc for group in groups), f"{name} stripped: certainty")
    hawk.expect(all(group["coroutine"].startswith(f"{os.path.basename(program)}+0x") for group in groups), f"{name} stripped: places")
    lost = truth["single", "1"][0] if name == "clang -O2" else 0
    hawk.expect_equal(sum(group["objects"] for group in groups), sum(count for count, _ in truth.values()) - lost, f"{name} stripped")
    wanted = sorted(count for count, _ in truth.values())
    if by_gcc:
        hawk.expect_equal(sorted(group["objects"] for group in groups), wanted, f"{name} stripped: counts")


def check_copies(core, document, folder):
    """A redacted core gives the same answer; a snapshot has no contents to look at."""
    small, snapshot = os.path.join(folder, "redacted"), os.path.join(folder, "snapshot")
    hawk.text_of("redact", "-o", small, core)
    hawk.expect_equal(hawk.document("tasks", small)["groups"], document["groups"], "a redacted core")
    hawk.text_of("snapshot", "-o", snapshot, core)
    hawk.text_of("tasks", snapshot, codes=(hawk.EXIT_UNREADABLE,))


def check_process(program, truth):
    process = hawk.spawn([program, str(COUNT // 100), "wait"], env=hawk.plain_environment(), stdout=subprocess.PIPE, text=True)
    lines = []
    while not lines or lines[-1] != "ready\n":
        lines.append(process.stdout.readline())
        if not hawk.expect(lines[-1], "the program ended"):
            return
    found = {key_of(group): group["objects"] for group in json.loads(hawk.text_of("tasks", "--json", f"--pid={process.pid}"))["groups"]}
    process.send_signal(signal.SIGKILL)
    process.wait()
    hawk.expect_equal(found, {key: count for key, (count, _) in truth_of("".join(lines)).items()}, "a process")


folder = hawk.temporary_folder()
level = "-O2" if sys.argv[1] == "optimized" else "-O0"
for build, (compiler, flags) in BUILDS.items():
    name = f"{build} {level}"
    program = hawk.compile_program(os.path.join(folder, build), ["coroutines.cpp"], compiler, [*flags, level])
    environment = hawk.tracer_environment() if build == "clang" else hawk.plain_environment()
    core, done = hawk.crash([program, str(FEWER if name == "clang -O2" else COUNT)], environment, folder)
    if not core:
        continue
    truth = truth_of(done.stdout)
    document = check_counts(core, truth, name, "0" if name == "clang -O2" else "1")
    check_lines(document, truth, name, level == "-O0")
    check_stripped(program, core, truth, name)
    if name == "gcc -O2":
        check_verbs(core, document, name)
        check_copies(core, document, folder)
        check_process(program, truth)
hawk.finish()
