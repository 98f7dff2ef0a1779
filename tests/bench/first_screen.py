#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the first screen of `analyze` takes on a core of 131,072 sites (524,288 blocks).

    tests/bench/first_screen.py [--rounds N] [CORE]

A core of one's own instead, if it is named. Runs alternate between a plain read of the core and
`hawk-core analyze`, with and without suspects. What counts is the time from
the last byte of a plain read to the first byte of the answer: seconds, medians, in brackets the
middle half. Processes are started anew each time, files are in the page cache.
"""

import argparse
import os
import subprocess
import sys
import time

from commands import hawk, line, make_core, read

WALKS = 4


def answer(core, *arguments):
    """Seconds until the first byte of the answer, until the last, and of processor."""
    start = time.monotonic()
    process = subprocess.Popen([hawk.CORE, "analyze", *arguments, core],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.read(process.stdout.fileno(), 1)
    first = time.monotonic() - start
    process.stdout.read()
    last = time.monotonic() - start
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (hawk.EXIT_OK, hawk.EXIT_PARTIAL):
        sys.exit(f"hawk-core analyze: exit code {process.returncode}")
    return first, last, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("core", nargs="?")
    arguments = parser.parse_args()
    core = arguments.core or make_core("many_stacks", "abort", str(WALKS))
    reads, full, short = [], [], []
    for _ in range(max(1, arguments.rounds)):
        reads.append(read(core))
        full.append(answer(core))
        short.append(answer(core, "--no-suspects"))
    print(f"core of {os.path.getsize(core) / 1e6:.0f} MB")
    line("plain read", reads)
    for name, runs in (("analyze", full), ("analyze --no-suspects", short)):
        line(f"{name}: first byte after the read",
             [first - lead for (first, _, _), lead in zip(runs, reads)])
        line(f"{name}: whole answer", [last for _, last, _ in runs])
        line(f"{name}: processor", [cpu for _, _, cpu in runs])


if __name__ == "__main__":
    main()
