# SPDX-License-Identifier: Apache-2.0
"""The dynamic loader started by hand with the program as its argument, as bundles do that bring their
own C library along: the tracer knows the loader, so that it sees libraries go, and the program."""

import os
import re
import signal

from support import hawk

LOADS = "100"


def statistics(arguments, environment):
    done = hawk.run(arguments, env=environment, cwd=folder)
    hawk.expect_equal(done.returncode, 0, f"{arguments[0]}: {done.stderr[-300:]}")
    return {name: int(value) for name, value
            in re.findall(r"^libhawk_tracer: (\w+) (\d+)$", done.stderr, re.MULTILINE)}


def check_modules():
    """As many modules and stacks as when the kernel starts the loader."""
    usual = statistics([program, LOADS, *plugins], hawk.tracer_environment(options="stats=1"))
    options = hawk.plain_environment(extra={"HAWK_OPTS": "stats=1"})
    by_hand = statistics([*by_loader, program, LOADS, *plugins], options)
    for name in ("modules", "distinct_stacks", "allocations"):
        hawk.expect_equal(by_hand[name], usual[name], name)
    hawk.expect(usual["modules"] > int(LOADS), f"{usual}")


def check_table_file():
    """The program, by a relative name, in the words of the tracer alone."""
    table = os.path.join(folder, "table.hawk")
    environment = hawk.plain_environment(extra={"HAWK_OPTS": f"table={table}"})
    hawk.run([*by_loader, ".//" + os.path.basename(stacks), "exit"], env=environment, cwd=folder)
    analysis = hawk.analyze(table)
    hawk.expect_equal(analysis["process"]["program"], stacks, "program of the table file")
    check_names(analysis, "table file")


def check_core():
    if not hawk.cores_are_files():
        print("no core: the kernel hands cores to a program")
        return
    core, _ = hawk.crash([*by_loader, stacks, "abort"], hawk.plain_environment(), folder,
                         signals=(signal.SIGABRT,))
    if core:
        check_names(hawk.analyze(core), "core")


def check_names(analysis, what):
    frames = [frame for site in analysis["sites"] for frame in site["frames"]
              if hawk.plain_name(frame.get("function")) == "keep_one"]
    hawk.expect(frames, f"{what}: keep_one is in no stack")
    hawk.expect_equal({frame["module"] for frame in frames}, {stacks}, f"{what}: its module")


folder = hawk.temporary_folder()
loader = "/lib64/ld-linux-x86-64.so.2"
if not os.path.exists(loader):
    hawk.skip(f"there is no {loader}")
by_loader = [loader, "--preload", hawk.TRACER]
program = hawk.compile_program(os.path.join(folder, "reload"), ["plugin_reload.c"], flags=["-O1"])
stacks = hawk.compile_program(os.path.join(folder, "stacks"), ["sandboxed.c"], flags=["-O1"])
plugins = [hawk.compile_program(os.path.join(folder, f"plugin{i}.so"), ["plugin_small.c"],
                                flags=["-O1", "-shared", "-fPIC"]) for i in range(2)]
if hawk.run([*by_loader, stacks, "exit"], env=hawk.plain_environment()).returncode:
    hawk.skip("this loader has no --preload")
hawk.run_checks(globals())
