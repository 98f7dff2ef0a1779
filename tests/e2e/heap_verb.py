# SPDX-License-Identifier: Apache-2.0
# ctest: for=glibc jemalloc tcmalloc mimalloc musl traced views
"""`hawk-core heap`: uses add up to the core, to the byte; live blocks are those of `blocks`; figures of glibc are those of
malloc_info()."""

import os
import re
import subprocess
import sys

from support import hawk

THREADS = 8
KEEP = 100

# What malloc_info() lacks, or has in other places: the words of chunks with mappings of their own, flags in sizes.
PAGE_BYTES = 4096
FLAGS = 7


def uses_of(answer):
    return {use["use"]: use["bytes"] for use in answer["uses"]}


def check_sums(what, core, answer):
    present = hawk.sql(core, "SELECT sum(present_bytes) AS n FROM mappings")[0]["n"]
    hawk.expect_equal(answer["bytes"], present, f"{what}: all bytes")
    hawk.expect_equal(sum(uses_of(answer).values()), present, f"{what}: sum of uses")
    hawk.expect_equal(answer["damage"], [], f"{what}: damage")
    text = hawk.text_of("heap", core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    hawk.expect_columns(text, f"heap of {what}")
    hawk.expect(len(text.splitlines()) < 55, f"heap of {what}: {len(text.splitlines())} lines")


def check_live(what, core, answer):
    """As in other verbs, with blocks of the allocator's own."""
    found = hawk.sql(core, "SELECT count(*) AS n, sum(size) AS bytes FROM blocks")[0]
    live = next(use for use in answer["uses"] if use["use"] == "live")
    hawk.expect_equal((live["objects"], live["bytes"]), (found["n"], found["bytes"]), f"{what}: live blocks, bytes")


def check_malloc_info(what, answer, info):
    """malloc_info() counts cached chunks as used; sizes of free ones have their flags in them."""
    total = info[info.rindex("</heap>"):]
    rest, fast, mapped, system = (
        [int(number) for number in re.search(rf'type="{kind}"(?: count="(\d+)")? size="(\d+)"', total).groups("0")]
        for kind in ("rest", "fast", "mmap", "current"))
    glibc = answer["allocators"][0]
    uses = {use["use"]: use for use in answer["uses"]}
    hawk.expect_equal(sum(arena["system_bytes"] for arena in glibc["arenas"]), system[1], f"{what}: system")
    found = uses["free"]["bytes"] + uses["top"]["bytes"]
    hawk.expect(0 <= rest[1] - found <= FLAGS * uses["free"]["objects"], f"{what}: free {found}, malloc_info {rest[1]}")
    hawk.expect_equal(uses["free"]["objects"] + len(glibc["arenas"]), rest[0], f"{what}: free chunks")
    hawk.expect_equal(uses["fast_bins"]["bytes"], fast[1], f"{what}: fast bins")
    outside = glibc["outside_arenas"]["live"]
    hawk.expect_equal(outside["objects"], mapped[0], f"{what}: chunks with mappings of their own")
    hawk.expect(0 <= mapped[1] - outside["bytes"] <= PAGE_BYTES * mapped[0], f"{what}: {outside}, malloc_info {mapped[1]}")


def check_arenas(what, answer):
    arenas = answer["allocators"][0]["arenas"]
    hawk.expect_equal(len(arenas), THREADS, f"{what}: arenas")
    hawk.expect_equal(sum(arena["threads"] for arena in arenas), THREADS + 1, f"{what}: threads of arenas")
    hawk.expect_equal(sorted(tid for arena in arenas for tid in arena["tids"]), sorted(thread["tid"] for thread in answer["threads"]),
                      f"{what}: threads")
    hawk.expect_equal({arena["locked"] for arena in arenas}, {False}, f"{what}: locks")
    hawk.expect_equal([arena["main"] for arena in arenas].count(True), 1, f"{what}: main arenas")
    caches = [thread["cached"]["objects"] for thread in answer["threads"]]
    hawk.expect_equal(sorted(caches)[1:], [7] * THREADS, f"{what}: chunks in caches")


def crash(environment, program):
    return hawk.crash([program, str(THREADS), str(KEEP)], environment, folder)


def check_glibc():
    core, done = crash(hawk.plain_environment(extra={"GLIBC_TUNABLES": f"glibc.malloc.arena_max={THREADS}"}), build())
    answer = hawk.document("heap", core)
    check_sums("glibc", core, answer)
    check_live("glibc", core, answer)
    check_malloc_info("glibc", answer, done.stdout)
    check_arenas("glibc", answer)
    hawk.expect_equal(answer["allocators"][0]["settings"]["arena_max"], THREADS, "arena_max")


def check_traced():
    """The allocator is asked below the tracer's headers."""
    core, done = crash(hawk.tracer_environment(extra={"GLIBC_TUNABLES": f"glibc.malloc.arena_max={THREADS}"}), build())
    answer = hawk.document("heap", core)
    check_sums("traced", core, answer)
    check_live("traced", core, answer)
    check_malloc_info("traced", answer, done.stdout)
    check_arenas("traced", answer)
    uses = uses_of(answer)
    analysis = hawk.analyze(core, "--no-suspects")["heap"]
    hawk.expect_equal(uses["tracer"], analysis["tracer_bytes"], "tracer")
    hawk.expect(uses["headers"] <= analysis["header_bytes"], "headers")
    redacted = os.path.join(folder, "redacted")
    hawk.text_of("redact", "-o", redacted, core)
    hawk.expect_equal(hawk.document("heap", redacted)["allocators"], answer["allocators"], "allocators in a redacted core")
    hawk.expect(uses["rounding"] <= uses["live"] / 10, f"rounding {uses['rounding']} of {uses['live']}")


def check_threads(name, answer):
    """Each thread has its own arena (jemalloc with enough of them) or heaps (mimalloc), and a cache."""
    arenas = answer["allocators"][0]["arenas"]
    if name == "tcmalloc":
        hawk.expect_equal(arenas, None, name)
    else:
        hawk.expect_equal({(arena["threads"], len(arena["tids"]), arena["locked"]) for arena in arenas}, {(1, 1, None)}, f"{name}: arenas")
        busy = [arena for arena in arenas if arena["live"]["objects"] >= 20000 // KEEP]
        hawk.expect_equal(len(busy), THREADS, f"{name}: arenas with blocks")
    caches = [thread["cached"] for thread in answer["threads"]]
    hawk.expect_equal([cache is None for cache in caches], [name == "mimalloc"] * (THREADS + 1), f"{name}: caches {caches}")
    if name != "mimalloc":
        cached = next(use for use in answer["uses"] if use["use"] == "thread_caches")
        least = 0.9 if name == "tcmalloc" else 1  # its transfer cache is no thread's
        for key in "objects", "bytes":
            found = sum(cache[key] for cache in caches)
            hawk.expect(least * cached[key] <= found <= cached[key], f"{name}: cached {key}: {found} of {cached[key]}")


SETTINGS = {"jemalloc": {"dirty_decay_ms": -1, "muzzy_decay_ms": 2000}}


def check_allocator(name):
    extra = {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:2000,narenas:64"}
    core, _ = crash(hawk.plain_environment(hawk.need_allocator(name), extra), build())
    answer = hawk.document("heap", core)
    check_sums(name, core, answer)
    hawk.expect_equal(answer["allocators"][0]["name"], name, "allocator")
    hawk.expect_equal(answer["allocators"][0]["settings"], SETTINGS.get(name, {}), f"settings of {name}")
    check_threads(name, answer)
    wanted = THREADS * 20000 // KEEP
    live = next(size for size in answer["sizes"] if size["live"]["objects"] >= wanted)
    hawk.expect(live["size"] >= 200, f"{name}: {wanted} blocks of 200 bytes: {live}")
    hawk.expect(live["free"]["bytes"] > 0 or uses_of(answer)["free_pages"] > 0, f"{name}: {live}")


def check_musl():
    compiler = hawk.need("musl-gcc")
    source = hawk.write(os.path.join(folder, "slots.c"), """
#include <stdlib.h>
void *volatile kept[2000];
int main(void)
{
	for (int i = 0; i < 2000; i++) kept[i] = malloc(100);
	for (int i = 0; i < 2000; i += 2) free(kept[i]);
	abort();
}
""")
    program = hawk.compile_program(os.path.join(folder, "slots"), [source], compiler=compiler, flags=["-static"])
    core, _ = hawk.crash([program], hawk.plain_environment(), folder)
    answer = hawk.document("heap", core)
    check_sums("musl", core, answer)
    slots = [size for size in answer["sizes"] if size["free"]["objects"] >= 900]
    hawk.expect(len(slots) == 1 and slots[0]["size"] >= 100, f"musl: free slots: {slots}")


def check_views():
    """A process, a redacted core, a snapshot, and a heap that is unknown."""
    program = build()
    process = hawk.spawn([program, str(THREADS), str(KEEP)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env=hawk.plain_environment())
    while process.stdout.readline() != b"ready\n":
        pass
    live = hawk.document("heap", "--pid", str(process.pid))
    hawk.expect_equal(sum(uses_of(live).values()), live["bytes"], "a process: sum of uses")
    core = hawk.gcore(process.pid, folder)
    answer = hawk.document("heap", core)
    for use in ("live", "free", "top", "thread_caches", "metadata", "undivided"):
        hawk.expect_equal(uses_of(live)[use], uses_of(answer)[use], f"{use} of a process, and its core")
    redacted, snapshot = os.path.join(folder, "redacted"), os.path.join(folder, "snapshot")
    hawk.text_of("redact", "-o", redacted, core)
    found = hawk.document("heap", redacted)
    hawk.expect_equal(found["uses"], answer["uses"], "uses in a redacted core")
    hawk.expect_equal(found["allocators"], answer["allocators"], "allocators in a redacted core")
    hawk.text_of("snapshot", "-o", snapshot, core)
    found = hawk.document("heap", snapshot)
    unlike = {"source": None, "next": None}
    hawk.expect_equal({**found, **unlike}, {**answer, **unlike}, "a snapshot")
    unknown = hawk.document("heap", "--no-native", core, codes=(hawk.EXIT_PARTIAL,))
    hawk.expect_equal(unknown["uses"], None, "uses of an unknown heap")


def build():
    return hawk.compile_program(os.path.join(folder, "pinned"), ["pinned.c"], flags=["-O1"])


folder = hawk.temporary_folder()
{"glibc": check_glibc, "traced": check_traced, "musl": check_musl, "views": check_views}.get(
    sys.argv[1], lambda: check_allocator(sys.argv[1]))()
hawk.finish()
