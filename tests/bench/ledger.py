#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a ledger of many snapshots costs, beside reading them: `ledger` with and without suspects, which take a graph each.

    tests/bench/ledger.py [--rounds N] [--snapshots N]

Makes the snapshots: runs of the test program many_lists of different lengths. Files are in the page cache. Prints medians of
alternating runs, in seconds of processor, and their ratio.
"""

import argparse
import os
import statistics
import subprocess

import commands
from commands import hawk


def make_snapshots(count):
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, "many_lists"), ["many_lists.c"], flags=("-O2", "-g"))
    for number in range(count):
        core, _ = hawk.crash([program, str(1000 + 10 * number)], hawk.tracer_environment(), folder)
        path = os.path.join(folder, f"{number}.hawk")
        subprocess.run([hawk.CORE, "snapshot", "-q", "-o", path, core], check=True)
        os.remove(core)
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--snapshots", type=int, default=1000)
    arguments = parser.parse_args()
    names = os.path.join(hawk.temporary_folder(), "names")
    hawk.write(names, "".join(path + "\n" for path in make_snapshots(arguments.snapshots)))
    seconds = {"": [], "--no-suspects": []}
    for _ in range(arguments.rounds):
        for option, values in seconds.items():
            values.append(commands.ask(names, ["ledger", *option.split(), "--files-from"])[1])
    whole, read = (statistics.median(values) for values in seconds.values())
    print(f"{arguments.snapshots} snapshots: {whole:.2f} s, without suspects {read:.2f} s, ratio {whole / read:.2f}")


if __name__ == "__main__":
    main()
