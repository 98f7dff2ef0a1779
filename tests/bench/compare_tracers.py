# SPDX-License-Identifier: Apache-2.0
"""Measures one program under various tracers, in alternation, and prints a table of ratios.

CPU time is user + system time of the program and of everything that it waited for; medians over the
rounds. A configuration that is not installed is left out.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"


def measure(command, environment, folder):
    """(CPU seconds, wall seconds, peak KiB) of one run."""
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    complaints = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command}: exit code {process.returncode}\n{complaints.decode()[-1000:]}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss


def configurations(arguments, folder):
    """(name, baseline's name, command, environment), in the order of the table."""
    program = [arguments.program, str(arguments.threads), str(arguments.count)]

    def environment(preload, options=None):
        result = {name: value for name, value in os.environ.items()
                  if name not in ("LD_PRELOAD", "HAWK_OPTS")}
        if preload:
            result["LD_PRELOAD"] = ":".join(preload)
        if options:
            result["HAWK_OPTS"] = options
        return result

    result = [
        ("no tracer", None, program, environment([])),
        ("header only", "no tracer", program, environment([arguments.tracer], "stacks=0")),
        ("tracer", "no tracer", program, environment([arguments.tracer])),
    ]
    if os.path.exists(JEMALLOC):
        result += [
            ("jemalloc, no tracer", None, program, environment([JEMALLOC])),
            ("jemalloc, header only", "jemalloc, no tracer", program,
             environment([arguments.tracer, JEMALLOC], "stacks=0")),
            ("jemalloc, tracer", "jemalloc, no tracer", program,
             environment([arguments.tracer, JEMALLOC])),
        ]
    heaptrack = shutil.which("heaptrack")
    if heaptrack and not arguments.no_heaptrack:
        result.append(("heaptrack", "no tracer",
                       [heaptrack, "--raw", "-o", os.path.join(folder, "heaptrack"),
                        *program], environment([])))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--no-heaptrack", action="store_true")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        table = configurations(arguments, folder)
        runs = {name: [] for name, *_ in table}
        for round_number in range(arguments.rounds):
            for name, _, command, environment in table:
                if name == "heaptrack" and round_number >= 2:
                    continue  # minutes each, and its spread is far below its ratio
                runs[name].append(measure(command, environment, folder))

    median = {name: [statistics.median(column) for column in zip(*values)]
              for name, values in runs.items()}
    print(f"{arguments.threads} threads x {arguments.count} std::list pushes, "
          f"{arguments.rounds} rounds, {os.cpu_count()} processors\n")
    print("| configuration         | CPU s | ratio | lowest..highest | wall s | peak MiB |")
    print("|-----------------------|------:|------:|-----------------|-------:|---------:|")
    for name, baseline, *_ in table:
        cpu, wall, peak = median[name]
        base = median[baseline or name][0]
        lowest, highest = (pick(run[0] for run in runs[name]) / base for pick in (min, max))
        print(f"| {name:21} | {cpu:5.2f} | {cpu / base:5.2f} | {lowest:6.2f} .. {highest:5.2f} "
              f"| {wall:6.2f} | {peak / 1024:8.0f} |")


main()
