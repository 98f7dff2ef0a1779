# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""refs, path, merge-paths, retained, sites, leaks and sql on cores that lack something or lie: they say
what is missing, call nothing lost that may be held from there, and never crash."""

import json
import os
import random
import re
import resource
import struct

from support import hawk, holder_world
from support.core_surgery import (PT_LOAD, WRITE, damage, drop_segments, program_headers, segment_at,
                                  stack_pointers)

DAMAGED = 2
CODES = (hawk.EXIT_OK, hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL)
TREES = (["retained", "--by=root"], ["retained", "--by=tree"], ["merge-paths"])


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def run(path, verb, *arguments):
    words = [hawk.CORE, verb[0], *verb[1:], path, *arguments]
    return hawk.run(words, timeout=60, preexec_fn=limit_memory)


def questions():
    third = hex(truth["third"])
    yield from ((verb, ()) for verb in (["retained", "--by=tree"], ["merge-paths"], ["sites"],
                                        ["leaks", "--exit-code=0"], ["growth"], ["types"], ["schema", "--type=."],
                                        ["path", "--size=0-"], ["retained", "--by=tree", "--size=0-"],
                                        random.choice((["retained"], ["retained", "--by=root"],
                                                       ["retained", "--by=block"],
                                                       ["sites", "--dot"]))))
    yield ["refs"], (third, hex(truth["session"]))
    yield ["path"], (third, hex(truth["private"]))
    yield ["sql"], ("SELECT (SELECT count(*) FROM edges), (SELECT count(*) FROM roots WHERE name "
                    "NOT NULL), (SELECT sum(retained) FROM blocks WHERE reach NOT NULL)",)


def write(data):
    return hawk.write(os.path.join(folder, "broken"), data)


def ask_all(data, what, codes=CODES):
    """Every verb ends with one of `codes`; returns whether any could read it."""
    path = write(data)
    read = False
    for verb, arguments in questions():
        done = run(path, verb, *arguments)
        hawk.expect(done.returncode in codes, f"{verb} of {what}: exit code {done.returncode} "
                    f"{done.stderr[-300:]!r}")
        if done.returncode == hawk.EXIT_UNREADABLE:
            hawk.expect(done.stderr.startswith("hawk-core"), f"{verb} of {what}: {done.stderr!r}")
        elif done.returncode == hawk.EXIT_PARTIAL:
            hawk.expect("incomplete" in done.stdout + done.stderr,
                        f"{verb} of {what}: what is missing is not said")
        read |= done.returncode in (hawk.EXIT_OK, hawk.EXIT_PARTIAL)
    return read


def document(path, verb, *arguments):
    done = run(path, [*verb, "--json"], *arguments)
    hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{verb}: {done.stderr[-200:]}")
    return hawk.parse(done.stdout or "{}")


def check_nothing_lost(path, what, key, *ways):
    """`ways`: (address, kind of root or None) that paths to blocks begin with."""
    rows = json.loads(run(path, ["sql", "--json"], "SELECT DISTINCT reach FROM blocks").stdout)
    hawk.expect(not [row for row in rows if "lost" in row["reach"] and
                     "possibly" not in row["reach"]], f"{what}: {rows}")
    for verb in TREES:
        found = document(path, verb)
        names = [node["name"] for node in found["tree"] if node["kind"] == "lost"]
        hawk.expect(names and "missing" in names[0], f"{what}: {verb} calls something {names}")
        hawk.expect(key in [item["key"] for item in found["missing"]], f"{what}: {verb} says why")
    folded = run(path, ["merge-paths", "--folded"]).stdout
    hawk.expect(re.search(r"^\(no root found: some memory is missing\)[; ]", folded, re.M),
                f"{what}: one frame for what no root leads to: {folded[:200]}")
    for address, kind in ways:
        found = document(path, ["path"], hex(address))["addresses"][0]
        hawk.expect_equal(found["root"] and found["root"]["kind"], kind, f"{what}: {address:#x}")
        if not kind:
            hawk.expect_equal(found["block"]["reach"], "possibly_lost", f"{what}: {address:#x}")


def check_without_stacks():
    """Globals still hold; the thread's own block is held by what is missing."""
    data = bytearray(original)
    hawk.expect(drop_segments(data, stack_pointers(data)) >= 2, "stacks have segments")
    check_nothing_lost(write(data), "no stacks", "stack-missing", (truth["third"], "module"))


def check_without_data():
    data = bytearray(original)
    hawk.expect_equal(drop_segments(data, [truth["g_hub"]]), 1, ".data is one segment")
    check_nothing_lost(write(data), "no .data", "roots-missing", (truth["third"], None),
                       (truth["session"], None))


def check_without_segments():
    """Any writable segment may be gone. Small ones may be .bss that was never written."""
    loads = [(at, size) for at, kind, flags, _, _, size in program_headers(original)
             if kind == PT_LOAD and flags & WRITE and size]
    for at, size in random.sample(loads, 2):
        data = bytearray(original)
        struct.pack_into("<Q", data, at + 32, 0)
        ask_all(data, f"without the segment of {size} bytes",
                CODES if size <= 64 << 10 else CODES[1:])


def check_cut():
    read = [ask_all(original[:len(original) * part // 16], f"{part}/16",
                    (hawk.EXIT_PARTIAL, hawk.EXIT_UNREADABLE)) for part in (1, 5, 9, 13, 15)]
    hawk.expect(read[-1] and sum(read) >= 2, f"cut cores that could be read: {read}")
    hawk.expect_equal(read, sorted(read), "once readable, always readable")


def check_damaged():
    headers = 64 + 56 * sum(1 for _ in program_headers(original))
    for number in range(DAMAGED):
        data = bytearray(original)
        damage(data, *((16, headers, 3) if number % 2 else (headers, len(data), 20000)))
        ask_all(data, f"damage {number}")


def check_pointer_like_words():
    """A million words in the heap that point at blocks, into them, or close by."""
    addresses = [int(block["address"], 16) for block in hawk.blocks(core)]
    data = bytearray(original)
    start, _, size = segment_at(data, truth["third"])
    words = min(1_000_000, size // 8)
    for at in random.sample(range(size // 8), words // 2):
        struct.pack_into("<Q", data, start + 8 * at,
                         random.choice(addresses) + random.choice((0, 0, 0, 1, 8, 24, 1 << 20)))
    ask_all(data, f"{words // 2} pointer-like words in its heap")


def check_many_pointers():
    """The same without damage to headers: a program that keeps a million such words in blocks."""
    program = hawk.compile_text(folder, "wild", """
#include <stdlib.h>
enum { COUNT = 20000, WORDS = 50 };
static long *blocks[COUNT];
int main(void)
{
	unsigned long seed = 1;
	for (int i = 0; i < COUNT; i++)
		blocks[i] = malloc(WORDS * sizeof(long));
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < WORDS; k++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			blocks[i][k] = (long)blocks[(seed >> 40) % COUNT] + (long)(seed >> 33 & 3) * 100;
		}
	abort();
}
""", flags=["-O1"])
    wild, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    data = hawk.read(wild)
    for verb, arguments in questions():
        if verb[0] not in ("refs", "path"):
            done = run(wild, verb, *arguments)
            hawk.expect(done.returncode in (0, 4), f"{verb} of a million pointers: {done.stderr}")
    done = run(wild, ["sql", "--json"],
               "SELECT count(*) AS n, sum(interior) AS inside FROM edges")
    [row] = json.loads(done.stdout)
    # 50 words of 8 bytes: of the offsets 0, 100, 200, 300 all lie within the block.
    hawk.expect(row["n"] >= 1_000_000 and 0.7 < row["inside"] / row["n"] < 0.8, f"edges: {row}")
    ask_all(data[:len(data) * 3 // 4], "three quarters of a million pointers",
            (hawk.EXIT_PARTIAL, hawk.EXIT_UNREADABLE))


random.seed(7)
hawk.small_stacks()
folder = hawk.temporary_folder()
core, truth = holder_world.crash(folder)
original = hawk.read(core)
hawk.run_checks(globals())
