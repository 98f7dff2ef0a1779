# SPDX-License-Identifier: Apache-2.0
"""A living process: analyze --pid says what a core of the same process says, the process goes on
afterwards, also when it was stopped before, and also when the analyzer is killed."""

import json
import os
import signal
import subprocess
import time

from support import hawk


def start(*arguments):
    process = hawk.spawn([os.path.join(hawk.SAMPLES, "orderd"), "--linger", *arguments],
                         env=hawk.tracer_environment(), stdout=subprocess.PIPE, text=True,
                         cwd=folder)
    hawk.expect_equal(process.stdout.readline(), "ready\n", "orderd")
    return process


def finish(process, what):
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    hawk.expect_equal(process.returncode, 0, f"{what}: exit code")
    hawk.expect("orders" in output, f"{what}: output {output!r}")


def analyze_pid(pid):
    done = hawk.run([hawk.CORE, "analyze", "--json", "--pid", str(pid)])
    if done.returncode and ("ermission" in done.stderr or "permitted" in done.stderr):
        hawk.skip("processes may not be traced here")
    hawk.expect(done.returncode in (0, 4), f"--pid: exit code {done.returncode} {done.stderr!r}")
    return json.loads(done.stdout) if done.stdout else None


def sites(analysis, without=()):
    return {site["site"]: (site["inuse_objects"], site["inuse_bytes"])
            for site in analysis["sites"] if site["inuse_objects"] and
            not set(hawk.functions_of(site)) & set(without)}


def check_same_as_core():
    process = start("--requests", "5000")
    live = analyze_pid(process.pid)
    core = hawk.gcore(process.pid, folder)
    dead = hawk.analyze(core)
    if live and dead:
        sampler = ["take_sample"]  # the statistics thread goes on between the two looks
        hawk.expect_equal(sites(live, sampler), sites(dead, sampler), "sites of a living process")
        hawk.check_counters(live, "living", in_flight=1)
        hawk.expect_equal(live["process"]["pid"], process.pid, "pid")
    finish(process, "after --pid")


def check_stopped_stays_stopped():
    process = start("--requests", "1000")
    process.send_signal(signal.SIGSTOP)
    hawk.wait_for_state(process.pid, "T", "SIGSTOP")
    hawk.expect(analyze_pid(process.pid), "a stopped process")
    hawk.wait_for_state(process.pid, "T", "a process that was stopped before")
    time.sleep(0.2)
    hawk.expect_equal(hawk.state_of(process.pid), "T", "and it stays so")
    process.send_signal(signal.SIGCONT)
    finish(process, "stopped")


def check_killed_analyzer():
    """SIGKILL at various moments: the process is never left stopped."""
    process = start("--requests", "20000")
    for delay in (0, 1, 2, 4, 8, 16, 30):
        analyzer = subprocess.Popen([hawk.CORE, "analyze", "--pid", str(process.pid)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay / 1000)
        analyzer.kill()
        analyzer.wait()
        hawk.wait_for_state(process.pid, "SR", f"a kill after {delay} ms")
    finish(process, "killed analyzer")


def check_refusals():
    for pid, what in (("999999999", "no process"), ("0", "pid 0"), ("-1", "pid -1"), ("x", "a word")):
        done = hawk.run([hawk.CORE, "analyze", f"--pid={pid}"])
        hawk.expect(done.returncode in (hawk.EXIT_USAGE, hawk.EXIT_UNREADABLE) and done.stderr,
                    f"{what}: exit code {done.returncode}")


hawk.need_build()
folder = hawk.temporary_folder()
hawk.run_checks(globals())
