# SPDX-License-Identifier: Apache-2.0
"""Measures programs under various tracers, in alternation, and prints tables of ratios.

CPU time is user + system time of the program and of everything that it waited for. Each round runs
every configuration once, so that what else the machine does hits all of them; a ratio is that of the
medians over the rounds. A program or a tracer that is not installed is left out.
"""

import argparse
import collections
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import workloads

SLOW_SECONDS = 60  # other tracers' runs are ended after this


Configuration = collections.namedtuple("Configuration", "name options prefix preload extra slow",
                                       defaults=(None, [], [], {}, False))  # options: HAWK_OPTS, None = without our tracer


def environment_of(configuration, tracer, workload):
    result = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "HAWK_OPTS", "MALLOC_CONF")}
    preload = ([] if configuration.options is None else [tracer]) + configuration.preload
    if workload.allocator and workload.allocator not in preload:
        preload.append(workload.allocator)
    if preload:
        result["LD_PRELOAD"] = ":".join(preload)
    if configuration.options is not None:
        result["HAWK_OPTS"] = ":".join(text for text in (configuration.options, workload.options) if text)
    return {**result, **configuration.extra}


def jemalloc_has_profiler():
    """Returns true if the library was built with it: it lists its features when asked."""
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
    """Runs of one workload by configuration; `longer`: those that took too long."""

    def __init__(self, workload, table, arguments, folder):
        self.runs = {configuration.name: [] for configuration in table}
        self.longer = set()
        for round_number in range(arguments.rounds):
            for configuration in table:
                if not configuration.slow or round_number < arguments.slow_rounds and configuration.name not in self.longer:
                    self._run(workload, configuration, arguments, folder)

    def _run(self, workload, configuration, arguments, folder):
        try:
            self.runs[configuration.name].append(workload.measure(
                configuration.prefix, environment_of(configuration, arguments.tracer, workload), folder,
                SLOW_SECONDS if configuration.slow else 0))
        except workloads.TookTooLong:
            self.longer.add(configuration.name)
        except workloads.Failed as error:
            if not configuration.slow:
                sys.exit(str(error))
            print(f"{workload.name}, {configuration.name}: {error}", file=sys.stderr)

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
        pairs = sorted(one.cpu / other.cpu for one, other in zip(self.runs[name], self.runs[base]))
        skip = len(pairs) // 4
        return text + (f" ({pairs[skip]:.2f}..{pairs[-1 - skip]:.2f})" if len(pairs) >= 3 else "")

    def ratios(self):
        """CPU seconds, and what all tables have."""
        return [f"{self.median('no tracer'):.2f}", self.ratio("header only", "no tracer"),
                self.ratio("tracer", "header only"), self.ratio("tracer", "no tracer")]


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
            yield workload, Measured(workload, table, arguments, place)
        shutil.rmtree(place)


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def print_head(first, *cells):
    print_row([first, *cells])
    print_row(["---"] + ["---:"] * len(cells))


RATIOS = ["CPU s", "header only over no tracer", "tracer over header only", "tracer over no tracer"]


def compare_programs(every, arguments, folder):
    if not every:
        return
    table = configurations(arguments, folder)
    names = [configuration.name for configuration in table]
    print(f"\nCPU time: {arguments.rounds} rounds, {os.cpu_count()} processors; ratio of medians "
          "(and the middle half of the ratios of neighbouring runs)\n")
    others = [name for name in ("unwind=fp", "heaptrack", "jemalloc profiler") if name in names]
    print_head("program", *RATIOS, *(name + " over no tracer" for name in others))
    rows = []
    for workload, runs in run_all(every, table, arguments, folder):
        base = {"jemalloc profiler": "jemalloc"}
        print_row([workload.title, *runs.ratios(), *(runs.ratio(name, base.get(name, "no tracer")) for name in others)])
        rows.append((workload.title, runs))
    print_memory(rows, [name for name in ("header only", "tracer", "heaptrack") if name in names])
    if not arguments.no_others and "jemalloc profiler" not in names:
        print("\njemalloc's profiler: not there, or the library was built without it")


def print_memory(rows, names):
    """Peaks of resident memory. heaptrack's own process, beside the program, is not in them."""
    print("\nPeak of resident memory: medians, and ratios to no tracer\n")
    print_head("program", "MiB", *(name + text for name in names for text in (", MiB more", " over no tracer")))
    for title, runs in rows:
        plain = runs.median("no tracer", 2)
        peaks = [runs.median(name, 2) if runs.runs[name] else None for name in names]
        print_row([title, f"{plain / 1024:.1f}", *(cell for peak in peaks for cell in (
            ("-", "-") if peak is None else (f"{(peak - plain) / 1024:.1f}", f"{peak / plain:.2f}")))])


def compare_threads(every, arguments, folder):
    if not every:
        return
    print(f"\n8,000,000 std::list nodes by number of threads: {arguments.rounds} rounds, {os.cpu_count()} processors\n")
    print_head("threads, allocator", *RATIOS, "wall: tracer over no tracer")
    for workload, runs in run_all(every, configurations(arguments, folder)[:3], arguments, folder):
        print_row([workload.title, *runs.ratios(), f"{runs.median('tracer', 1) / runs.median('no tracer', 1):.2f}"])


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
