# SPDX-License-Identifier: Apache-2.0
"""analyze --pid and whatis --pid: the answer of a running process, which goes on in any case."""

import os
import re
import signal
import subprocess
import time

from support import cli_world, hawk


def states(pid):
    """Letters of all threads' states."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
            found.append(file.read().rpartition(")")[2].split()[0])
    return found


def expect_running(pid, what):
    hawk.wait_for(lambda: all(state in "SRD" for state in states(pid)), 10,
                  f"{what}: all threads to run again, {states(pid)}")
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        hawk.expect("TracerPid:\t0" in file.read(), f"{what}: nobody traces it")


def tool(*arguments):
    done = hawk.run([hawk.CORE, *arguments])
    if "not permitted" in done.stderr:
        hawk.skip("processes may not be attached to here")
    return done


def check_answer(pid):
    done = tool("analyze", "--json", "--pid", str(pid))
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "analyze --pid")
    analysis = hawk.parse(done.stdout)
    process = analysis["process"]
    hawk.expect_equal((process["live"], process["pid"], process["signal"]), (True, pid, None),
                      "process")
    hawk.expect(process["pause_ns"] > 0, "pause")
    sizes = {name: 1024 * int(kib) for name, kib in re.findall(
        r"^(Vm\w+):\s+(\d+) kB$", open(f"/proc/{pid}/status", encoding="ascii").read(), re.MULTILINE)}
    hawk.expect(abs(process["resident_bytes"] - sizes["VmRSS"]) < 1 << 20, f"{process} {sizes}")
    hawk.expect(abs(process["peak_resident_bytes"] - sizes["VmHWM"]) < 1 << 20, f"{process} {sizes}")
    hawk.expect(process["swapped_bytes"] >= 0, "swap")
    hawk.expect(0 < analysis["heap"]["touched_bytes"] <= analysis["heap"]["writable_bytes"],
                f"{analysis['heap']}")
    hawk.check_counters(analysis, "live")
    small = next(site for site in analysis["sites"]
                 if "make_small" in [frame["function"] for frame in site["frames"]])
    hawk.expect_equal(small["inuse_objects"], 1000, "blocks of make_small")
    core = hawk.analyze(hawk.gcore(pid, folder))
    hawk.expect_equal(*([answer["process"][name] for name in ("pid", "program", "name", "signal")]
                        for answer in (analysis, core)), "a process and its core")
    hawk.expect(not any(thread["crashed"] for thread in core["process"]["threads"]), "nothing has crashed")
    hawk.expect_equal(*({site["site"]: (site["inuse_objects"], site["inuse_bytes"]) for site in answer["sites"]}
                        for answer in (analysis, core)), "sites of a process and of its core")
    names = [{frame["function"] for frame in thread["frames"]} for thread in process["threads"]]
    hawk.expect(any("main" in name for name in names) and
                any(any("wait_forever" in (f or "") for f in name) for name in names),
                f"stacks of live threads: {names}")
    expect_running(pid, "after analyze")


def check_text(pid):
    text = tool("analyze", "--pid", str(pid)).stdout
    hawk.expect(re.search(r"^  paused +for [\d.]+ (us|ms|s)$", text, re.M), "the pause is printed")
    hawk.expect(re.search(r"^  memory +[\d.]+ [KM]iB resident \(RES in top\), [\d.]+ [KM]iB at its peak$", text, re.M),
                f"memory: {text[:400]!r}")
    hawk.expect("is alive" in text, "alive")


def check_whatis(pid, places):
    done = tool("whatis", "--json", "--pid", str(pid), hex(places["large"]), hex(places["stack"]),
                hex(places["table"]))
    hawk.expect_equal(done.returncode, 0, "whatis --pid")
    large, stack, table = hawk.parse(done.stdout)["addresses"]
    hawk.expect_equal(large["block"]["size"], 300000, "block")
    hawk.expect("wait_forever" in (stack["thread"]["frames"][0]["function"] or ""), "stack")
    hawk.expect_equal(table["module"]["symbol"], "table", "symbol")
    expect_running(pid, "after whatis")


def check_killed_while_stopped(pid):
    """However the command dies, the process goes on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.05):
            process = subprocess.Popen([hawk.CORE, "analyze", "--pid", str(pid)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(number)
            process.wait(timeout=60)
            expect_running(pid, f"after signal {number} at {delay} s")


def check_stopped_process_stays_stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    hawk.wait_for(lambda: set(states(pid)) == {"T"}, 10, "the process to stop")
    done = tool("analyze", "--pid", str(pid))
    hawk.expect_equal(done.returncode, 0, "analyze of a stopped process")
    hawk.wait_for(lambda: set(states(pid)) == {"T"}, 10, f"it to stay stopped, {states(pid)}")
    os.kill(pid, signal.SIGCONT)
    expect_running(pid, "after SIGCONT")


def check_no_such_process():
    process = subprocess.Popen(["true"])
    process.wait()
    for pid in (process.pid, 999999999, 0, -1, "x"):
        done = tool("analyze", f"--pid={pid}")
        hawk.expect(done.returncode in (hawk.EXIT_USAGE, hawk.EXIT_UNREADABLE) and str(pid) in done.stderr,
                    f"--pid={pid}: {done.returncode} {done.stderr!r}")


def check_untraced_process():
    process = hawk.spawn(["sleep", "100"], env=hawk.plain_environment())
    hawk.wait_for_state(process.pid, "S", "sleep")
    done = tool("analyze", "--no-native", "--pid", str(process.pid))
    hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, "an untraced process")
    hawk.expect("not traced" in done.stdout and "Memory map" in done.stdout, "its memory map")
    done = tool("analyze", "--pid", str(process.pid))
    hawk.expect("By structures of glibc" in done.stdout, f"its heap: {done.stdout}")


folder = hawk.temporary_folder()
world = hawk.spawn([cli_world.build(folder)], env=hawk.tracer_environment(), stdout=subprocess.PIPE, text=True)
found = {}
while len(found) < 3:
    name, address = world.stdout.readline().split()
    found[name] = int(address, 16)
hawk.wait_for_state(world.pid, "S", "the world")
check_answer(world.pid)
check_text(world.pid)
check_whatis(world.pid, found)
check_killed_while_stopped(world.pid)
check_stopped_process_stays_stopped(world.pid)
hawk.run_checks(globals())
