# SPDX-License-Identifier: Apache-2.0
# ctest: for=bookworm bullseye trixie sid musl mixed
# ctest: timeout=600
"""Heaps of unprepared programs: every live block, with its usable size, and nothing else but what the C
library and the allocator have for themselves. The allocators of four releases of Debian run by their own loaders;
musl is linked in. Seeds are printed."""

import bisect
import os
import random
import signal
import sys

from support import hawk, releases

STEPS = 8000
# Limits on blocks that are not the program's, per thread and per process: thread caches, DTVs, blocks of stdio and ld.so,
# the C++ library's emergency pool.
EXTRA_A_THREAD = 3
EXTRA = 12

# Allocator: the library by release, and whether aligned pointers lie within their blocks.
ALLOCATORS = {
    "glibc": ({}, False),
    "jemalloc": ({name: "libjemalloc.so.2" for name in releases.NAMES}, False),
    "tcmalloc": ({name: "libtcmalloc_minimal.so.4" for name in releases.NAMES}, False),
    "mimalloc": ({"bookworm": "libmimalloc.so.2", "trixie": "libmimalloc.so.3", "sid": "libmimalloc.so.3"}, True),
}
FLAGS = ("alr", "alrx", "alrxs", "alrxsn")


def read_truth(text):
    return {int(start, 16): int(size) for start, size in (line.split() for line in text.splitlines())}


def compare(core, truth, threads, aligned_within, what):
    blocks = {int(block["address"], 16): block["size"] for block in hawk.blocks(core)}
    starts = sorted(blocks)
    outer = set()
    for start, size in truth.items():
        if blocks.get(start) == size:
            outer.add(start)
            continue
        around = starts[bisect.bisect(starts, start) - 1] if starts and starts[0] <= start else None
        within = around is not None and around + blocks[around] >= start + size
        hawk.expect(aligned_within and within, f"{what}: {start:#x}, {size} bytes: {blocks.get(start)}")
        outer.add(around)
    extra = [blocks[start] for start in starts if start not in outer]
    hawk.expect(len(extra) <= EXTRA + EXTRA_A_THREAD * threads, f"{what}: {len(extra)} more blocks: {extra[:40]}")


def check(folder, command, environment, case, aligned_within=False):
    threads, ended, flags = case
    seed = random.SystemRandom().randrange(1, 1 << 30)
    arguments = [*command, str(seed), str(STEPS), str(threads), str(ended), flags]
    what = " ".join(arguments[-5:])
    print(what, flush=True)
    core, done = hawk.crash(arguments, environment, folder, signals=(signal.SIGABRT,))
    if not core:
        return
    compare(core, read_truth(done.stdout), threads + ended, aligned_within, what)
    analysis = hawk.analyze(core, "--no-suspects")
    if analysis:
        keys = [item["key"] for item in analysis["missing"]]
        hawk.expect_equal([key for key in keys if key.startswith("heap")], [], f"{what}: missing")
    os.unlink(core)


def check_release(name):
    release = releases.get(name)
    if not release:
        hawk.skip(f"no packages of {name}")
    oldest = releases.get(releases.OLDEST)
    folder = hawk.temporary_folder()
    program = os.path.join(folder, "native_truth")
    releases.link(oldest, program, ["-O1", "-pthread", os.path.join(hawk.PROGRAMS, "native_truth.c")])
    for allocator, (libraries, aligned_within) in ALLOCATORS.items():
        if allocator != "glibc" and name not in libraries:
            continue
        command = releases.command(release, libraries.get(name), program)
        cases = [(5, 3, random.choice(FLAGS)), (0, 0, "alr") if allocator != "glibc" else (24, 8, "alrx")]
        for case in cases:
            # Debian's mimalloc 3.0.1 crashes on aligned blocks of several threads.
            flags = case[2].replace("a", "") if (allocator, name) == ("mimalloc", "trixie") else case[2]
            check(folder, command, hawk.plain_environment(), (case[0], case[1], flags), aligned_within)


def check_musl():
    compiler = hawk.need("musl-gcc")
    folder = hawk.temporary_folder()
    for flags in (["-static"], []):
        program = hawk.compile_program(os.path.join(folder, "native_truth"),
                                       [os.path.join(hawk.PROGRAMS, "native_truth.c")], compiler=compiler, flags=flags)
        for case in ((0, 0, "alr"), (5, 3, "alrx")):
            check(folder, [program], hawk.plain_environment(), case)


def check_mixed():
    """Several allocators in one process, which point into each other's blocks."""
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, "native_mixed"), ["native_mixed.c"], flags=["-O1"])
    names = {"jemalloc": "malloc:free:malloc_usable_size", "tcmalloc": "tc_malloc:tc_free:tc_malloc_size",
             "mimalloc": "mi_malloc:mi_free:mi_usable_size"}
    found = [f"{path}:{names[name]}" for name in names for path in [hawk.find_allocator(name)] if path]
    environment = hawk.plain_environment(extra={"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=8192"})
    for chosen in (*([library] for library in found), found):
        seed = random.SystemRandom().randrange(1, 1 << 30)
        print(seed, *chosen, flush=True)
        core, done = hawk.crash([program, str(seed), *chosen], environment, folder)
        if core:
            compare(core, read_truth(done.stdout), 16, False, f"{seed} {chosen}")
            os.unlink(core)


if sys.argv[1] == "mixed":
    check_mixed()
elif sys.argv[1] == "musl":
    check_musl()
else:
    check_release(sys.argv[1])
hawk.finish()
