# SPDX-License-Identifier: Apache-2.0
"""hawk-core run: what the program gets, what is warned about, the exit codes of a shell, and the options of the tracer."""

import os
import resource
import shutil
import stat

from support import hawk


def traced(*arguments, environment=None, preexec=None, **options):
    return hawk.run([hawk.CORE, "run", *arguments], env=environment or hawk.plain_environment(),
                    preexec_fn=preexec, cwd=folder, **options)


def variable(name, *arguments, environment=None):
    """The value that a program under `hawk-core run` sees."""
    done = traced(*arguments, "--", "printenv", name, environment=environment)
    return done.stdout.rstrip("\n")


def check_environment():
    hawk.expect_equal(variable("LD_PRELOAD", "-q"), os.path.realpath(hawk.TRACER), "LD_PRELOAD")
    other = os.path.join(folder, "libother.so")
    shutil.copy(hawk.TRACER, other)
    environment = hawk.plain_environment(allocator="libc.so.6")
    hawk.expect_equal(variable("LD_PRELOAD", "-q", environment=environment),
                      os.path.realpath(hawk.TRACER) + ":libc.so.6", "LD_PRELOAD in front")
    hawk.expect_equal(variable("LD_PRELOAD", "-q", "--tracer", other), other, "--tracer")
    hawk.expect_equal(variable("HAWK_OPTS", "-q"), "", "HAWK_OPTS without options")
    hawk.expect_equal(variable("HAWK_OPTS", "-q", "--depth", "20", "-o", "progname=a:b",
                               "--opts", "stacks=0:collapse=2"),
                      "depth=20:progname=a\\:b:stacks=0:collapse=2", "HAWK_OPTS")
    environment = hawk.plain_environment(extra={"HAWK_OPTS": "depth=8"})
    hawk.expect_equal(variable("HAWK_OPTS", "-q", "-o", "depth=9", environment=environment),
                      "depth=8:depth=9", "HAWK_OPTS behind the old value")


def check_arguments_are_the_program_s():
    done = traced("-q", "echo", "--quiet", "-o", "x")
    hawk.expect_equal(done.stdout, "--quiet -o x\n", "options behind the program")
    done = traced("-q", "--", "sh", "-c", 'echo "$1"', "sh", "--help")
    hawk.expect_equal(done.stdout, "--help\n", "options behind --")


def check_core_limit():
    def lower():
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard != 0:
        done = traced("-q", "--", "bash", "-c", "ulimit -Sc", preexec=lower)
        wanted = "unlimited" if hard == resource.RLIM_INFINITY else None
        hawk.expect(done.stdout.strip() == wanted or wanted is None and done.stdout.strip() != "0",
                    f"soft limit under run: {done.stdout!r}")


def check_exit_codes():
    hawk.expect_equal(traced("-q", "--", "sh", "-c", "exit 42").returncode, 42, "exit code")
    hawk.expect_equal(traced("-q", "--", "no-such-program-here").returncode, 127, "not found")
    hawk.expect_equal(traced("-q", "--", os.path.join(folder, "a", "b")).returncode, 127,
                      "path not found")
    plain = os.path.join(folder, "not-executable")
    hawk.write(plain, "hello\n")
    done = traced("-q", "--", plain)
    hawk.expect_equal(done.returncode, 126, "not executable")
    hawk.expect(plain in done.stderr, f"message: {done.stderr!r}")
    done = traced("--tracer", os.path.join(folder, "no.so"), "true")
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "a tracer that is not there")
    blank = os.path.join(folder, "a folder")
    os.mkdir(blank)
    shutil.copy(hawk.TRACER, blank)
    done = traced("--tracer", os.path.join(blank, os.path.basename(hawk.TRACER)), "true")
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "a tracer with a blank in its path")
    hawk.expect("cannot be preloaded" in done.stderr and "\n" not in done.stderr.strip(),
                f"message: {done.stderr!r}")


def warnings_of(*arguments, preexec=None):
    return traced(*arguments, preexec=preexec).stderr


def check_limit_warning():
    def forbid():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as pattern:
        piped = pattern.read().startswith(("|", "@"))
    text = warnings_of("true", preexec=forbid)
    hawk.expect(piped or "no core will be written" in text and "ulimit" in text,
                f"hard limit 0: {text!r}")
    text = warnings_of("--quiet", "true", preexec=forbid)
    hawk.expect_equal(text, "", "warnings with --quiet")


def check_memory_warning():
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (16 << 20, 16 << 20))

    text = warnings_of("true", preexec=limit)
    hawk.expect("not traced: ulimit -d is 16.0 MiB, and below 32.0 MiB" in text, f"ulimit -d: {text!r}")
    for arguments in (("-q",), ("-o", "max_table=8M")):
        text = warnings_of(*arguments, "true", preexec=limit)
        hawk.expect("not traced" not in text, f"{arguments}: {text!r}")


def check_filter_warning():
    def set_filter(value):
        def write():
            hawk.write("/proc/self/coredump_filter", value)
        return write

    if not os.access("/proc/self/coredump_filter", os.W_OK):
        return
    text = warnings_of("true", preexec=set_filter("0x10"))
    hawk.expect("will not hold the heap" in text and "0x13" in text, f"filter 0x10: {text!r}")
    text = warnings_of("true", preexec=set_filter("0x11"))
    hawk.expect("shared anonymous" in text, f"filter 0x11: {text!r}")
    text = warnings_of("true", preexec=set_filter("0x33"))
    hawk.expect("filter" not in text, f"filter 0x33: {text!r}")


def compile_text(name, text, *flags):
    return hawk.compile_text(folder, name, text, flags=flags)


def check_program_warnings():
    text = "int main(void) { return 0; }\n"
    static = compile_text("static", text, "-static")
    hawk.expect("statically linked" in warnings_of(static), "a static program")
    dynamic = compile_text("dynamic", text)
    hawk.expect("dynamic" not in warnings_of(dynamic), "an ordinary program")
    pie = compile_text("static-pie", text, "-static-pie")
    hawk.expect("statically linked" in warnings_of(pie), "a static-pie program")

    old = os.path.join(folder, "old")
    with open(dynamic, "rb") as file:
        data = bytearray(file.read())
    for bits, machine, words in ((1, 3, "is a 32-bit program"), (2, 183, "not an x86-64 program")):
        data[4], data[18] = bits, machine  # EI_CLASS; EM_386, EM_AARCH64
        hawk.write(old, data)
        os.chmod(old, 0o755)
        hawk.expect(words in warnings_of(old), words)

    script = os.path.join(folder, "script")
    hawk.write(script, f"#!{static} -x\n")
    os.chmod(script, 0o755)
    hawk.expect("statically linked" in warnings_of(script), "a script of a static program")

    if os.geteuid() == 0:
        privileged = os.path.join(folder, "privileged")
        shutil.copy(dynamic, privileged)
        os.chown(privileged, 65534, 65534)
        os.chmod(privileged, 0o755 | stat.S_ISUID)
        hawk.expect("set-user-id" in warnings_of(privileged), "a set-user-id program")


def check_sanitized_programs():
    """They have an allocator of their own, and a runtime that wants to be the first library."""
    text = ("#include <stdio.h>\n#include <stdlib.h>\n"
            "int main(void) { void *volatile p = malloc(10); p = realloc(p, 1000); free(p);"
            " puts(\"fine\"); return 0; }\n")
    for kind, name in (("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")):
        for way in ("", "static"):
            flags = [f"-fsanitize={kind}"] + ([f"-static-lib{kind[0]}san"] if way else [])
            program = compile_text(f"{kind}{way}", text, *flags)
            what = f"{' '.join(flags)}"
            done = traced("--", program)
            hawk.expect_equal((done.returncode, done.stdout), (0, "fine\n"), f"{what} under run")
            hawk.expect(f"is built with {name}" in done.stderr, f"{what}: {done.stderr!r}")
            done = traced("-q", "--", program)
            hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, "fine\n", ""),
                              f"{what} under run -q")
            if kind == "thread" or way:
                done = hawk.run([program], env=hawk.tracer_environment(), cwd=folder)
                hawk.expect_equal((done.returncode, done.stdout), (0, "fine\n"),
                                  f"{what} with the tracer alone")


def check_it_traces():
    program = compile_text(
        "leak", "#include <stdlib.h>\nint main(void) { return !malloc(777777) || (abort(), 1); }\n",
        "-O0")
    if not hawk.cores_are_files() or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return
    done = traced("-q", "--", program)
    core = next(name for name in os.listdir(folder) if name.startswith("core"))
    hawk.expect(done.returncode != 0, "abort")
    analysis = hawk.analyze(os.path.join(folder, core))
    hawk.expect(any(site["inuse_bytes"] == 777777 for site in analysis["sites"]),
                "the block is in the core")


def check_passes_through():
    done = traced("--", "sh", "-c", "echo out; echo err >&2; exit 7")
    hawk.expect_equal((done.returncode, done.stdout), (7, "out\n"), "exit code and output")
    hawk.expect(done.stderr.endswith("err\n"), f"stderr {done.stderr!r}")
    done = traced("--", "sh", "-c", "cat; echo $HAWK_OPTS", input="piped ")
    hawk.expect(done.stdout.startswith("piped "), "stdin")
    done = traced("--", os.path.join(folder, "nowhere"))
    hawk.expect(done.returncode not in (0, -11) and "nowhere" in done.stderr, f"missing: {done}")


def check_musl_program():
    """Holds with and without such a loader on this machine."""
    path = compile_text("musl", "int main(void) { return 0; }", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    text = warnings_of(path)
    hawk.expect("linked to musl" in text and "libhawk_tracer" not in text, f"musl: {text!r}")
    done = traced("--", "env", "A=b", path)
    hawk.expect(f"{path} is linked to musl: if it is started" in done.stderr, f"started: {done.stderr!r}")
    text = warnings_of("env", "/bin/true", folder, path + "/", "/dev/null")
    hawk.expect("musl" not in text, f"no program of musl's: {text!r}")
    if shutil.which("musl-gcc"):
        hawk.compile_text(folder, "real_musl", "int main(void) { return 0; }\n", compiler="musl-gcc")
        path = os.path.join(folder, "real_musl")
        hawk.expect_equal(traced("-q", "--", path).returncode, 0, "a program linked to musl")
        hawk.expect_equal(traced("-q", "--", "env", path).returncode, 127, "one that is started")


def check_programs_that_drop_the_tracer():
    for name in ("sudo", "doas"):
        path = os.path.join(folder, name)
        shutil.copy(shutil.which("env"), path)
        text = warnings_of(path, "true")
        hawk.expect(f"{path} removes LD_PRELOAD" in text and "hawk-core run behind it" in text, f"{name}: {text!r}")
    hawk.expect("removes" not in warnings_of("env", "true"), "env")


def check_other_users():
    """Only root's children can change to a user who cannot read the tracer; what the warning says is what happens."""
    outer, inner = (os.path.join(folder, *names) for names in (("open",), ("open", "inner")))
    tracer = os.path.join(inner, "libhawk_tracer.so")
    os.makedirs(inner)
    shutil.copy(hawk.TRACER, tracer)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", "/dev/null"]
    command = nobody if os.getuid() == 0 and shutil.which("setpriv") else nobody[4:]
    mode = os.stat(folder).st_mode
    os.chmod(folder, 0o755)
    for bad, path in ((0o700, inner), (0o710, outer), (0o640, tracer), (None, None)):
        for good in (inner, outer, tracer):
            os.chmod(good, 0o755)
        if path:
            os.chmod(path, bad)
        done = traced("--tracer", tracer, "--", *command)
        words = f"{path} has mode {bad or 0:04o}; chmod o+{'r' if path == tracer else 'x'} {path}"
        expected = (done.returncode, os.getuid() == 0 and path is not None)
        hawk.expect_equal((0, words in done.stderr), expected, f"{words}: {done.stderr!r}")
        if command == nobody:
            hawk.expect_equal("cannot be preloaded" in done.stderr, path is not None, f"loader: {done.stderr!r}")
        hawk.expect("another user" in done.stderr or not expected[1], f"warning: {done.stderr!r}")
    hawk.expect_equal(traced("--quiet", "--tracer", tracer, "--", "true").stderr, "",
                      "run --quiet")
    os.chmod(folder, mode)


def traced_true(options):
    return hawk.run(["/bin/cat", "/dev/null"], env=hawk.tracer_environment(options=options))


def check_options():
    for options, words in (("help=1", ["stacks", "unwind", "depth", "progname", "collapse"]),
                           ("nonsense=3", ["nonsense"]), ("depth=many", ["depth"]),
                           ("depth=0", ["depth"]), ("unwind=guess", ["unwind"])):
        done = traced_true(options)
        hawk.expect_equal((done.returncode, done.stdout), (0, ""), f"HAWK_OPTS={options}")
        for word in words:
            hawk.expect(word in done.stderr, f"HAWK_OPTS={options}: {done.stderr!r}")
    for options in ("depth=7", "stacks=0", "unwind=fp", "", "progname=^a\\:b$:depth=9"):
        done = traced_true(options)
        hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, "", ""),
                          f"HAWK_OPTS={options}")
    hawk.expect_equal(traced_true("zzz=1:zzz=1").stderr.count("zzz"), 2, "one line per mistake")
    done = traced("-o", "help=1", "--", "/bin/cat", "/dev/null")
    hawk.expect("progname" in done.stderr, "run -o help=1")
    done = traced("-o", "progname=x:y=z", "--opts", "depth=9:stacks=1:progname=a\\:b", "--", "/bin/true")
    hawk.expect_equal(done.returncode, 0, f"options that there are: {done.stderr}")


folder = hawk.temporary_folder()
hawk.run_checks(globals())
