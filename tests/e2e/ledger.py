# SPDX-License-Identifier: Apache-2.0
"""What many snapshots have in common: runs of two builds of a program that prints what it keeps, against the rows that
`export` writes of each; repeated, damaged and foreign inputs."""

import json
import os
import re

from support import hawk, ledger_model

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int inserted __attribute__((unused)); /* only in one build */
static void **kept, **names;
static void *make_cell(void) { return malloc(1000); }
static void *make_name(void) { return malloc(64); }
int main(int count, char **arguments)
{
	int cells = atoi(arguments[1]), other = atoi(arguments[2]);
	(void)count;
	kept = calloc(1000, sizeof(*kept));
	names = calloc(100, sizeof(*names));
	for (int i = 0; i < cells; i++)
		kept[i] = make_cell();
	for (int i = 0; i < other; i++)
		names[i] = make_name();
	usleep(1000 * atoi(arguments[3]));
	for (int i = 0; i < 100000; i++) /* the tracer looks at the clock now and then */
		free(malloc(8));
	abort();
}
"""
# Cells, names, milliseconds: names are in four of them.
RUNS = ((100, 0, 10), (200, 5, 120), (300, 0, 240), (420, 7, 360), (500, 9, 480), (610, 1, 600))


def build(name, text):
    place = os.path.join(folder, name, "src")
    os.makedirs(place)
    return hawk.compile_text(place, "shop", text)


def make_snapshots():
    """The first three of the older build."""
    programs = (build("old", PROGRAM.replace("static int inserted __attribute__((unused)); /* only in one build */\n", "")),
                build("new", PROGRAM.replace("static void **kept", "\n\n\nstatic void **kept")))
    for i, run in enumerate(RUNS):
        core, _ = hawk.crash([programs[i >= len(RUNS) // 2], *map(str, run)], hawk.tracer_environment(), folder)
        path = os.path.join(folder, f"{i}.hawk")
        hawk.text_of("snapshot", "-o", path, core)
        yield path, core


def ask(*arguments, codes=(hawk.EXIT_OK,)):
    return hawk.document("ledger", *arguments, codes=codes)


def rows_of(path):
    return [json.loads(line) for line in hawk.text_of("export", "--format=ndjson", path).splitlines()]


def check_against_rows():
    document = ask(*snapshots)
    hawk.expect_equal((document["snapshots"], document["repeated"]), (len(RUNS), 0), "snapshots")
    wanted = ledger_model.model([row for path in snapshots for row in rows_of(path)])
    hawk.expect_equal({site["signature"] for site in document["sites"]}, set(wanted), "signatures")
    for site in document["sites"]:
        count, median, maximum, rate, *builds = wanted[site["signature"]]
        hawk.expect_equal((site["snapshots"], site["median_bytes"], site["maximum_bytes"]), (count, median, maximum),
                          f"figures of {site['functions'][:1]}")
        hawk.expect_equal([site["first_build"], site["last_build"]], builds, "builds")
        hawk.expect_equal(rate is None, site["bytes_per_hour"] is None, "whether there is a slope")
        # Rows have uptime in milliseconds.
    hawk.expect(rate is None or abs(site["bytes_per_hour"] - rate) <= 0.03 * abs(rate) + 1,
                    f"slope {site['bytes_per_hour']} is {rate}")
    medians = [site["median_bytes"] for site in document["sites"]]
    hawk.expect_equal(medians, sorted(medians, reverse=True), "order")


def site_of(document, function):
    found = [site for site in document["sites"] if site["functions"][0] == function]
    hawk.expect_equal(len(found), 1, f"rows of {function}, which two builds share")
    return found[0]


def check_against_program():
    document = ask(*snapshots)
    cells, names = site_of(document, "make_cell"), site_of(document, "make_name")
    hawk.expect_equal((cells["snapshots"], cells["median_bytes"], cells["maximum_bytes"]), (6, 420000, 610000), "cells")
    hawk.expect_equal((names["snapshots"], names["median_bytes"], names["maximum_bytes"]), (4, 7 * 64, 9 * 64), "names")
    hawk.expect(cells["bytes_per_hour"] > 1e6, "cells grow with uptime")
    builds = [rows_of(snapshots[i])[0]["build_id"] for i in (0, -1)]
    hawk.expect_equal([cells["first_build"], cells["last_build"]], builds, "builds")
    hawk.expect_equal([names["first_build"], names["last_build"]], builds, "builds of names")


def check_suspects():
    suspects = ask(*snapshots)["suspects"]
    hawk.expect_equal([(bug["snapshots"], bug["functions"][0], bug["signal"]) for bug in suspects],
                      [(6, "make_cell", "SIGABRT")], "one bug in both builds")
    hawk.expect("`kept` in shop .bss" in suspects[0]["holder"], f"holder {suspects[0]['holder']}")
    hawk.expect_equal(suspects[0]["example"], snapshots[-1], "example")
    hawk.expect_equal(ask("--no-suspects", *snapshots)["suspects"], [], "--no-suspects")


def check_text():
    text = hawk.text_of("ledger", *snapshots)
    hawk.expect_columns(text, "ledger")
    hawk.expect(re.search(r"^Ledger of 6 snapshots$", text, re.M), "heading")
    hawk.expect(re.search(r"^ +6 +410.2 KiB +595.7 KiB +\+.*make_cell", text, re.M), f"row of make_cell: {text}")
    full = hawk.text_of("ledger", "--full", *snapshots)
    hawk.expect(re.search(r"site [0-9a-f]{16}, signature [0-9a-f]{16}, build [0-9a-f]{12} to ", full), f"--full: {full}")
    hawk.expect("(1 of " in hawk.text_of("ledger", "--top=1", *snapshots), "--top")
    first = ask("--sort=count", *snapshots)["sites"][-1]
    hawk.expect_equal(first["functions"][0], "make_name", "--sort=count")


def check_repeated():
    """A core is the same as its snapshot, wherever it lies."""
    document = ask(*snapshots, snapshots[0], cores[1])
    hawk.expect_equal((document["snapshots"], document["repeated"]), (len(RUNS), 2), "given twice")
    hawk.expect_equal(document["sites"], ask(*snapshots)["sites"], "counted once")


def check_lists():
    path = os.path.join(folder, "list")
    hawk.write(path, "".join(name + "\n" for name in snapshots[1:]))
    hawk.expect_equal(ask("--files-from", path, snapshots[0])["sites"], ask(*snapshots)["sites"], "--files-from")
    done = hawk.run([hawk.CORE, "ledger", "--json", "--files-from=-"], input="\n".join(snapshots))
    hawk.expect_equal(json.loads(done.stdout)["sites"], ask(*snapshots)["sites"], "--files-from=-")
    done = hawk.run([hawk.CORE, "ledger", "--files-from", os.path.join(folder, "none")])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "no list")


def check_bad_input():
    text = os.path.join(folder, "text")
    hawk.write(text, "no core\n")
    damaged = hawk.cut(snapshots[2], os.path.getsize(snapshots[2]) // 3, "damaged.hawk")
    document = ask(*snapshots, text, damaged, os.path.join(folder, "none"), codes=(hawk.EXIT_PARTIAL,))
    said = [finding["text"] for finding in document["missing"]]
    for name in (text, damaged, os.path.join(folder, "none")):
        hawk.expect(any(name in sentence for sentence in said), f"{name} is said: {said}")
    hawk.expect(document["partial"], "partial")
    hawk.expect_equal(site_of(document, "make_cell")["maximum_bytes"], 610000, "what can be read")
    done = hawk.run([hawk.CORE, "ledger", text, damaged])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "none can be read")
    for arguments in ([], ["--sort=size", snapshots[0]], ["--focus=(", snapshots[0]]):
        done = hawk.run([hawk.CORE, "ledger", *arguments])
        hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, f"usage {arguments}")


def check_filters():
    document = ask("--focus=make_name", *snapshots)
    hawk.expect_equal([site["functions"][0] for site in document["sites"]], ["make_name"], "--focus")
    sites = os.path.join(folder, "sites.hawk")
    hawk.text_of("snapshot", "--sites-only", "-o", sites, cores[0])
    document = ask(sites)
    hawk.expect_equal((document["suspects"], site_of(document, "make_cell")["maximum_bytes"]), ([], 100000), "sites only")


folder = hawk.temporary_folder()
snapshots, cores = zip(*make_snapshots())
hawk.run_checks(globals())
