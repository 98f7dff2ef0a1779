#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What whole commands cost: seconds of processor and peak of memory; for `analyze` also the time to its first byte.

    tests/bench/commands.py [--rounds N] [--blocks N] [--sites] [CORE]

Without CORE it makes one: 65,536 lists of N blocks (10,000,000: 755 MB), or with --sites 524,288 blocks of 131,072 sites.
The last rows ask a snapshot of that core. Files are in the page cache. The first byte counts from the last byte of a plain read of the core. Prints medians, in
brackets the middle half.
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
SNAPSHOT_COMMANDS = ("analyze --no-suspects", "analyze", "leaks", "sites")


def make_core(name, *arguments):
    """The core of a test program that aborts."""
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, name), [f"{name}.c"], flags=("-O2", "-g"))
    core, _ = hawk.crash([program, *arguments], hawk.tracer_environment(), folder)
    return core


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=10_000_000)
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("core", nargs="?")
    arguments = parser.parse_args()
    core = arguments.core or (make_core("many_stacks", "abort", "4") if arguments.sites else
                              make_core("many_lists", str(arguments.blocks // 2)))
    rounds = range(max(1, arguments.rounds))
    print(f"core of {os.path.getsize(core) / 1e6:.0f} MB\n{'plain read':24} {middle([read(core) for _ in rounds])}")
    measure(core, COMMANDS, rounds)
    file = make_snapshot(core)
    print(f"snapshot of {os.path.getsize(file) / 1e6:.0f} MB")
    measure(file, SNAPSHOT_COMMANDS, rounds)


if __name__ == "__main__":
    main()
