#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a check for leaks at exit adds to a test that lives about a second: `run --leaks` beside sanitizers and Valgrind.

    tests/bench/run_leaks.py [--rounds N]

The tests in C++ lose one block. Prints what each way takes more than the test alone, in seconds on the clock and of
processor: medians of alternating runs (Valgrind: one run;
not of python3, which takes minutes).
"""

import argparse
import os
import statistics
import subprocess
import time

from commands import hawk

SOURCE = r"""
#include <list>
#include <string>
#include <cstdlib>
#include <unistd.h>

static std::list<std::string> kept;

__attribute__((noinline)) static void lose()
{
	char *volatile block = new char[100];
	block = nullptr;
}

int main(int, char **argv)
{
	lose();
	for (int i = 0; i < atoi(argv[1]); i++) {
		kept.emplace_back("a string that is too long for the space in its object");
		if (kept.size() > 100000)
			kept.pop_front();
	}
	usleep(atoi(argv[2]));
	return 0;
}
"""
WAITS, WORKS = ["0", "1000000"], ["10000000", "0"]
PYTHON = ["python3", "-c", "import json\nfor i in range(9): d = json.loads(json.dumps([{'a': i, 'b': [i]} for i in range(50000)]))"]


def build(name, *flags):
    return hawk.compile_text(folder, name, SOURCE, "g++", ["-O2", *flags])


def seconds(words, environment):
    """Seconds on the clock and of processor."""
    start = time.monotonic()
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def ways(words, sanitized):
    """The commands to compare, the test alone first; with Valgrind if there are `sanitized` programs."""
    run = [hawk.CORE, "run", "-q"]
    found = {"alone": words, "run": [*run, "--", *words], "run --leaks": [*run, "--leaks", "--", *words]}
    for name, program in sanitized.items():
        found[name] = [program, *words[1:]]
    if sanitized:
        found["valgrind"] = ["valgrind", "--leak-check=full", *words]
    return found


def middle(runs):
    return [statistics.median(values) for values in zip(*runs)]


def measure(what, commands, environment, rounds):
    runs = {name: [] for name in commands}
    for i in range(rounds):
        for name, words in commands.items():
            if i == 0 or name != "valgrind":
                runs[name].append(seconds(words, environment))
    clock, cpu = middle(runs.pop("alone"))
    print(f"{what}: {clock:.2f} s, {cpu:.2f} of processor")
    for name, values in runs.items():
        more = middle(values)
        print(f"  {name:18} {more[0] - clock:+.2f} s, {more[1] - cpu:+.2f} of processor", flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=5)
rounds = parser.parse_args().rounds
folder = hawk.temporary_folder()
plain = build("plain")
sanitized = {"LeakSanitizer": build("lsan", "-fsanitize=leak"), "AddressSanitizer": build("asan", "-fsanitize=address")}
measure("waits", ways([plain, *WAITS], sanitized), hawk.plain_environment(), rounds)
measure("100,000 strings, 10 million in all", ways([plain, *WORKS], sanitized), hawk.plain_environment(), rounds)
measure("python3, json", ways(PYTHON, {}), hawk.plain_environment(extra={"PYTHONMALLOC": "malloc"}), rounds)
