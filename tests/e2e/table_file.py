# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
"""A table file says who owned the memory after SIGKILL (stress.py compares it at random moments). Limits, forks, execs,
closed descriptors and full disks never hurt the program."""

import atexit
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile

from support import hawk

def options(name, *others):
    return ":".join([f"table={os.path.join(folder, name)}", *others])


def memory_cgroup():
    """A new cgroup with a memory limit, or None."""
    for root, limit in (("/sys/fs/cgroup", "memory.max"),
                        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        path = os.path.join(root, f"hawk-test-{os.getpid()}")
        if not os.path.exists(os.path.join(root, "cgroup.procs")):
            continue
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            with open(os.path.join(path, limit), "r+", encoding="ascii") as file:
                file.write(str(32 << 20))
            if os.path.exists(os.path.join(path, "memory.swap.max")):
                with open(os.path.join(path, "memory.swap.max"), "r+", encoding="ascii") as file:
                    file.write("0")
            return path
        except OSError:
            os.rmdir(path)
    return None


def enter(group):
    """In the child. Whatever becomes of the cgroup, the program ends before the machine suffers."""
    with open(os.path.join(group, "cgroup.procs"), "r+", encoding="ascii") as file:
        file.write(str(os.getpid()))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def check_cgroup():
    """Killed by the kernel itself, for want of memory."""
    group = memory_cgroup()
    if not group:
        print("no cgroup can be made here: the OOM killer's part is left out")
        return
    hog = os.path.join(folder, "hog")
    hawk.compile_program(hog, ["table_hog.c"], flags=["-O1"])
    try:
        done = hawk.run([hog], env=hawk.tracer_environment(options=options("oom")),
                        preexec_fn=lambda: enter(group))
        hawk.expect_equal(done.returncode, -signal.SIGKILL, "the OOM killer")
        analysis = hawk.analyze(os.path.join(folder, "oom"))
        top = analysis["sites"][0]
        hawk.expect("hog_site" in hawk.functions_of(top), f"{top}")
        hawk.expect(top["inuse_bytes"] > 8 << 20, f"{top}")
    finally:
        hawk.wait_for(lambda: remove(group), 5, "the cgroup to be empty")


def remove(group):
    try:
        os.rmdir(group)
        return True
    except OSError:
        return False


def live_of(analysis, function):
    return sum(site["inuse_objects"] for site in analysis["sites"]
               if function in hawk.functions_of(site))


def fork_run(mode, table, extra=None):
    done = hawk.run([program, mode],
                    env=hawk.tracer_environment(options=options(table), extra=extra))
    hawk.expect_equal(done.returncode, -signal.SIGKILL, f"{mode}: {done.stderr}")
    return int(done.stdout), done.stderr


def check_forks():
    for mode in ("fork", "raw", "vfork"):
        child, words = fork_run(mode, f"{mode}-parent")
        analysis = hawk.analyze(os.path.join(folder, f"{mode}-parent"))
        hawk.expect_equal((live_of(analysis, "parent_site"), live_of(analysis, "child_site")),
                          (30, 0), f"{mode}: the parent's file")
        hawk.expect_equal(words, "", f"{mode}: stderr")
    for mode in ("fork", "threads"):  # the latter with slots of threads that are gone
        child, _ = fork_run(mode, f"both-{mode}-%p")
        names = sorted(name for name in os.listdir(folder) if name.startswith(f"both-{mode}-"))
        hawk.expect_equal(len(names), 2, f"files {names}")
        analysis = hawk.analyze(os.path.join(folder, f"both-{mode}-{child}"))
        hawk.expect_equal((live_of(analysis, "parent_site"), live_of(analysis, "child_site")),
                          (10, 1000), f"{mode}: the child's own file")
    hawk.expect_equal(analysis["process"]["pid"], child, "pid")


def check_child_core():
    """The table of a child without a file of its own is in its memory."""
    if not hawk.cores_are_files():
        print("no cores here: a child's is left out")
        return
    where = tempfile.mkdtemp(dir=folder)
    environment = hawk.tracer_environment(options=options("core-parent"),
                                          extra={"CHILD_ABORTS": "1"})
    hawk.run([program, "fork"], env=environment, cwd=where, preexec_fn=hawk.allow_cores)
    cores = os.listdir(where)
    if hawk.expect_equal(len(cores), 1, f"cores {cores}"):
        analysis = hawk.analyze(os.path.join(where, cores[0]))
        hawk.expect_equal(analysis["damage"], [], "child's core: damage")
        hawk.expect_equal((live_of(analysis, "parent_site"), live_of(analysis, "child_site")),
                          (10, 1000), "child's core")


def check_names():
    """A file is never overwritten, unless it is of the same process before an exec."""
    done = hawk.run([program, "exec", program, "exec", program, "fork"],
                    env=hawk.tracer_environment(options=options("exec")))
    hawk.expect_equal((done.returncode, done.stderr), (-signal.SIGKILL, ""), "exec")
    hawk.expect_equal(live_of(hawk.analyze(os.path.join(folder, "exec")), "parent_site"), 30,
                      "after two execs")
    before = open(os.path.join(folder, "exec"), "rb").read(8192)
    done = hawk.run([program, "fork"], env=hawk.tracer_environment(options=options("exec")))
    hawk.expect("exec: exists, and is left as it is" in done.stderr, f"{done.stderr}")
    hawk.expect(before == open(os.path.join(folder, "exec"), "rb").read(8192), "overwritten")
    hawk.expect_equal(os.stat(os.path.join(folder, "exec")).st_mode & 0o777, 0o600, "mode")
    os.symlink(os.path.join(folder, "elsewhere"), os.path.join(folder, "link"))
    done = hawk.run([program, "fork"], env=hawk.tracer_environment(options=options("link")))
    hawk.expect("exists" in done.stderr and not os.path.exists(os.path.join(folder, "elsewhere")),
                f"a link was followed: {done.stderr}")
    # a child that executes something long after its parent's start; one that can make no file
    for name, script in (("late-%p", "sleep 2.2; /bin/true; :"),
                         ("gone/%p", f"rm -r {folder}/gone; (exit 0); :")):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        done = hawk.run(["bash", "-c", script], env=hawk.tracer_environment(options=options(name)))
        hawk.expect_equal((done.returncode, done.stderr), (0, ""), script)
    done = hawk.run([program, "fork"], env=hawk.tracer_environment(
        options=options("unwanted", "progname=somethingelse")))
    hawk.expect(not os.path.exists(os.path.join(folder, "unwanted")),
                "a file of a program that is not traced")


def check_growth():
    done = hawk.run([program, "fds"], env=hawk.tracer_environment(options=options("fds")))
    hawk.expect_equal(done.returncode, -signal.SIGKILL, f"closed descriptors: {done.stderr}")
    analysis = hawk.analyze(os.path.join(folder, "fds"))
    hawk.expect(analysis["heap"]["dropped"] == 0 and not analysis["partial"],
                f"{analysis['heap']} {analysis['missing']}")
    hawk.expect_equal((live_of(analysis, "parent_site"), live_of(analysis, "child_site")),
                      (32768, 1000), "many stacks")
    done = hawk.run([program, "fds"],
                    env=hawk.tracer_environment(options=options("capped", "max_table=8M")))
    analysis = hawk.analyze(os.path.join(folder, "capped"))
    hawk.expect(analysis["heap"]["dropped"] > 1000, f"{analysis['heap']}")
    hawk.expect_equal(analysis["heap"]["inuse_objects"] >= 33768, True, f"{analysis['heap']}")
    hawk.expect(os.stat(os.path.join(folder, "capped")).st_blocks * 512 <= 8 << 20, "max_table")


def check_limits():
    def few_bytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = hawk.run([program, "fork"], env=hawk.tracer_environment(options=options("short")),
                    preexec_fn=few_bytes)
    hawk.expect_equal(done.returncode, -signal.SIGKILL, "RLIMIT_FSIZE")
    hawk.expect("the file size limit is too low" in done.stderr, done.stderr)
    hawk.expect(not os.path.exists(os.path.join(folder, "short")), "a file of no use")
    hawk.run([program, "fork"], env=hawk.tracer_environment(options="table=/proc/no"))
    unshare = shutil.which("unshare")
    where = os.path.join(folder, "full")
    os.mkdir(where)
    for kib in (100, 1000, 3000, 6000):
        script = (f"mount -t tmpfs -o size={kib}k tmpfs {where} && "
                  f"HAWK_OPTS=table={where}/table:stats=1 LD_PRELOAD={hawk.TRACER} {program} fds; "
                  f"echo code $?")
        done = unshare and hawk.run([unshare, "-rm", "sh", "-c", script])
        if not done or "code" not in done.stdout or "mount" in done.stderr:
            print("no file system can be mounted here: a full one is left out")
            return
        hawk.expect("code 137" in done.stdout, f"{kib} KiB of disk: {done.stdout} {done.stderr}")


def check_refusals():
    path = os.path.join(folder, "refused")
    hawk.run([program, "fork"], env=hawk.tracer_environment(options=options("refused")))
    for verb in (["blocks"], ["whatis"]):
        arguments = [hawk.CORE, *verb, path] + (["0"] if verb == ["whatis"] else [])
        done = hawk.run(arguments)
        hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and
                    "table file has counts by stack and no blocks" in done.stderr,
                    f"{verb}: {done.returncode} {done.stderr}")
    done = hawk.run([hawk.CORE, "analyze", path])
    hawk.expect_columns(done.stdout, "a table file")
    hawk.expect("allocations minus frees of each stack" in done.stdout, done.stdout)
    done = hawk.run([hawk.CORE, "analyze", "--full", "--sort", "total", path])
    hawk.expect("temporary" in done.stdout and "average" in done.stdout, done.stdout)
    for size in (100, 3000, 8192, 9000, 1 << 20, 2 << 20):
        done = hawk.run([hawk.CORE, "analyze", "--json", hawk.cut(path, size)])
        wanted = hawk.EXIT_UNREADABLE if size < 8192 else hawk.EXIT_PARTIAL
        hawk.expect(done.returncode == wanted, f"cut at {size}: {done.returncode} {done.stderr}")
    other = hawk.run([hawk.CORE, "analyze", "--table", path, path])
    hawk.expect_equal(other.returncode, hawk.EXIT_USAGE, other.stderr)


def check_core_with_table():
    core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "dead"), "abort"],
                         hawk.tracer_environment(options=options("dead")), hawk.temporary_folder())
    if not core:
        return
    without = hawk.run([hawk.CORE, "analyze", "--json", core])
    missing = {item["key"]: item["text"] for item in json.loads(without.stdout)["missing"]}
    hawk.expect(os.path.join(folder, "dead") in missing.get("table-in-file", ""), f"{missing}")
    analysis = hawk.analyze(core, "--table", os.path.join(folder, "dead"))
    hawk.check_counters(analysis, "core and table file")
    hawk.expect_equal(live_of(analysis, "make_kept"), 10, "make_kept")
    done = hawk.run([hawk.CORE, "analyze", "--table", os.path.join(folder, "exec"), core])
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "belongs to another process" in done.stderr,
                f"{done.returncode} {done.stderr}")


GROWING = """
$SIG{USR1} = sub { $kept{$_} = 1 for 1..20000; print "more\\n" };
$| = 1; print "ready\\n"; sleep 1 while 1;
"""


def check_core_with_younger_table():
    """The core is of a process that went on: what its table has counted since is not missing from the core."""
    process = hawk.spawn([hawk.need("perl"), "-e", GROWING], stdout=subprocess.PIPE, text=True,
                         env=hawk.tracer_environment(options=options("growing")))
    process.stdout.readline()
    hawk.wait_for_state(process.pid, "S", "perl")
    core = hawk.gcore(process.pid, hawk.temporary_folder())
    found = []
    for when in "at once", "later":
        if found:
            process.send_signal(signal.SIGUSR1)
            process.stdout.readline()
        done = hawk.run([hawk.CORE, "leaks", "--json", "--exit-code=0", "--table", os.path.join(folder, "growing"), core])
        document = hawk.parse(done.stdout)
        keys = [item["key"] for item in document["missing"] + document["damage"]]
        hawk.expect_equal((done.returncode, "block-missing" in keys, "block-unaccounted" in keys), (0, False, False),
                          f"{when}: {keys}")
        found.append([document[kind] for kind in ("definitely_lost", "still_reachable")])
    hawk.expect_equal(found[1], found[0], "the same blocks")
    process.kill()
    process.wait()


folder = tempfile.mkdtemp(prefix="hawk-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
atexit.register(shutil.rmtree, folder, ignore_errors=True)
program = hawk.compile_program(os.path.join(hawk.temporary_folder(), "black_box"), ["black_box.c"], flags=["-O1"])
probe = hawk.run([program, "fork"], env=hawk.tracer_environment(options=options("probe")))
if "anonymous memory" in probe.stderr:
    hawk.skip(probe.stderr)
hawk.run_checks(globals())
