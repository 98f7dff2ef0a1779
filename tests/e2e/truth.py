# SPDX-License-Identifier: Apache-2.0
# ctest: for=glibc jemalloc tcmalloc mimalloc
# ctest: long=jemalloc tcmalloc mimalloc
# ctest: timeout=600
"""Ground truth: compares the analysis of a core with what the program itself wrote down.

Every live block of the program must be reported, with its address, size, kind and call path, and
nothing else may carry a call path of the program. Blocks made by the C library, the loader or the
C++ library on their own account are recognised by stacks without any of the program's links; there
may be a few.
"""

import itertools
import os
import re
import sys

from support import hawk

STEPS = 3000
EXTRA_BLOCKS_MAX = 32  # one per thread (its TLS vector) and a few more

_LINK = re.compile(r"^(?:void\* )?truth::Level([123])(?:Of)?<(\d)>::call\([^()]*\)$")


def _read_truth(path):
    truth_blocks, paths = {}, {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if words[0] == "block":
                address, size, kind = int(words[1], 16), int(words[2]), words[3]
                hawk.expect(address not in truth_blocks, f"{path}: {words[1]} twice")
                truth_blocks[address] = (size, kind, tuple(words[4:7]))
            else:
                paths[tuple(words[1:4])] = (int(words[4]), int(words[5]))
    return truth_blocks, paths


def _link_of(frame):
    return _LINK.match(frame.get("function") or "")


def _path_of(site):
    """The three digits of a site's call path, or None; the links must be adjacent and in order."""
    links = []
    for depth, frame in enumerate(site["frames"]):
        link = _link_of(frame)
        if link:
            links.append((depth, link.group(1), link.group(2)))
    if not links:
        return None
    if [link[1] for link in links] != ["3", "2", "1"]:
        hawk.expect(False, f"site {site['site']}: links {links}")
        return None
    return tuple(link[2] for link in reversed(links))


def _check_outer_frames(site, what):
    """Below the links: allocate, make_block, step, work, then main or the thread's start."""
    functions = hawk.functions_of(site)
    level1 = max(i for i, frame in enumerate(site["frames"]) if _link_of(frame))
    rest = [name for name in functions[level1 + 1:] if "call_nth" not in name]
    hawk.expect(rest[:4] == ["allocate", "make_block", "step", "work"],
                f"{what}: outer frames {rest[:6]}")
    if "main" in rest:
        hawk.expect(rest[4:6] == ["run_workload", "main"], f"{what}: {rest}")


def _check_lines(site, what):
    for frame in site["frames"]:
        if _link_of(frame):
            hawk.expect(os.path.basename(frame.get("file") or "").startswith("truth_cxx") and
                        frame.get("line", 0) > 0, f"{what}: no line in {frame}")


def compare(core, truth_path, what, allocator):
    analysis = hawk.analyze(core)
    if analysis is None:
        return
    sites = hawk.sites_by_id(analysis)
    paths = {name: _path_of(site) for name, site in sites.items()}
    truth_blocks, truth_paths = _read_truth(truth_path)
    found = {}
    extra = 0
    for block in hawk.blocks(core):
        address = int(block["address"], 16)
        hawk.expect(block["site"] in sites, f"{what}: block {block} of an unknown site")
        if paths.get(block["site"]) is None:
            extra += 1
            hawk.expect(address not in truth_blocks, f"{what}: path of {block} is not known")
        else:
            hawk.expect(address not in found, f"{what}: {block} twice")
            found[address] = (block["size"], block["kind"], paths[block["site"]])

    missed = truth_blocks.keys() - found.keys()
    false = found.keys() - truth_blocks.keys()
    wrong = [(hex(a), found[a], truth_blocks[a]) for a in found.keys() & truth_blocks.keys()
             if found[a] != truth_blocks[a]]
    hawk.expect(not missed, f"{what}: {len(missed)} missed, {sorted(map(hex, missed))[:3]}")
    hawk.expect(not false, f"{what}: {len(false)} false, {sorted(map(hex, false))[:3]}")
    hawk.expect(not wrong, f"{what}: {len(wrong)} wrong, {wrong[:3]}")
    hawk.expect(extra <= EXTRA_BLOCKS_MAX, f"{what}: {extra} blocks of others")
    _compare_counters(sites, paths, truth_paths, what)
    hawk.check_counters(analysis, what)
    for name, site in sites.items():
        if paths[name] is not None:
            _check_outer_frames(site, what)
            _check_lines(site, what)
    print(f"{what}: {len(found)} blocks of {len(truth_blocks)}, {extra} of others, "
          f"{len(sites)} sites", flush=True)


def _compare_counters(sites, paths, truth_paths, what):
    """Cumulative allocations by path, summed over the sites of the path."""
    sums = {}
    for name, site in sites.items():
        if paths[name] is not None:
            objects, size = sums.get(paths[name], (0, 0))
            sums[paths[name]] = (objects + site["alloc_objects"], size + site["alloc_bytes"])
    for path, counters in truth_paths.items():
        hawk.expect_equal(sums.get(path, (0, 0)), counters, f"{what}: counters of path {path}")


def _build(folder, compiler, flags, stripped):
    program = os.path.join(folder, f"truth-{compiler}-{flags[0]}-{stripped}")
    if not os.path.exists(program):
        hawk.compile_mixed(program, ["truth_workload.c"], ["truth_cxx.cpp"], compiler, flags)
        if stripped:
            hawk.strip_to_debug_file(program)
    return program


def main(allocator):
    """Compilers, thread counts, optimizations; stripped in turn."""
    library = hawk.need_allocator(allocator)
    folder = hawk.temporary_folder()
    variants = itertools.product(("gcc", "clang"), (["-O0"], ["-O2", "-fomit-frame-pointer"]), (1, 16))
    for seed, (compiler, flags, threads) in enumerate(variants, start=1):
        program = _build(folder, compiler, flags, seed % 3 == 1)
        what = f"{os.path.basename(program)} on {allocator}, {threads} threads"
        truth_path = os.path.join(folder, "truth.txt")
        core, _ = hawk.crash([program, truth_path, str(threads), str(STEPS), str(seed)],
                             hawk.tracer_environment(library), folder)
        if core:
            compare(core, truth_path, what, allocator)
            os.unlink(core)
    hawk.finish()


main(sys.argv[1])
