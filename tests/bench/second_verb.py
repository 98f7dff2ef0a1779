#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a second question to the same core takes.

    tests/bench/second_verb.py [--blocks N] [--rounds N] [--objects] [CORE]

The core is one of the size given (10,000,000 blocks) in 65,536 lists at random (--objects: of C++ classes), or one's
own. `analyze` comes first, in an index cache of its own; when that is complete, each verb is asked once in each round,
and the core read plainly beside it: seconds, medians, in brackets the middle half, and the ratio to the first
`analyze`. Processes are started anew each time, files are in the page cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from commands import hawk, line, make_core, read

WAIT_S = 120


def ask(words, environment):
    start = time.monotonic()
    done = subprocess.run([hawk.CORE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                          check=False)
    seconds = time.monotonic() - start
    if done.returncode not in (hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_PARTIAL):
        sys.exit(f"hawk-core {' '.join(words)}: exit code {done.returncode}: {done.stderr[-300:]}")
    return seconds, done.stdout


def wait_for_cache(core, folder):
    """Seconds until the file is there, which appears whole, and until nobody adds to it."""
    start = time.monotonic()
    while not (os.path.isdir(folder) and os.listdir(folder)):
        if time.monotonic() - start > WAIT_S:
            sys.exit("no index cache was written")
        time.sleep(0.05)
    there = time.monotonic() - start
    while hawk.is_read(core):
        time.sleep(0.05)
    return there, time.monotonic() - start


def verbs_for(core, environment):
    """Those that need a site or an address get one from the largest site."""
    report = json.loads(ask(["analyze", "--json", "--no-suspects", core], environment)[1])
    site = report["sites"][0]["site"]
    blocks = ask(["blocks", core, f"--site={site}", "--top=1000", "--json"], environment)[1]
    address = json.loads(blocks.splitlines()[-1])["address"]
    return [["retained", core], ["leaks", core], ["growth", core], ["sites", core], ["refs", core, address],
            ["path", core, address], ["merge-paths", core, site], ["schema", core, site], ["analyze", core],
            ["analyze", "--full", core], ["blocks", core, "--top=20"], ["leaks", core, "--json"],
            ["retained", core, "--by=root"], ["retained", core, "--by=tree"], ["retained", core, "--by=block"],
            ["retained", core, "--by=tree", f"--site={site}"],
            ["sql", core, "SELECT kind, count(*) FROM leaks GROUP BY 1"],
            ["sql", core, "SELECT count(*), sum(size) FROM blocks"],
            ["sql", core, "SELECT kind, count(*), sum(size) FROM blocks GROUP BY kind"],
            ["sql", core, "SELECT site, count(*), avg(size) FROM blocks WHERE size > 40 GROUP BY site"],
            ["leaks", core, "--size=8-48"], ["leaks", core, "--age=0-1s"], ["growth", core, "--size=8-48"],
            ["growth", core, "--age=0-1s"], ["sites", core, "--size=8-48"], ["sites", core, "--age=0-1s"],
            ["leaks", core, "--type=."], ["growth", core, "--type=."], ["sites", core, "--type=."],
            ["blocks", core, "--type=.", "--top=20"], ["path", core, "--type=."],
            ["path", core, "--size=8-48"], ["blocks", core, "--size=8-48", "--top=20"],
            ["merge-paths", core, "--size=8-48"], ["retained", core, "--size=8-48"],
            ["retained", core, "--by=block", "--size=8-48"], ["retained", core, "--by=tree", "--size=8-48"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--objects", action="store_true")
    parser.add_argument("core", nargs="?")
    arguments = parser.parse_args()
    program, share = ("many_objects", 3 / 4) if arguments.objects else ("many_lists", 1 / 2)
    core = arguments.core or make_core(program, str(int(arguments.blocks * share)))
    caches = hawk.temporary_folder()
    environment = dict(os.environ, XDG_CACHE_HOME=caches)

    read(core)
    first, _ = ask(["analyze", core], environment)
    print(f"core of {os.path.getsize(core) / 1e6:.0f} MB")
    print(f"{'the first analyze':42} {first:7.3f} s")
    there, complete = wait_for_cache(core, os.path.join(caches, "hawk-core"))
    print(f"{'until the cache is there':42} {there:7.3f} s")
    print(f"{'until it is complete':42} {complete:7.3f} s")
    verbs = verbs_for(core, environment)
    reads, runs = [], [[] for _ in verbs]
    for _ in range(max(1, arguments.rounds)):
        reads.append(read(core))
        for words, seconds in zip(verbs, runs):
            seconds.append(ask(words, environment)[0])
    line("plain read", reads)
    for words, seconds in zip(verbs, runs):
        name = " ".join(word for word in words if word != core)
        line(name, seconds, f"  {statistics.median(seconds) / first:.2f}")


if __name__ == "__main__":
    main()
