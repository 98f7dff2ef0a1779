# SPDX-License-Identifier: Apache-2.0
# ctest: for=bookworm bullseye trixie sid musl mixed builds kills views
# ctest: long=bullseye trixie sid
# ctest: timeout=600
"""Heaps of unprepared programs: every live block, with its usable size, and nothing else but what the C
library and the allocator have for themselves. The allocators of four releases of Debian run by their own loaders;
musl is linked in. Then other builds of the program, deaths at random moments, and other ways to look at one heap.
Seeds are printed."""

import bisect
import collections
import os
import random
import shutil
import signal
import struct
import subprocess
import sys

from support import core_surgery, hawk, releases

STEPS = 8000
SLOTS = 4096 # of a worker in native_truth.c

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


def blocks_of(*core):
    return {int(block["address"], 16): block["size"] for block in hawk.blocks(*core)}


def others(blocks, truth, aligned_within, what):
    """Sizes of the blocks that are not the program's; all of the program's must be there."""
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
    return collections.Counter(blocks[start] for start in starts if start not in outer)


class Program:
    """native_truth, and the sizes of blocks that belong to the C library and the allocator."""

    def __init__(self, command, environment, aligned_within=False):
        self.command, self.environment, self.aligned_within = command, environment, aligned_within
        self.known = collections.Counter()
        core, truth, _ = self.run((5, 3, ""), 400)  # enough for each thread to free, which makes its cache
        if core:
            self.known = others(blocks_of(core), truth, aligned_within, "first run")
            os.unlink(core)

    def run(self, case, steps=STEPS, signals=(signal.SIGABRT,)):
        threads, ended, flags = case
        arguments = [str(random.SystemRandom().randrange(1, 1 << 30)), str(steps), str(threads), str(ended), flags]
        core, done = hawk.crash([*self.command, *arguments], self.environment, folder, signals)
        return core, read_truth(done.stdout), " ".join(arguments)

    def invented(self, found, threads):
        """Of these blocks, those that the first run did not have. A thread's cache may be up to 32 bytes larger."""
        return {size: count for size, count in found.items() if count > max(threads + 1, self.known[size]) or
                not any(self.known[size - more] for more in (0, 16, 32))}

    def expect_blocks(self, blocks, truth, threads, what):
        invented = self.invented(others(blocks, truth, self.aligned_within, what), threads)
        hawk.expect(not invented, f"{what}: invented: {invented}")

    def check(self, case):
        core, truth, what = self.run(case)
        print(what, flush=True)
        if not core:
            return
        self.expect_blocks(blocks_of(core), truth, case[0] + case[1], what)
        expect_complete(core, what)
        os.unlink(core)


def expect_complete(core, what):
    analysis = hawk.analyze(core, "--no-suspects")
    if analysis:
        keys = [item["key"] for item in analysis["missing"]]
        hawk.expect_equal([key for key in keys if key.startswith("heap")], [], f"{what}: missing")


def check_release(name):
    release = releases.get(name)
    if not release:
        hawk.skip(f"no packages of {name}")
    oldest = releases.get(releases.OLDEST)
    program = os.path.join(folder, "native_truth")
    releases.link(oldest, program, ["-O1", "-pthread", os.path.join(hawk.PROGRAMS, "native_truth.c"), "-lrt"])
    for allocator, (libraries, aligned_within) in ALLOCATORS.items():
        if allocator != "glibc" and name not in libraries:
            continue
        command = releases.command(release, libraries.get(name), program)
        checked = Program(command, hawk.plain_environment(), aligned_within)
        for case in (5, 3, random.choice(FLAGS)), (0, 0, "alr") if allocator != "glibc" else (64, 21, "alrx"):
            # Debian's mimalloc 3.0.1 crashes on aligned blocks of several threads.
            flags = case[2].replace("a", "") if (allocator, name) == ("mimalloc", "trixie") else case[2]
            checked.check((*case[:2], flags))


def compile_truth(name, *flags, compiler="gcc"):
    return hawk.compile_program(os.path.join(folder, name), ["native_truth.c"], compiler, ["-O1", *flags])


def check_musl():
    compiler = hawk.need("musl-gcc")
    for flags in (["-static"], []):
        checked = Program([compile_truth("native_truth", *flags, compiler=compiler)], hawk.plain_environment())
        for case in ((0, 0, "alr"), (5, 3, "alrx")):
            checked.check(case)


def check_builds():
    """Linked with a C library of their own; stripped, and without the file."""
    for flags in ["-static"], ["-static-pie"], ["-s"]:
        program = compile_truth("native_truth", *flags)
        checked = Program([program], hawk.plain_environment())
        for case in ((0, 0, "alr"), (5, 3, "alrxs")):
            core, truth, what = checked.run(case)
            print(flags, what, flush=True)
            os.rename(program, f"{program}.away")
            if core:
                checked.expect_blocks(blocks_of(core), truth, case[0] + case[1], what)
                expect_complete(core, what)
                vectors = hawk.text_of("sites", "--full", core).count("(internal: thread-local storage)")
                hawk.expect(vectors == (1 if case[0] else 0), f"{what}: {vectors} classes of vectors")
                os.unlink(core)
            os.rename(f"{program}.away", program)


def live_blocks(core, workers, distance, count):
    data = hawk.read(core)
    for i in range(count):
        address = workers + i * distance
        start, base, _ = core_surgery.segment_at(data, address)
        yield from filter(None, struct.unpack_from(f"<{SLOTS}Q", data, start + address - base))


def in_transit(core, blocks, truth):
    """Blocks that a thread of mimalloc took over from others which freed them, and has not put into its pages yet: a
    chain by their first words, whose start only a register has. Ours point to themselves or to nothing."""
    data, chained, pointers = hawk.read(core), set(), sorted(truth)
    extra = {start for start, size in blocks.items()
             if bisect.bisect_left(pointers, start) == bisect.bisect_left(pointers, start + size)}
    for address in extra:
        start, base, _ = core_surgery.segment_at(data, address)
        following, = struct.unpack_from("<Q", data, start + address - base)
        if following in extra and following != address:
            chained |= {address, following}
    return chained


def check_kills():
    """All threads are at work: each may have two blocks that it has not written down."""
    program = compile_truth("native_truth")
    for allocator, (_, aligned_within) in ALLOCATORS.items():
        library = hawk.find_allocator(allocator)
        if not library and allocator != "glibc":
            continue
        checked = Program([program], hawk.plain_environment(library), aligned_within)
        for case in ((0, 0, "alrw"), (7, 0, "alrxw"), (7, 0, "rxw")):
            core, table, what = checked.run(case, signals=(signal.SIGQUIT,))
            print(allocator, what, flush=True)
            if not core:
                continue
            (workers, distance), = table.items()
            blocks = blocks_of(core)
            truth = {start: blocks.get(start, 1) for start in live_blocks(core, workers, distance, case[0] + 1)}
            hawk.expect(len(truth) > 10, f"{what}: {len(truth)} blocks")
            for start in in_transit(core, blocks, truth) if allocator == "mimalloc" else ():
                del blocks[start]
            invented = checked.invented(others(blocks, truth, aligned_within, what), case[0])
            hawk.expect(sum(invented.values()) <= 2 * (case[0] + 1), f"{what}: invented: {invented}")
            expect_complete(core, what)
            os.unlink(core)


def check_mixed():
    """Several allocators in one process, which point into each other's blocks; two C libraries."""
    program = hawk.compile_program(os.path.join(folder, "native_mixed"), ["native_mixed.c"], flags=["-O1"])
    names = {"jemalloc": "malloc:free:malloc_usable_size", "tcmalloc": "tc_malloc:tc_free:tc_malloc_size",
             "mimalloc": "mi_malloc:mi_free:mi_usable_size"}
    found = [f"{path}:{names[name]}" for name in names for path in [hawk.find_allocator(name)] if path]
    environment = hawk.plain_environment(extra={"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=8192"})
    second = "libc.so.6:malloc:free:malloc_usable_size"
    three_posts = (519112688, 171295188, 315328920)  # the old top leaves 16 bytes before its two fence posts
    for chosen in (*([library] for library in found), found, [second], [second, *found]):
        known = collections.Counter()
        for seed in 0, random.SystemRandom().randrange(1, 1 << 30), *(three_posts if chosen == [second] else ()):
            print(seed, *chosen, flush=True)
            core, done = hawk.crash([program, str(seed), *chosen], environment, folder)
            if core:
                extra = others(blocks_of(core), read_truth(done.stdout), False, f"{seed} {chosen}")
                hawk.expect(not seed or extra == known, f"{seed} {chosen}: invented: {extra - known}")
                expect_complete(core, f"{seed} {chosen}")
                known = extra
                os.unlink(core)


def answers(core):
    """What does not depend on how a heap is looked at."""
    analysis, lost = hawk.analyze(core, "--no-suspects"), hawk.document("leaks", core, codes=(0, 1, 4))
    del analysis["heap"]["fragmentation"]  # of a core without suspects, it does not know sites
    return {"blocks": blocks_of(core), "heap": analysis["heap"], "sites": analysis["sites"],
            "missing": [item["key"] for item in analysis["missing"] if item["key"].startswith("heap")],
            "leaks": {key: value for key, value in lost.items()
                      if key not in ("source", "next")}}


def check_views():
    """One heap: alive, in gcore's core, in its snapshot, redacted; and cut off, where blocks may look live that a
    missing thread's cache holds."""
    commands = [(name, compile_truth("native_truth"), hawk.find_allocator(name), within)
                for name, (_, within) in ALLOCATORS.items() if name == "glibc" or hawk.find_allocator(name)]
    if shutil.which("musl-gcc"):
        commands.append(("musl", compile_truth("native_musl", "-static", compiler="musl-gcc"), None, False))
    for name, program, library, aligned_within in commands:
        checked = Program([program], hawk.plain_environment(library), aligned_within)
        arguments = [str(random.SystemRandom().randrange(1, 1 << 30)), "2000", "5", "3", "alrxp"]
        what = " ".join([name, *arguments])
        print(what, flush=True)
        process = hawk.spawn([program, *arguments], env=checked.environment, stdout=subprocess.PIPE, text=True)
        truth = read_truth(process.stdout.read())
        checked.expect_blocks(blocks_of(f"--pid={process.pid}"), truth, 8, f"{what}: --pid")
        core = hawk.gcore(process.pid, folder)
        process.kill()
        checked.expect_blocks(blocks_of(core), truth, 8, f"{what}: gcore")
        wanted = answers(core)
        hawk.expect_equal(wanted["missing"], [], f"{what}: missing")
        for verb in "snapshot", "redact":
            made = os.path.join(folder, verb)
            hawk.text_of(verb, "--force", "-o", made, core)
            for key, value in answers(made).items():
                hawk.expect(value == wanted[key], f"{what}: {verb}: {key} differ")
            if verb == "snapshot":
                hawk.expect(hawk.text_of("heap", "--full", made) == hawk.text_of("heap", "--full", core), f"{what}: heap")
        path = hawk.cut(core, os.path.getsize(core) * 3 // 5)
        blocks = blocks_of(path)
        print(f"cut off: {len(blocks)} of {len(truth)}", flush=True)
        hawk.expect(all(blocks[start] == truth[start] for start in blocks if start in truth), f"{what}: cut: sizes")
        hawk.text_of("analyze", path, codes=(hawk.EXIT_PARTIAL,))
        os.unlink(path)
        os.unlink(core)


folder = hawk.temporary_folder()
checks = {"mixed": check_mixed, "musl": check_musl, "builds": check_builds, "kills": check_kills, "views": check_views}
if sys.argv[1] in checks:
    checks[sys.argv[1]]()
else:
    check_release(sys.argv[1])
hawk.finish()
