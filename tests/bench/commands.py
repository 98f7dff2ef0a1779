#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What whole commands cost: seconds of processor and peak of memory; for `analyze` also the time to its first byte.

    tests/bench/commands.py [--rounds N] [--blocks N] [--sites] [CORE]
    tests/bench/commands.py --untraced [--rounds N] [--blocks N] [NAME=CORE ...]

Without CORE it makes one: 65,536 lists of N blocks (10,000,000: 755 MB), or with --sites 524,288 blocks of 131,072 sites.
The last rows ask a snapshot of that core. Files are in the page cache. The first byte counts from the last byte of a plain read of the core. Prints medians, in
brackets the middle half.

--untraced compares cores of one program, whose lists are made by 8 threads: traced, and untraced with each allocator that
is installed; or the cores given. Runs alternate. Prints seconds a million blocks, their ratio to the first core's, and
private bytes a block.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from support import hawk  # noqa: E402

COMMANDS = ("analyze --no-suspects", "analyze --no-suspects --json", "export --format=pprof", "analyze", "retained", "leaks",
            "leaks --size=8-48", "merge-paths", "sites", "growth", "snapshot")
UNTRACED_COMMANDS = ("analyze --no-graph", "leaks", "analyze")
ALLOCATORS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
SNAPSHOT_COMMANDS = ("analyze --no-suspects", "analyze", "leaks", "sites")


def make_core(name, *arguments, environment=None):
    """The core of a test program that aborts, traced unless another environment is given."""
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, name), [f"{name}.c"], flags=("-O2", "-g"))
    core, _ = hawk.crash([program, *arguments], environment or hawk.tracer_environment(), folder)
    return core


def make_untraced_cores(blocks):
    """Cores by name: blocks of 200 bytes with glibc, in 8 arenas."""
    arguments = ("many_lists", str(blocks // 2), "8", "290")
    cores = {"traced": make_core(*arguments)}
    for name in ALLOCATORS:
        if name == "glibc" or hawk.find_allocator(name):
            cores[name] = make_core(*arguments, environment=hawk.plain_environment(hawk.find_allocator(name)))
    return cores


def read(core):
    """Seconds for a plain read of the file."""
    start = time.monotonic()
    with open(core, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
    return time.monotonic() - start


def ask(core, words):
    """Seconds to the first byte of the answer, seconds of processor, bytes of peak memory."""
    start = time.monotonic()
    process = subprocess.Popen([hawk.CORE, *words, core], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.read(process.stdout.fileno(), 1)
    first = time.monotonic() - start
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_PARTIAL):
        sys.exit(f"hawk-core {' '.join(words)}: exit code {process.returncode}")
    return first, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def middle(values):
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{median:7.3f} s ({low:.3f} to {high:.3f})"


def measure(core, commands, rounds):
    for command in commands:
        runs = [(read(core), *ask(core, command.split())) for _ in rounds]
        first = f", first byte {middle([first - lead for lead, first, _, _ in runs])}" if "analyze" in command else ""
        print(f"{command:24} {middle([cpu for _, _, cpu, _ in runs])}, peak {max(run[3] for run in runs) / 1e6:.0f} MB{first}",
              flush=True)


def make_snapshot(core):
    path = os.path.join(hawk.temporary_folder(), "snapshot")
    subprocess.run([hawk.CORE, "snapshot", "-q", "-o", path, core], check=True)
    return path


def private_bytes(pid):
    """Resident memory that is no file's; 0 at its end."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon")), 0)


def ask_for_private(core, words):
    """Seconds of processor, bytes of private memory at most."""
    with subprocess.Popen([hawk.CORE, *words, "-q", core], stdout=subprocess.DEVNULL) as process:
        most = pid = 0
        while not pid:
            most = max(most, private_bytes(process.pid))
            time.sleep(0.005)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_PARTIAL):
        sys.exit(f"hawk-core {' '.join(words)} {core}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, most


def compare_untraced(cores, rounds):
    counts = {name: hawk.analyze(core, "--no-graph")["heap"]["inuse_objects"] for name, core in cores.items()}
    for command in UNTRACED_COMMANDS:
        runs = {name: [] for name in cores}
        for _ in rounds:
            for name, core in cores.items():
                read(core)
                runs[name].append(ask_for_private(core, command.split()))
        first = None
        for name, values in runs.items():
            millions = counts[name] / 1e6
            each = statistics.median(cpu for cpu, _ in values) / millions
            first = first or each
            print(f"{command:20} {name:10} {millions:6.2f} M blocks, {each:6.3f} s a million, {each / first:5.2f} times, "
                  f"{max(private for _, private in values) / counts[name]:5.1f} private bytes a block", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=10_000_000)
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--untraced", action="store_true")
    parser.add_argument("cores", nargs="*", metavar="CORE")
    arguments = parser.parse_args()
    if arguments.untraced:
        cores = dict(core.split("=", 1) for core in arguments.cores) or make_untraced_cores(arguments.blocks)
        compare_untraced(cores, range(max(1, arguments.rounds)))
        return
    core = arguments.cores[0] if arguments.cores else (make_core("many_stacks", "abort", "4") if arguments.sites else
                                                       make_core("many_lists", str(arguments.blocks // 2)))
    rounds = range(max(1, arguments.rounds))
    print(f"core of {os.path.getsize(core) / 1e6:.0f} MB\n{'plain read':24} {middle([read(core) for _ in rounds])}")
    measure(core, COMMANDS, rounds)
    file = make_snapshot(core)
    print(f"snapshot of {os.path.getsize(file) / 1e6:.0f} MB")
    measure(file, SNAPSHOT_COMMANDS, rounds)


if __name__ == "__main__":
    main()
