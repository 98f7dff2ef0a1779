# SPDX-License-Identifier: Apache-2.0
"""Real programs under the tracer: the same output as without it, and a core whose heap adds up."""

import contextlib
import os
import signal
import subprocess
import sys

from support import hawk


def same_output(arguments, what, folder, extra=None, stdin=None, normalize=lambda text: text):
    """Runs a program without and with the tracer; exit code, stdout and stderr must be equal."""
    outcomes = []
    for environment in (hawk.plain_environment(extra=extra),
                        hawk.tracer_environment(extra=extra)):
        options = {"input": stdin} if stdin is not None else {}
        if stdin is not None:
            done = subprocess.run(arguments, env=environment, cwd=folder, text=True,
                                  errors="replace", capture_output=True, timeout=240, **options)
        else:
            done = hawk.run(arguments, env=environment, cwd=folder)
        outcomes.append((done.returncode, normalize(done.stdout), normalize(done.stderr)))
    plain, traced = outcomes
    hawk.expect_equal(plain[0], 0, f"{what} alone: {plain[2][-500:]!r}")
    hawk.expect_equal(traced[0], plain[0], f"{what}: exit code ({traced[2][-500:]!r})")
    hawk.expect(traced[1] == plain[1], f"{what}: stdout differs")
    hawk.expect(traced[2] == plain[2],
                f"{what}: stderr {traced[2][-500:]!r}, alone {plain[2][-500:]!r}")
    hawk.expect(plain[1] or plain[2], f"{what}: no output at all")


def start(arguments, folder, extra=None, **options):
    """Starts a traced program that may leave a core in `folder`."""
    return subprocess.Popen(arguments, env=hawk.tracer_environment(extra=extra), cwd=folder,
                            preexec_fn=hawk.allow_cores, **options)


def wait_until_idle(pid, what, seconds=60):
    """Waits until it has slept for half a second: without CPU time, and not for want of a processor."""
    def ticks():
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    last = [-1, 0]

    def is_idle():
        now = ticks()
        last[1] = last[1] + 1 if now == last[0] and hawk.state_of(pid) == "S" else 0
        last[0] = now
        return last[1] >= 10
    return hawk.wait_for(is_idle, seconds, f"{what} to come to rest")


def kill_to_core(process, folder, number, what):
    """Kills a program that stands still; returns its core."""
    if not hawk.cores_are_files():
        core = hawk.gcore(process.pid, folder)
        process.kill()
        process.wait()
        return core
    before = set(os.listdir(folder))
    process.send_signal(number)
    process.wait(timeout=120)
    cores = [name for name in os.listdir(folder)
             if name not in before and name.startswith("core")]
    if not hawk.expect(len(cores) == 1, f"{what}: {len(cores)} cores after signal {number}, "
                       f"exit {process.returncode}"):
        return None
    return hawk.put_aside(os.path.join(folder, cores[0]))


def core_while_writing(arguments, what, folder, number=signal.SIGABRT, extra=None):
    """Makes a core of a program that is blocked in write() with a full heap, because its output is not read."""
    process = start(arguments, folder, extra, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL)
    try:
        process.stdout.read(1)
        wait_until_idle(process.pid, what)
        if process.poll() is not None:
            hawk.expect(False, f"{what} ended too early")
            return None
        return kill_to_core(process, folder, number, what)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


@contextlib.contextmanager
def redis(folder, environment):
    """A redis-server on the loopback: (process, redis-cli as a function)."""
    server, cli = hawk.need("redis-server", "redis-cli")
    port = str(hawk.free_port())
    process = hawk.spawn([server, "--port", port, "--save", "", "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "no"],
                         env=environment, cwd=folder, stdout=subprocess.DEVNULL, preexec_fn=hawk.allow_cores)

    def command(*words):
        return hawk.run([cli, "-p", port, *words], timeout=120).stdout
    hawk.wait_for(lambda: command("ping") == "PONG\n", 30, "redis")
    try:
        yield process, command
    finally:
        process.kill()
        process.wait()


def ask(core, verb, *arguments):
    done = hawk.run([hawk.CORE, verb, "--json", core, *arguments])
    hawk.expect(done.returncode in (hawk.EXIT_OK, hawk.EXIT_PARTIAL),
                f"{verb} {arguments}: {done.returncode} {done.stderr[-300:]}")
    return hawk.parse(done.stdout)


def check_insights(core, what, analysis):
    """Suspects, verdicts and schemas of the largest sites; what the numbers must be in any case."""
    grown = {site["site"]: site for site in ask(core, "growth")["sites"]}
    hawk.expect(sum(site["inuse_bytes"] for site in grown.values()) ==
                sum(site["inuse_bytes"] for site in analysis["sites"]), f"{what}: growth of all")
    for suspect in analysis["suspects"]:
        hawk.expect(suspect["holder"] and suspect["holder"]["bytes"] <= suspect["inuse_bytes"],
                    f"{what}: {suspect}")
        hawk.expect(suspect["verdict"] == grown[suspect["site"]]["verdict"], f"{what}: one verdict")
    for site in analysis["sites"][:5]:
        schema = ask(core, "schema", site["site"])
        hawk.expect(schema["bytes"] == site["inuse_bytes"], f"{what}: schema of {site['site']}")
        for group in schema["groups"]:
            hawk.expect(group["outlier_count"] * 10 <= max(10, group["objects"]),
                        f"{what}: {group['outlier_count']} of {group['objects']} do not fit")


def check_core(core, what, functions=(), least_blocks=100, in_flight=0):
    """Counters and sweep agree; sites are named; one of `functions` is somewhere in the stacks."""
    if not core:
        return
    analysis = hawk.analyze(core)
    if not analysis:
        return
    hawk.check_counters(analysis, what, in_flight)
    heap = analysis["heap"]
    hawk.expect(heap["inuse_objects"] >= least_blocks,
                f"{what}: only {heap['inuse_objects']} blocks")
    names = set()
    bare = 0
    for site in analysis["sites"]:
        if not site["frames"]:
            bare += site["inuse_objects"]
        names.update(hawk.functions_of(site))
    hawk.expect(bare <= heap["inuse_objects"] / 100, f"{what}: {bare} blocks without a stack")
    for function in functions:
        hawk.expect(function in names, f"{what}: {function} is in no stack")
    check_insights(core, what, analysis)
    print(f"{what}: {heap['inuse_objects']} blocks, {heap['inuse_bytes']} bytes, "
          f"{len(analysis['sites'])} sites", flush=True)
    os.unlink(core)


sys.stdout.reconfigure(line_buffering=True)
