#!/usr/bin/env python3
# ctest: timeout=600
# SPDX-License-Identifier: Apache-2.0
"""Filters by type: the same blocks in every verb, whether their traces' types are kept in an index cache or their
first words are read, by any number of threads."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import hawk  # noqa: E402

OBJECTS = 800_000
PREFIX = "(anonymous namespace)::"
NAMES = ("Circle", "Square", "Label", "Circle[]")
QUESTIONS = (["leaks", "--json", "--type=Circle"], ["leaks", "--json", "--heuristics=none"],
             ["leaks", "--json", "--heuristics=newarray,listnode", "--size=8-48"], ["leaks", "--type=[[]"], ["leaks", "--type=no such"],
             ["sites", "--json", "--type=::Circle$"], ["sites", "--type=."],
             ["sites", "--type=S|L", "--function=make_any"],
             ["growth", "--json", "--type=Square"], ["growth", "--type=Circle", "--size=9-24", "--age=0-1h"],
             ["blocks", "--top=50", "--type=Square"], ["blocks", "--top=50", "--type=Label", "--age=0-1h", "--json"],
             ["path", "-n", "2", "--type=Square", "--function=make_any", "--size=1-"],
             ["path", "-n", "1", "--type=Label"],
             ["merge-paths", "--type=Square", "--size=-64"], ["merge-paths", "--type=Label"],
             ["retained", "--type=Label", "--by=root"], ["retained", "--type=no such"],
             ["schema", "SITE", "--type=Square"], ["schema", "SITE", "--json", "--type=Circle$"])
ONE_THREAD = ("leaks", "sites", "schema")


def ask(*arguments, code=(0, 1)):
    done = hawk.run([hawk.CORE, arguments[0], core, *arguments[1:]], env=dict(os.environ, XDG_CACHE_HOME=caches))
    hawk.expect(done.returncode in code, f"{arguments}: {done.returncode} {done.stderr[-300:]}")
    return done.stdout


def sums_of(*options):
    leaks = json.loads(ask("leaks", "--json", *options))
    kinds = ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")
    return tuple(sum(leaks[kind][key] for kind in kinds) for key in ("objects", "bytes"))


def check_truth(truth):
    """One block after the other, as SQL does it."""
    for name in NAMES:
        pattern = "^" + (PREFIX + name).replace("(", "[(]").replace(")", "[)]").replace("[]", "[[]]") + "$"
        hawk.expect_equal(sums_of(f"--type={pattern}", "--no-cache"), truth[PREFIX + name], f"{name}, read")
        hawk.expect_equal(sums_of(f"--type={pattern}"), truth[PREFIX + name], f"{name}, kept")
    every = tuple(map(sum, zip(*(truth[name] for name in truth if name))))
    hawk.expect_equal(sums_of("--type=."), every, "of any type")


hawk.need_build()
folder = hawk.temporary_folder()
caches = os.path.join(folder, "caches")
program = hawk.compile_mixed(os.path.join(folder, "many_objects"), [], ["many_objects.cpp"], flags=("-O2", "-g"))
core, _ = hawk.crash([program, str(OBJECTS)], hawk.tracer_environment(), folder)
hawk.expect(os.path.getsize(core) > 64 << 20, "large enough for a cache")
rows = json.loads(ask("sql", "SELECT type, count(*) AS objects, sum(size) AS bytes FROM blocks GROUP BY type",
                      "--json", "--no-cache"))
found = {row["type"]: (row["objects"], row["bytes"]) for row in rows}
hawk.expect_equal({name for name in found if name}, {PREFIX + name for name in NAMES}, "types")
site = next(each["site"] for each in json.loads(ask("sites", "--json", "--no-cache"))["sites"]
            if any("make_any" in str(frame) for frame in each["frames"]))
questions = [[site if word == "SITE" else word for word in question] for question in QUESTIONS]
without = {tuple(words): ask(*words, "--no-cache") for words in questions}
for words in questions:
    if words[0] in ONE_THREAD:
        hawk.expect_equal(ask(*words, "--no-cache", "--threads=1"), without[tuple(words)], f"{words} by one thread")
hawk.expect_equal(ask(*questions[0]), without[tuple(questions[0])], "while nothing is cached")
hawk.settle(core)
for words in questions:
    hawk.expect_equal(ask(*words), without[tuple(words)], f"{words} from a complete cache")
check_truth(found)
hawk.finish()
