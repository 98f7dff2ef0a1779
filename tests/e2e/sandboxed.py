# SPDX-License-Identifier: Apache-2.0
"""A program that forbids itself system calls which the tracer makes, or has little memory: it works as
it does without the tracer, and what could not be recorded is counted as dropped."""

import os
import re

from support import hawk

# Numbers of x86_64.
CALLS = {"mmap": 9, "mprotect": 10, "munmap": 11, "rt_sigprocmask": 14, "sched_yield": 24,
         "mremap": 25, "madvise": 28, "open": 2, "getcwd": 79, "readlink": 89, "gettid": 186,
         "clock_gettime": 228, "openat": 257, "prlimit64": 302, "getrandom": 318}
SETS = [["mmap"], ["munmap"], ["madvise"], ["mremap"], ["rt_sigprocmask"], ["gettid"],
        ["clock_gettime", "getrandom"], ["open", "openat", "readlink", "getcwd"], list(CALLS)]
MODES = ["", "live=1", "table={folder}/%p.hawk", "sample=4k", "stacks=0", "unwind=fp",
         "max_table=8M", "unwind=libunwind"]  # the last takes long: with one set only


def outcome(arguments, environment, **options):
    done = hawk.run(arguments, env=environment, cwd=folder, timeout=200, **options)
    dropped = re.search(r"^libhawk_tracer: dropped (\d+)$", done.stderr, re.MULTILINE)
    return (done.returncode, done.stdout), int(dropped[1]) if dropped else None


def check_forbidden():
    for names in SETS:
        arguments = [program, "exit", *(str(CALLS[name]) for name in names)]
        plain, _ = outcome(arguments, hawk.plain_environment())
        if plain[0] == 77:
            hawk.skip("no seccomp filters here")
        hawk.expect_equal(plain[0], 0, f"without {names}, untraced")
        for mode in MODES if names == list(CALLS) else MODES[:-1]:
            options = "stats=1:" + mode.format(folder=folder)
            traced, dropped = outcome(arguments, hawk.tracer_environment(options=options))
            hawk.expect_equal(traced, plain, f"without {names}, {mode or 'default'}")
            if names == ["mmap"] and mode in ("", "live=1"):
                hawk.expect(dropped and dropped > 1000, f"without mmap: {dropped} dropped")


def check_strict():
    for mode in ("", "live=1", "table={folder}/%p.hawk", "stacks=0"):
        environment = hawk.tracer_environment(options=mode.format(folder=folder))
        if outcome([program, "strict"], hawk.plain_environment())[0][0] == 77:
            return
        hawk.expect_equal(outcome([program, "strict"], environment)[0], (0, ""),
                          f"strict mode, {mode or 'default'}")


def check_core():
    """Records from before and after are present, and no stack leads astray."""
    core, _ = hawk.crash([program, "abort", str(CALLS["rt_sigprocmask"])],
                         hawk.tracer_environment(), folder)
    if not core:
        return
    analysis = hawk.analyze(core)
    hawk.check_counters(analysis, "without rt_sigprocmask")
    names = {name for site in analysis["sites"] for name in hawk.functions_of(site)}
    hawk.expect("keep_one" in names and "main" in names, f"{sorted(names)}")


def check_little_memory():
    """The tables leave most of a limited address space to the program, and all of a small one."""
    def limit(resource_bytes):
        return lambda: hawk.resource.setrlimit(hawk.resource.RLIMIT_AS, (resource_bytes,) * 2)

    for bytes_ in (24 << 20, 32 << 20, 48 << 20):
        arguments = [program, "exit"]
        plain, _ = outcome(arguments, hawk.plain_environment(), preexec_fn=limit(bytes_))
        traced, dropped = outcome(arguments, hawk.tracer_environment(options="stats=1"),
                                  preexec_fn=limit(bytes_))
        hawk.expect_equal(traced, plain, f"with {bytes_} bytes of address space")
        hawk.expect_equal(dropped is not None, bytes_ >= 32 << 20, f"traced with {bytes_} bytes")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "sandboxed"), ["sandboxed.c"], flags=["-O1"])
hawk.run_checks(globals())
