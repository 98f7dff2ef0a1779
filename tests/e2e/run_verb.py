# SPDX-License-Identifier: Apache-2.0
"""hawk-core run: finds the tracer in the build tree and where it is installed, keeps what was
preloaded before, passes exit codes on, raises the core limit; the options of the tracer."""

import os
import shutil

from support import hawk



def run_verb(*arguments, core=None, **options):
    return hawk.run([core or hawk.CORE, "run", *arguments], cwd=folder, **options)


def check_passes_through():
    done = run_verb("--", "sh", "-c", "echo out; echo err >&2; exit 7", env=hawk.plain_environment())
    hawk.expect_equal((done.returncode, done.stdout), (7, "out\n"), "exit code and output")
    hawk.expect(done.stderr.endswith("err\n"), f"stderr {done.stderr!r}")
    done = run_verb("--", "sh", "-c", "cat; echo $HAWK_OPTS", env=hawk.plain_environment(),
                    stdin=None, input="piped ")
    hawk.expect(done.stdout.startswith("piped "), "stdin")
    done = run_verb("--", os.path.join(folder, "nowhere"), env=hawk.plain_environment())
    hawk.expect(done.returncode not in (0, -11) and "nowhere" in done.stderr, f"missing: {done}")


def check_preload():
    done = run_verb("--", "sh", "-c", "echo $LD_PRELOAD", env=hawk.plain_environment())
    hawk.expect_equal(os.path.realpath(done.stdout.strip()), os.path.realpath(hawk.TRACER), "preload")
    library = hawk.need_allocator("jemalloc")
    done = run_verb("--", "sh", "-c", "echo $LD_PRELOAD", env=hawk.plain_environment(library))
    words = done.stdout.strip().replace(":", " ").split()
    hawk.expect(len(words) == 2 and words[1] == library and "hawk" in words[0],
                f"preload in front of another: {done.stdout!r}")


def check_core_limit():
    def no_cores():
        import resource
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    done = run_verb("--", "sh", "-c", "ulimit -Sc; ulimit -Hc", env=hawk.plain_environment(),
                    preexec_fn=no_cores)
    limits = done.stdout.split()
    hawk.expect(len(limits) == 2 and limits[0] == limits[1], f"core limits {limits}")


def check_static_program():
    if not hawk.expect(hawk.run(["gcc", "-static", "-o", "static", "-x", "c", "-"], cwd=folder,
                                stdin=None, input="int main(void){return 0;}").returncode == 0,
                       "a static program can be built"):
        return
    done = run_verb("--", os.path.join(folder, "static"), env=hawk.plain_environment())
    hawk.expect(done.returncode == 0 and "static" in done.stderr, f"static: {done.stderr!r}")


def check_musl_program():
    """Whether or not there is such a loader here."""
    path = os.path.join(folder, "musl")
    loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"
    if hawk.expect(hawk.run(["gcc", loader, "-o", path, "-x", "c", "-"], cwd=folder, stdin=None,
                            input="int main(void){return 0;}").returncode == 0, "a program"):
        done = run_verb("--", path, env=hawk.plain_environment())
        hawk.expect("linked to musl" in done.stderr, f"musl: {done.stderr!r}")
        hawk.expect("libhawk_tracer" not in done.stderr, f"preloaded: {done.stderr!r}")


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
        done = run_verb("--tracer", tracer, "--", *command, env=hawk.plain_environment())
        words = f"{path} has mode {bad or 0:04o}; chmod o+{'r' if path == tracer else 'x'} {path}"
        expected = (done.returncode, os.getuid() == 0 and path is not None)
        hawk.expect_equal((0, words in done.stderr), expected, f"{words}: {done.stderr!r}")
        if command == nobody:
            hawk.expect_equal("cannot be preloaded" in done.stderr, path is not None, f"loader: {done.stderr!r}")
        hawk.expect("another user" in done.stderr or not expected[1], f"warning: {done.stderr!r}")
    hawk.expect_equal(run_verb("--quiet", "--tracer", tracer, "--", "true", env=hawk.plain_environment()).stderr, "",
                      "run --quiet")
    os.chmod(folder, mode)


def check_installed():
    """The whole path from an installation in an odd place."""
    prefix = os.path.join(folder, "opt")
    done = hawk.run(["cmake", "--install", hawk.BUILD, "--prefix", prefix])
    if not hawk.expect(done.returncode == 0, f"install: {done.stderr[-500:]}"):
        return
    core = os.path.join(prefix, "bin", "hawk-core")
    done = run_verb("--", "sh", "-c", "echo $LD_PRELOAD", core=core, env=hawk.plain_environment())
    hawk.expect(done.stdout.startswith(prefix) and "/hawk-core/libhawk_tracer.so" in done.stdout,
                f"installed tracer: {done.stdout!r} {done.stderr!r}")
    path, _ = hawk.crash([core, "run", "--", os.path.join(hawk.SAMPLES, "leak"), "abort"],
                         hawk.plain_environment(), folder) if hawk.cores_are_files() else (None, 0)
    if path:
        done = hawk.run([core, "analyze", path])
        hawk.expect(done.returncode == 0 and "forget_block" in done.stdout and
                    "leak.c:" in done.stdout, f"analysis of an installation: {done.stderr!r}")


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
    done = run_verb("-o", "help=1", "--", "/bin/cat", "/dev/null", env=hawk.plain_environment())
    hawk.expect("progname" in done.stderr, "run -o help=1")
    done = run_verb("-o", "progname=x:y=z", "--opts", "depth=9:stacks=1:progname=a\\:b", "--", "/bin/true",
                    env=hawk.plain_environment())
    hawk.expect_equal(done.returncode, 0, f"options that there are: {done.stderr}")


hawk.need_build()
folder = hawk.temporary_folder()
hawk.run_checks(globals())
