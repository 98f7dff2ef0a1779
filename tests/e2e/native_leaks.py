# SPDX-License-Identifier: Apache-2.0
# ctest: for=glibc jemalloc tcmalloc mimalloc redis
# ctest: long=jemalloc tcmalloc mimalloc
"""The same programs traced and untraced. Of one that numbers its blocks, each has the same leak kind, holders and retained
size. Of the others as many blocks of each size are lost, possibly lost and held, and each variable holds as many. Traced
cores have sizes as asked for, untraced ones usable sizes; blocks are told apart by these."""

import collections
import os
import sys

from support import hawk, leaks, real

# Prints the usable size for each size of its arguments.
SIZES = r"""
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%zu\n", malloc_usable_size(malloc(strtoul(argv[i], NULL, 0))));
	return 0;
}
"""

KEYS = 60000
LOST = ("definitely lost", "indirectly lost")
SHAPES = ("blocks", "list", "kept", "table", "ring", "rings", "pairs", "some", "two", "inside", "shared")

# Blocks that differ, by program, and by size as asked for.
# `prefix` needs stacks: blocks that are held behind a header of unknown layout are possibly lost.
PREFIX = {"leaks_c": {200: 8}}
# With adjacent blocks, the end of a block of 64 bytes is the start of the next one. A free block points to the next
# free one: in a block of 8 bytes that was never written, this link keeps a lost block reachable.
TOUCHING = {"leaks_c": {64: 2, 8: 1}}
# An aligned block is larger than what the same size makes elsewhere.
ALIGNED = {"stacks": {300000: 1}, "leaks_c": {168: 1}}


def sizes_of_program(core, program):
    """Sizes as asked for by the program; not what pthread_create() asks for, or what is aligned."""
    rows = hawk.sql(core, "SELECT DISTINCT size FROM blocks WHERE kind != 'aligned' AND "
                    f"site IN (SELECT site FROM frames WHERE module = '{program}') AND "
                    "site NOT IN (SELECT site FROM frames WHERE function = '_dl_allocate_tls')")
    return {row["size"] for row in rows}


def by_size(core):
    """{size: {reach: blocks}}"""
    found = collections.defaultdict(collections.Counter)
    for row in hawk.sql(core, "SELECT size, reach, count(*) AS n FROM blocks GROUP BY 1, 2"):
        found[row["size"]][row["reach"]] += row["n"]
    return found


def usable_sizes(wanted):
    done = hawk.run([sizes, *map(str, wanted)], env=plain)
    return dict(zip(wanted, map(int, done.stdout.split())))


def distance(left, right):
    """Blocks that are of another kind."""
    return max(sum((left - right).values()), sum((right - left).values()))


def summed(kinds):
    """Which lost block leads to others depends on addresses, and on links in blocks that were never written."""
    return collections.Counter({"lost": sum(kinds[kind] for kind in LOST),
                                **{kind: count for kind, count in kinds.items() if kind not in LOST}})


def compare_sizes(what, program, traced, untraced):
    asked = by_size(traced)
    usable = usable_sizes(sorted(asked))
    own = {usable[size] for size in sizes_of_program(traced, program)}
    explained = collections.Counter()
    for table in (PREFIX, ALIGNED, {} if sys.argv[1] == "glibc" else TOUCHING):
        for size, most in table.get(what, {}).items():
            explained[usable_sizes([size])[size]] += most
    wanted = collections.defaultdict(collections.Counter)
    for size, kinds in asked.items():
        wanted[usable[size]] += kinds
    found = by_size(untraced)
    count = 0
    for size in sorted(own):
        left, right = summed(wanted[size]), summed(found[size])
        hawk.expect(distance(left, right) <= explained[size], f"{what}, {size} bytes: {dict(left)}, untraced {dict(right)}")
        if sys.argv[1] == "glibc" and not explained[size]:
            hawk.expect_equal(found[size], wanted[size], f"{what}, {size} bytes")
        count += sum(wanted[size].values())
    hawk.expect(count, f"{what}: no blocks")
    others = {size: dict(kinds) for size, kinds in found.items()
              if size not in own and size not in wanted and set(kinds) != {"still reachable"}}
    hawk.expect(not others, f"{what}: lost, and of no size that the program asked for: {others}")


def holders(core):
    """{variable: blocks that it holds}"""
    return {node["name"]: node["cum_objects"] for node in hawk.document("retained", "--by=root", core)["tree"]
            if node["kind"] == "root" and node["name"].startswith("`")}


def compare(command, signals=()):
    what = " ".join([os.path.basename(command[0]), *command[1:]])
    print(what, flush=True)
    cores = [hawk.crash(command, environment, folder, **({"signals": signals} if signals else {}))[0]
             for environment in (hawk.tracer_environment(allocator), plain)]
    if all(cores):
        compare_sizes(what, command[0], *cores)
        # Two allocators lay out differently what leads to several blocks, or to their ends.
        if sys.argv[1] == "glibc":
            hawk.expect_equal(holders(cores[1]), holders(cores[0]), f"{what}: holders")
    for core in filter(None, cores):
        os.unlink(core)


def graph_of(arguments, environment):
    """Blocks and pointers by the numbers that the program gave its blocks."""
    core, done = hawk.crash([twice, *arguments], environment, folder)
    numbers = {~int(hidden) & (1 << 64) - 1: int(number) for number, hidden in map(str.split, done.stdout.splitlines())}
    blocks = {numbers[row["address"]]: (row["reach"], row["retained"])
              for row in hawk.sql(core, "SELECT address, reach, retained FROM blocks") if row["address"] in numbers}
    hawk.expect_equal(len(blocks), len(numbers), f"{arguments}: blocks that were found")
    edges = {(numbers[row["source"]], row["offset"], numbers[row["target"]], row["inside"])
             for row in hawk.sql(core, "SELECT source, offset, target, inside FROM edges")
             if row["source"] in numbers and row["target"] in numbers}
    roots = {(row["offset"], numbers[row["target"]]) for row in
             hawk.sql(core, "SELECT offset, target FROM roots WHERE symbol = 'variables'") if row["target"] in numbers}
    os.unlink(core)
    return blocks, edges, roots


def compare_blocks(*arguments):
    (traced, edges, roots), (found, *others) = (graph_of(arguments, environment)
                                                for environment in (hawk.tracer_environment(allocator), plain))
    hawk.expect_equal(others[1], roots, f"{arguments}: blocks that variables hold")
    if arguments:
        hawk.expect_equal(others[0], edges, f"{arguments}: pointers")
    lost = sum(kind in LOST for kind, _ in traced.values())
    differing = {number: (traced[number], found[number]) for number in traced if traced[number][0] != found[number][0]}
    print(f"{len(traced)} blocks, {lost} lost, {len(differing)} differ: {list(differing.items())[:3]}", flush=True)
    hawk.expect(lost > 10000 and len(differing) <= lost / 1000, f"{arguments}: kinds: {list(differing.items())[:3]}")
    for number, (kind, retained) in traced.items():
        same = retained == found[number][1] if arguments else retained <= found[number][1]
        hawk.expect(same or number in differing, f"{arguments}: block {number}, {kind}, retains {retained}, untraced {found[number][1]}")


def check_redis():
    """Its strings know their length: usable sizes must do."""
    with real.redis(folder, hawk.plain_environment()) as (process, command):
        command("eval", f"for i = 1, {KEYS} do redis.call('set', 'key:' .. i, string.rep('v', 100)) end", "0")
        hawk.expect_equal(command("dbsize"), f"{KEYS}\n", "keys")
        found = leaks.ask(hawk.gcore(process.pid, folder))
    hawk.expect_equal(found["definitely_lost"]["objects"], 0, "definitely lost")
    hawk.expect(found["possibly_lost"]["objects"] <= KEYS / 1000, f"{found['possibly_lost']}")
    hawk.expect(found["heuristics"]["lengthprefix"] >= 2 * KEYS, f"{found['heuristics']}")


folder = hawk.temporary_folder()
if sys.argv[1] == "redis":
    check_redis()
    hawk.finish()
allocator = hawk.need_allocator(sys.argv[1])
sizes = hawk.compile_text(folder, "sizes", SIZES)
plain = hawk.plain_environment(allocator)
twice = hawk.compile_program(os.path.join(folder, "twice"), ["twice_the_same.c"], flags=["-O1"])
compare_blocks()
if sys.argv[1] == "glibc":
    compare_blocks("exact")
for name in leaks.BUILDS:
    compare([leaks.build(name, folder)])
shapes = hawk.compile_program(os.path.join(folder, "shapes"), ["lost_shapes.c"], flags=["-O1"])
for shape in SHAPES:
    compare([shapes, shape])
compare([hawk.compile_program(os.path.join(folder, "stacks"), ["thread_stacks.c"])])
hawk.finish()
