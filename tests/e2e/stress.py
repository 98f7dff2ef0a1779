# SPDX-License-Identifier: Apache-2.0
# ctest: for=glibc jemalloc tcmalloc mimalloc
# ctest: long=jemalloc tcmalloc mimalloc
# ctest: timeout=600
# ctest: processors=2
"""Threads, signals, forks and plug-ins on each allocator: the heap found in a core of a random moment against the program's own shadow list.

0 false blocks and 0 missed, but for the calls that the shadow marks as in flight. HAWK_STRESS_SECONDS
(default 6) is about how long one allocator is stressed.
"""

import collections
import os
import random
import signal
import struct
import subprocess
import sys
import time

from support import hawk

SECONDS = float(os.environ.get("HAWK_STRESS_SECONDS") or 6)
THREADS = 64
COUNTERS_IN_FLIGHT = 1000
EMPTY, LIVE, ALLOCATING, FREEING, RESIZING = range(5)
PLUGINS = {1: "stress_blue_inner", 2: "stress_red_inner"}

Entry = collections.namedtuple("Entry", "state address size new_size label salt")


def build(folder):
    program = hawk.compile_program(os.path.join(folder, "stress_random"), ["stress_random.c"],
                                   flags=["-O1"])
    for color, padding in (("red", 0), ("blue", 800)):
        hawk.compile_program(os.path.join(folder, f"stress_{color}.so"), ["stress_plugin.c"],
                             flags=["-O1", "-shared", "-fPIC", f"-DPADDING={padding}",
                                    f"-DINNER=stress_{color}_inner"])
    return program


def read_shadow(path):
    with open(path, "rb") as file:
        return [Entry(*words) for words in struct.iter_unpack("<6Q", file.read())]


def _stressed_sites(core):
    """Sites of the program's own blocks, with the names of their functions."""
    analysis = hawk.analyze(core)
    if analysis is None:
        return None
    hawk.expect_equal(analysis["heap"]["dropped"], 0, f"{core}: dropped")
    heap = analysis["heap"]
    # a core can fall into the moment in which a counter moves from a thread to the table
    off = heap["alloc_objects"] - heap["free_objects"] - heap["inuse_objects"]
    hawk.expect(abs(off) <= COUNTERS_IN_FLIGHT, f"{core}: counters are off by {off}")
    sites = {}
    for site in analysis["sites"]:
        functions = hawk.functions_of(site)
        if any(name.startswith("stress_") for name in functions):
            sites[site["site"]] = functions
        else:
            hawk.expect(functions, f"{core}: site {site['site']} has no stack")
    return sites


def compare(core, shadow, what):
    sites = _stressed_sites(core)
    if sites is None:
        return
    found = {int(block["address"], 16): block for block in hawk.blocks(core)
             if block["site"] in sites}
    live = {entry.address: entry for entry in shadow if entry.state == LIVE}
    missed = live.keys() - found.keys()
    hawk.expect(not missed, f"{what}: {len(missed)} missed, "
                f"{[live[address] for address in sorted(missed)[:3]]}")
    for address, entry in live.items():
        if address not in found:
            continue
        block = found[address]
        hawk.expect(block["size"] == entry.size, f"{what}: {block} is {entry}")
        functions = sites[block["site"]]
        if entry.label:
            hawk.expect(functions[0] == PLUGINS[entry.label], f"{what}: {functions} of {entry}")
    _check_others(shadow, [found[address] for address in found.keys() - live.keys()], what)
    print(f"{what}: {len(live)} blocks, {len(found) - len(live)} in flight", flush=True)


def _check_others(shadow, blocks, what):
    """Every block that is not in the shadow belongs to one call in flight, each to another."""
    at_place = {entry.address: entry.size for entry in shadow if entry.state in (FREEING, RESIZING)}
    somewhere = collections.Counter(
        entry.size if entry.state == ALLOCATING else entry.new_size
        for entry in shadow if entry.state in (ALLOCATING, RESIZING))
    for block in blocks:
        if at_place.get(int(block["address"], 16)) == block["size"]:
            continue
        if somewhere[block["size"]] > 0:
            somewhere[block["size"]] -= 1
        else:
            hawk.expect(False, f"{what}: false block {block}")


def _start(program, folder, library, seed, forks, end, seconds):
    shadow = os.path.join(folder, f"shadow.{seed}")
    arguments = [program, shadow, str(THREADS), str(seconds), str(seed), str(forks), folder, end]
    return arguments, shadow, hawk.tracer_environment(library)


def _wait_until_busy(process, shadow_path, what):
    """On a busy machine a program can take its time to come so far."""
    hawk.wait_for(lambda: process.poll() is not None or os.path.exists(shadow_path) and any(
        entry.state == LIVE for entry in read_shadow(shadow_path)), 60, f"{what} to begin")


def run_to_the_end(program, folder, library, what, forks):
    arguments, _, environment = _start(program, folder, library, 1, forks, "end",
                                       max(1, round(SECONDS / 4)))
    done = hawk.run(arguments, env=environment, timeout=SECONDS + 120)
    hawk.expect(done.returncode == 0 and done.stdout == "done\n",
                f"{what}: ended with {done.returncode}, {done.stdout} {done.stderr}")


def snapshots(program, folder, library, what, until):
    """Stopped at random moments: whatever each thread is doing then, the core must be right."""
    seed = 100
    arguments, shadow_path, environment = _start(program, folder, library, seed, 0, "end", 3600)
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_until_busy(process, shadow_path, what)
        number = 0
        while time.monotonic() < until or number == 0:
            time.sleep(random.uniform(0.05, 0.6))
            if not hawk.expect(process.poll() is None, f"{what}: died, {process.returncode}"):
                return
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            core = hawk.gcore(process.pid, folder)
            compare(core, read_shadow(shadow_path), f"{what}, snapshot {number}")
            os.unlink(core)
            process.send_signal(signal.SIGCONT)
            number += 1
    finally:
        process.kill()
        process.wait()


def aborts(program, folder, library, what, until):
    """One thread aborts while all others go on."""
    seed = 200
    while time.monotonic() < until or seed == 200:
        arguments, shadow_path, environment = _start(program, folder, library, seed, 0, "abort", 1)
        core, _ = hawk.crash(arguments, environment, folder)
        if core:
            compare(core, read_shadow(shadow_path), f"{what}, abort {seed}")
            os.unlink(core)
        os.unlink(shadow_path)
        seed += 1


def kills(program, folder, library, what, until):
    """SIGKILL leaves no core; the table file must hold every call but those in flight."""
    seed = 300
    table = os.path.join(folder, "table")
    while time.monotonic() < until or seed == 300:
        arguments, shadow_path, environment = _start(program, folder, library, seed, 0, "end", 3600)
        environment["HAWK_OPTS"] = f"table={table}"
        process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
        _wait_until_busy(process, shadow_path, what)
        time.sleep(random.uniform(0, 1.5))
        died = process.poll() is not None
        process.kill()
        process.wait()
        if hawk.expect(not died, f"{what}: died, {process.returncode}"):
            _compare_table(table, read_shadow(shadow_path), f"{what}, kill {seed}")
        for path in (table, shadow_path):
            if os.path.exists(path):
                os.unlink(path)
        seed += 1


def _compare_table(table, shadow, what):
    analysis = hawk.analyze(table)
    if not hawk.expect(analysis is not None, f"{what}: no analysis"):
        return
    own = [site for site in analysis["sites"] if any(name.startswith("stress_") for name in hawk.functions_of(site))]
    counted, size = (sum(site[key] for site in own) for key in ("inuse_objects", "inuse_bytes"))
    live = sum(entry.state == LIVE for entry in shadow)
    live_bytes = sum(entry.size for entry in shadow if entry.state == LIVE)
    calls = [entry for entry in shadow if entry.state in (ALLOCATING, FREEING, RESIZING)]
    in_flight = len(calls)
    hawk.expect(0 <= size - live_bytes <= sum(entry.size + entry.new_size * (entry.state == RESIZING) for entry in calls),
                f"{what}: {size} bytes in the table, {live_bytes} live; {calls}")
    # a resize in flight is one block before and after it, and two in between
    hawk.expect(0 <= counted - live <= 2 * in_flight,
                f"{what}: {counted} blocks in the table, {live} live, {in_flight} in flight")
    print(f"{what}: {counted} blocks in the table, {in_flight} in flight", flush=True)


def main(allocator):
    library = hawk.need_allocator(allocator)
    folder = hawk.temporary_folder()
    program = build(folder)
    start = time.monotonic()
    # tcmalloc holds no lock across fork(): a child of a program with threads may hang, traced or not
    run_to_the_end(program, folder, library, allocator, 0 if allocator == "tcmalloc" else 1)
    snapshots(program, folder, library, allocator, start + SECONDS * 0.55)
    aborts(program, folder, library, allocator, start + SECONDS * 0.8)
    kills(program, folder, library, allocator, start + SECONDS)
    hawk.finish()


if __name__ == "__main__":
    main(sys.argv[1])
