# SPDX-License-Identifier: Apache-2.0
"""Measures programs under various tracers, in alternation, and prints tables of ratios.

CPU time is user + system time of the program and of everything that it waited for. Each round runs
every configuration once, so that what else the machine does hits all of them; a ratio is that of the
medians over the rounds. A program or a tracer that is not installed is left out.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import workloads

SLOW_SECONDS = 60  # other tracers' runs are ended after this


class Configuration:
    """How a program is run. `options`: HAWK_OPTS, None = without our tracer."""

    def __init__(self, name, options=None, prefix=(), preload=(), extra=None, slow=False):
        self.name, self.options, self.slow = name, options, slow
        self.prefix, self.preload, self.extra = list(prefix), list(preload), extra or {}

    def environment(self, tracer, allocator, options=None):
        result = {name: value for name, value in os.environ.items()
                  if name not in ("LD_PRELOAD", "HAWK_OPTS", "MALLOC_CONF")}
        preload = [] if self.options is None else [tracer]
        preload += self.preload
        if allocator and allocator not in preload:
            preload.append(allocator)
        if preload:
            result["LD_PRELOAD"] = ":".join(preload)
        options = [text for text in (self.options, self.options is not None and options) if text]
        if options:
            result["HAWK_OPTS"] = ":".join(options)
        result.update(self.extra)
        return result


def jemalloc_has_profiler():
    """Whether the library was built with it: it lists what it was built with when asked."""
    if not os.path.exists(workloads.JEMALLOC):
        return False
    said = subprocess.run([sys.executable, "-c", "pass"], stderr=subprocess.PIPE, check=False,
                          env={"LD_PRELOAD": workloads.JEMALLOC,
                               "MALLOC_CONF": "stats_print:true"}).stderr
    return b"config.prof: true" in said


def configurations(arguments, folder):
    result = [
        Configuration("no tracer"),
        Configuration("header only", options="stacks=0"),
        Configuration("tracer", options=""),
        Configuration("sample=512k", options="sample=512k"),
    ]
    if not arguments.no_fp:
        result.append(Configuration("unwind=fp", options="unwind=fp"))
    heaptrack = shutil.which("heaptrack")
    if heaptrack and not arguments.no_others:
        result.append(Configuration("heaptrack", slow=True, prefix=[
            heaptrack, "--raw", "-o", os.path.join(folder, "heaptrack")]))
    if jemalloc_has_profiler() and not arguments.no_others:
        result += [
            Configuration("jemalloc", preload=[workloads.JEMALLOC], slow=True),
            Configuration("jemalloc profiler", preload=[workloads.JEMALLOC], slow=True, extra={
                "MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:0"}),
        ]
    return result


class Measured:
    """Runs of one workload by configuration."""

    def __init__(self, runs, longer):
        self.runs, self.longer = runs, longer

    def median(self, name, column=0):
        return statistics.median(run[column] for run in self.runs[name])

    def ratio(self, name, base):
        """The ratio of the medians and the middle half of the ratios of neighbours, as text."""
        if not self.runs.get(base):
            return "-"
        if name in self.longer:
            return f"> {SLOW_SECONDS / self.median(base, 1):.0f}"
        if not self.runs.get(name):
            return "-"
        text = f"{self.median(name) / self.median(base):.2f}"
        pairs = sorted(one.cpu / other.cpu
                       for one, other in zip(self.runs[name], self.runs[base]))
        if len(pairs) >= 3:
            skip = len(pairs) // 4
            text += f" ({pairs[skip]:.2f}..{pairs[-1 - skip]:.2f})"
        return text


def measure(workload, table, arguments, folder):
    runs = {configuration.name: [] for configuration in table}
    longer = set()
    for round_number in range(arguments.rounds):
        for configuration in table:
            slow = configuration.slow
            if slow and (round_number >= arguments.slow_rounds or configuration.name in longer):
                continue
            environment = configuration.environment(arguments.tracer, workload.allocator,
                                                    workload.options)
            try:
                usage = workload.measure(configuration.prefix, environment, folder,
                                         SLOW_SECONDS if slow else 0)
            except workloads.TookTooLong:
                longer.add(configuration.name)
                continue
            except workloads.Failed as error:
                if not slow:
                    sys.exit(str(error))
                print(f"{workload.name}, {configuration.name}: {error}", file=sys.stderr)
                continue
            runs[configuration.name].append(usage)
    return Measured(runs, longer)


def chosen(every, arguments):
    if not arguments.only:
        return every
    names = arguments.only.split(",")
    return [one for one in every if any(one.name == name or one.name.startswith(name + "-")
                                        for name in names)]


def run_all(every, table, arguments, folder):
    """Yields (workload, Measured), as soon as there is one."""
    for workload in every:
        place = os.path.join(folder, workload.name)
        os.mkdir(place)
        if workload.ready(place, arguments):
            yield workload, measure(workload, table, arguments, place)
        shutil.rmtree(place)


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def compare_programs(every, arguments, folder):
    if not every:
        return
    table = configurations(arguments, folder)
    names = [configuration.name for configuration in table]
    print(f"\nCPU time: {arguments.rounds} rounds, {os.cpu_count()} processors; ratio of medians "
          "(and the middle half of the ratios of neighbouring runs)\n")
    others = [name for name in ("unwind=fp", "heaptrack", "jemalloc profiler") if name in names]
    print_row(["program", "CPU s", "header only over no tracer", "tracer over header only",
               "tracer over no tracer", *(name + " over no tracer" for name in others)])
    print_row(["---"] + ["---:"] * (4 + len(others)))
    memory = [(workload.title, runs) for workload, runs in print_times(every, table, others, arguments, folder)]
    print_memory(memory, [name for name in ("header only", "tracer", "heaptrack") if name in names])
    if not arguments.no_others and "jemalloc profiler" not in names:
        print("\njemalloc's profiler: not there, or the library was built without it")


def print_times(every, table, others, arguments, folder):
    """Prints a row for each workload, and yields what was measured."""
    for workload, runs in run_all(every, table, arguments, folder):
        base = {"jemalloc profiler": "jemalloc"}
        print_row([workload.title, f"{runs.median('no tracer'):.2f}",
                   runs.ratio("header only", "no tracer"), runs.ratio("tracer", "header only"),
                   runs.ratio("tracer", "no tracer"),
                   *(runs.ratio(name, base.get(name, "no tracer")) for name in others)])
        yield workload, runs


def print_memory(rows, names):
    """Peaks of resident memory. heaptrack's own process, beside the program, is not in them."""
    print("\nPeak of resident memory: medians, and ratios to no tracer\n")
    print_row(["program", "MiB", *(name + text for name in names for text in (", MiB more", " over no tracer"))])
    print_row(["---"] + ["---:"] * (1 + 2 * len(names)))
    for title, runs in rows:
        plain = runs.median("no tracer", 2)
        cells = []
        for name in names:
            peak = runs.median(name, 2) if runs.runs.get(name) else None
            cells += ["-", "-"] if peak is None else [f"{(peak - plain) / 1024:.1f}", f"{peak / plain:.2f}"]
        print_row([title, f"{plain / 1024:.1f}", *cells])


def compare_threads(every, arguments, folder):
    if not every:
        return
    table = configurations(arguments, folder)[:3]
    print(f"\n8,000,000 std::list nodes by number of threads: {arguments.rounds} rounds, "
          f"{os.cpu_count()} processors\n")
    print_row(["threads, allocator", "CPU s", "header only over no tracer",
               "tracer over header only", "tracer over no tracer", "wall: tracer over no tracer"])
    print_row(["---"] + ["---:"] * 5)
    for workload, runs in run_all(every, table, arguments, folder):
        print_row([workload.title, f"{runs.median('no tracer'):.2f}",
                   runs.ratio("header only", "no tracer"), runs.ratio("tracer", "header only"),
                   runs.ratio("tracer", "no tracer"),
                   f"{runs.median('tracer', 1) / runs.median('no tracer', 1):.2f}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="run.sh")
    parser.add_argument("--tracer", required=True, help=argparse.SUPPRESS)
    for name in ("--list", "--stacks", "--peak"):
        parser.add_argument(name, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each (default 7)")
    parser.add_argument("--slow-rounds", type=int, default=1,
                        help="runs of other tracers (default 1)")
    parser.add_argument("--only", help="names, separated by commas: " + ", ".join(
        workload.name for workload in workloads.all_workloads()) + ", threads")
    parser.add_argument("--no-others", action="store_true", help="our tracer only")
    parser.add_argument("--no-fp", action="store_true", help="without unwind=fp")
    arguments = parser.parse_args()

    workloads.peak_program = arguments.peak
    programs = chosen(workloads.all_workloads(), arguments)
    threads = chosen(workloads.thread_workloads(), arguments)
    if arguments.rounds < 1 or not programs + threads:
        parser.error("nothing to measure")
    with tempfile.TemporaryDirectory() as folder:
        compare_programs(programs, arguments, folder)
        compare_threads(threads, arguments, folder)


main()
