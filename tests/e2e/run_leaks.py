# SPDX-License-Identifier: Apache-2.0
"""hawk-core run --leaks: what a program has lost when it exits, in whichever way, and the exit codes."""

import os
import re
import signal
import subprocess

from support import hawk

LEAKS = 23  # the exit code where something is lost
BLOCK = 100


def run(program, *options):
    return hawk.run([hawk.CORE, "run", "-q", *options, "--", *program], env=hawk.plain_environment(), cwd=folder)


def lost_in(path):
    """Blocks that are lost or possibly lost, by the report; None without one."""
    path = os.path.join(folder, path)
    if not os.path.exists(path):
        return None
    report = hawk.parse(hawk.read(path).decode())
    os.remove(path)
    hawk.expect_equal(report["possibly_lost"]["objects"], 0, f"{path}: possibly lost")
    lost = report["lost"]
    hawk.expect_equal(lost["bytes"], BLOCK * lost["objects"], f"{path}: bytes")
    return lost["objects"]


def watched(how, *options):
    """Exit code, lost blocks of the program, lost blocks by PID of the others."""
    done = run([program, how], "--leaks", "--json", "--output=report", *options)
    hawk.expect_equal(done.stdout, "", f"{how}: standard output")
    others = [lost_in(name) for name in sorted(os.listdir(folder)) if re.fullmatch(r"report\.\d+", name)]
    return done.returncode, lost_in("report"), others


def check_ways_to_exit():
    for how, lost in (("plain", 3), ("_exit", 1), ("quick_exit", 1), ("exit in destructor", 1), ("threads", 1),
                      ("ended threads", 40), ("last thread", 2), ("thread exits", 2), ("exec", 3), ("exec in thread", 3)):
        hawk.expect_equal(watched(how), (LEAKS, lost, []), how)
    for how in "clean", "destructor":
        hawk.expect_equal(watched(how), (0, None, []), how)


def check_many_exits_of_threads():
    """Threads are read as they were, however the exit finds them."""
    for _ in range(3):
        hawk.expect_equal(watched("threads")[:2], (LEAKS, 1), "threads")


def check_children():
    hawk.expect_equal(watched("fork"), (0, None, []), "fork without --follow")
    hawk.expect_equal(watched("fork", "--follow"), (LEAKS, None, [4]), "fork with --follow")
    hawk.expect_equal(watched("spawn"), (LEAKS, 1, []), "posix_spawn without --follow")
    hawk.expect_equal(watched("spawn", "--follow"), (LEAKS, 1, [3]), "posix_spawn with --follow")
    done = run(["sh", "-c", f"{program} plain; {program} clean; exit 0"], "--leaks", "--follow")
    hawk.expect_equal(done.returncode, LEAKS, "a shell's child")
    hawk.expect_equal(done.stderr.count("Leaks:"), 1, f"reports of those that lost something: {done.stderr}")
    hawk.expect(re.search(r"^hawk-core: ways_to_exit \(process \d+\) lost memory$", done.stderr, re.M), done.stderr)


def check_exit_codes():
    for options, code in ((("--exit-code=7",), 7), (("--exit-code=0",), 5), (("--suppressions=all",), 5), ((), LEAKS)):
        hawk.expect_equal(watched("plain", *options)[0], code, f"{options}")
    hawk.expect_equal(run([program, "plain"], "--snapshot-at-exit=kept").returncode, 5, "a snapshot alone")
    asked = hawk.document("leaks", os.path.join(folder, "kept"), codes=(1,))
    hawk.expect_equal(asked["lost"]["objects"], 3, "the snapshot")
    for options in (["--leaks=nonsense"], ["--leaks", "--suppressions=broken"], ["--leaks", "--suppressions=missing"],
                    ["--suppressions=all"], ["--follow"], ["--leaks", "--output=kept"], ["--snapshot-at-exit=kept"]):
        done = run(["touch", "started"], *options)
        hawk.expect(done.returncode in (hawk.EXIT_USAGE, hawk.EXIT_UNREADABLE), f"{options}: {done.returncode}")
        hawk.expect(not os.path.exists(os.path.join(folder, "started")), f"{options}: started the program")
    hawk.expect_equal(run(["no-such-program"], "--leaks").returncode, 127, "not found")
    hawk.expect_equal(run(["cat"], "--leaks").stderr, "", "nothing to say")


def check_kinds():
    done = run([program, "plain"], "--leaks=definite")
    hawk.expect("3 blocks, 300 B lost" in done.stderr and "leak(int)" in done.stderr, done.stderr)
    hawk.expect_columns(done.stderr, "the report")


def check_death_by_signal():
    done = run([program, "abort"], "--leaks", "--json", "--output=report")
    hawk.expect_equal((done.returncode, lost_in("report")), (-signal.SIGABRT, None), "abort")


def listening():
    process = hawk.spawn([hawk.CORE, "run", "-q", "--leaks", "--", program, "signals"], cwd=folder, text=True,
                         env=hawk.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         process_group=0)
    hawk.expect_equal(process.stdout.readline(), "ready\n", "the program's output")
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return process, int(file.read())


def check_signals():
    """Each reaches the program once: those sent to the command, and those sent to it alone."""
    process, child = listening()
    process.send_signal(signal.SIGTERM)
    os.kill(child, signal.SIGINT)
    process.send_signal(signal.SIGHUP)  # kills it: no report
    hawk.expect_equal(process.wait(60), -signal.SIGHUP, "the program's signal")
    process, child = listening()
    os.kill(child, signal.SIGTSTP)  # as a terminal does; the command stops with it
    hawk.wait_for_state(process.pid, "T", "the command to stop")
    os.killpg(process.pid, signal.SIGCONT)
    hawk.wait_for_state(child, "S", "the program to go on")
    process.send_signal(signal.SIGTERM)
    os.kill(child, signal.SIGINT)
    hawk.expect_equal(process.wait(60), LEAKS, "exit code after signals")


def check_refusals():
    """Nothing starts that cannot be watched."""
    done = run([hawk.CORE, "run", "-q", "--leaks", "--", "touch", "started"], "--leaks", "--follow")
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "watched already")
    hawk.expect(re.match(r"hawk-core: cannot watch touch: process \d+ is already traced by", done.stderr), done.stderr)
    sanitized = hawk.compile_text(folder, "sanitized", "int main(void) { return 0; }", flags=("-fsanitize=address",))
    done = run([sanitized], "--leaks")
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "sanitized")
    hawk.expect("cannot be watched: a sanitizer is built in" in done.stderr, done.stderr)
    hawk.expect(not os.path.exists(os.path.join(folder, "started")), "the program was started")


def check_static():
    """Untraced: the allocator's own structures tell."""
    static = hawk.compile_text(folder, "static_leak", """
#include <stdlib.h>
int main(void)
{
	char *volatile block = malloc(100);
	block = NULL;
	return block ? 1 : 0;
}
""", flags=("-O0", "-static"))
    done = hawk.run([hawk.CORE, "run", "--leaks", static], env=hawk.plain_environment())
    hawk.expect_equal(done.returncode, LEAKS, f"a static program: {done.stderr}")
    hawk.expect("is statically linked" in done.stderr and "1 block" in done.stderr, done.stderr)


def check_healthy_programs():
    for words in (["python3", "-c", "import json; json.dumps(list(range(1000)))"], ["bash", "-c", "echo $(echo a | tr a b)"],
                  ["ls", "/"]):
        hawk.need(words[0])
        done = run(words, "--leaks")
        hawk.expect_equal((done.returncode, done.stderr), (0, ""), words[0])


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "ways_to_exit"), ["ways_to_exit.cpp"], "g++", ["-O1"])
hawk.write(os.path.join(folder, "all"), "# known\nleak:^leak\n")
hawk.write(os.path.join(folder, "broken"), "{\n")
hawk.run_checks(globals())
