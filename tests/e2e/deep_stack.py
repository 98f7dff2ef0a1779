# SPDX-License-Identifier: Apache-2.0
"""Stacks of a hundred thousand frames: what repeats, how often, and who began it; and a thread that
died below its stack still has one."""

import os
import re
import signal

from support import hawk

ENDLESS = "100000000"


def crash(*arguments):
    core, _ = hawk.crash([program, *arguments], hawk.tracer_environment(), folder,
                         (signal.SIGSEGV, signal.SIGABRT))
    return core


def functions(frames):
    return [frame["function"] for frame in frames]


def thread_of(core):
    return next(thread for thread in hawk.analyze(core)["process"]["threads"] if thread["crashed"])


def crashed_lines(core, *options):
    done = hawk.run([hawk.CORE, "analyze", *options, core])
    hawk.expect_equal(done.returncode, 0, f"analyze: {done.stderr}")
    lines = done.stdout.split("\n")
    start = next(i for i, line in enumerate(lines) if " died in" in line)
    return [line.strip() for line in lines[start:lines.index("", start)]]


def check_repetition(arguments, period, of):
    core = crash(*arguments)
    thread = thread_of(core)
    frames = thread["frames"]
    repeat = [i for i, frame in enumerate(frames) if frame["kind"] == "repeat"]
    what = " ".join(arguments)
    if not hawk.expect_equal(len(repeat), 1, f"{what}: repetitions"):
        return
    found = frames[repeat[0]]
    hawk.expect_equal(found["period"], period, f"{what}: period")
    hawk.expect_equal(set(functions(frames[repeat[0] - period:repeat[0]])), of, f"{what}: cycle")
    hawk.expect(found["left_out"] == (found["times"] - 1) * period, f"{what}: {found}")
    hawk.expect_equal(thread["frame_count"], found["left_out"] + sum(
        frame["kind"] == "function" and not frame["inlined"] for frame in frames), f"{what}: frames")
    hawk.expect(thread["complete"] and thread["frame_count"] > 2000, f"{what}: {thread['frame_count']}")
    outer = functions(frames[repeat[0] + 1:])
    hawk.expect("begin_recursion" in outer, f"{what}: outer frames {outer}")
    hawk.expect("main" in outer or "thread" in arguments, f"{what}: outer frames {outer}")

    lines = crashed_lines(core)
    word = "this frame repeats" if period == 1 else f"these {period} frames repeat"
    hawk.expect(f"({word} {found['times']:,} times)" in lines, f"{what}: {lines}")
    hawk.expect(lines[0].endswith(f"died in ({thread['frame_count']:,} frames)"), lines[0])
    hawk.expect(any(line.startswith("begin_recursion ") for line in lines), f"{what}: {lines}")
    text = hawk.run([hawk.CORE, "analyze", core]).stdout
    hawk.expect("the stack has overflowed" in text, f"{what}: {text}")
    hawk.expect(len(lines) < 30, f"{what}: {lines}")

    # The stack is known although the stack pointer has left it: so are roots and verdicts.
    done = hawk.run([hawk.CORE, "leaks", core])
    hawk.expect("definitely lost             0 B" in done.stdout and
                "Nothing was missing." in done.stdout, f"{what}: {done.stdout}")
    text = " ".join(text.split())
    hawk.expect(re.search(r"is held by (main|worker) thread, `begin_recursion`", text), f"{what}: {text}")
    os.unlink(core)


def check_handler():
    """A handler on a stack of its own, that allocates: both unwinders go on into the deep stack."""
    core = crash("handled", ENDLESS)
    site = next(site for site in hawk.analyze(core)["sites"] if site["inuse_bytes"] == 4242)
    names = [name for name in functions(site["frames"]) if name]
    hawk.expect(names[0] == "handler" and names.count("wide") > 400, f"handled: {names[:9]}, {len(names)}")
    thread = thread_of(core)
    hawk.expect(thread["complete"] and "main" in functions(thread["frames"]) and
                any(frame["kind"] == "repeat" for frame in thread["frames"]), "handled: thread")
    os.unlink(core)


def check_cycle_far_from_the_end():
    """A cycle is shown with its count, even if other frames lie between it and the end."""
    core = crash("three", "3000", "12", "-")
    lines = crashed_lines(core)
    words = [line.split()[0] for line in lines[1:]]
    repeat = next((i for i, line in enumerate(lines[1:]) if " frames repeat " in line), None)
    if hawk.expect(repeat, f"three far from the end: {lines}"):
        hawk.expect_equal(set(words[repeat - 3:repeat]), {"ping", "pong", "pang"}, f"cycle: {lines}")
    hawk.expect_equal(words.count("descend"), 6, f"{lines}")
    os.unlink(core)


def check_cut(depth):
    core = crash("random", str(depth))
    thread = thread_of(core)
    kinds = [frame["kind"] for frame in thread["frames"]]
    cut = [frame for frame in thread["frames"] if frame["kind"] == "cut"]
    hawk.expect_equal(len(cut), 1, "random: cuts")
    hawk.expect(depth < thread["frame_count"] < depth + 20, f"random: {thread['frame_count']}")
    hawk.expect(len(kinds) <= 256 and thread["complete"], f"random: {len(kinds)} lines")
    hawk.expect("main" in functions(thread["frames"]), "random: main is not there")
    lines = crashed_lines(core)
    hawk.expect(any(line.startswith("begin_recursion ") for line in lines), f"random: {lines}")
    hawk.expect(any("more frames (--full)" in line for line in lines), f"random: {lines}")
    full = hawk.run([hawk.CORE, "analyze", "--full", core]).stdout
    hawk.expect(f"({cut[0]['left_out']:,} frames not shown)" in full, "random: --full")
    os.unlink(core)


hawk.use_debug_files()
folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "deep_stack"), ["deep_stack.c"],
                               flags=["-O1", "-g", "-fno-optimize-sibling-calls", "-pthread"])
check_repetition(["alone", ENDLESS], 1, {"alone"})
check_repetition(["three", ENDLESS, "thread"], 3, {"ping", "pong", "pang"})
check_repetition(["wide", ENDLESS], 1, {"wide"})
check_repetition(["wide", ENDLESS, "thread"], 1, {"wide"})
check_handler()
check_cycle_far_from_the_end()
check_cut(99000)
hawk.finish()
