# SPDX-License-Identifier: Apache-2.0
# ctest: for=jemalloc tcmalloc mimalloc
# ctest: long
"""Entry points beyond the standard ones, of one allocator: any mix of them works as without the
tracer, and what is alive in the end is found, with size and caller.

The program takes every function as a weak symbol. It runs with the allocator preloaded and linked,
bound at once and lazily, looked up by dlsym(), and as a plug-in that is loaded late.
"""

import os
import sys

from support import hawk

# Functions of the allocator's own that the program finds, at least; Debian 12's libraries have all.
FUNCTIONS = {"jemalloc": 16, "tcmalloc": 31, "mimalloc": 70}
STEPS = 6000
THREADS = 4
JEMALLOC_ARCHIVE = "/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a"
EXTRA_BLOCKS_MAX = 60  # the loader's, the C library's, and what the program makes for its checks


def _sources():
    return ["entries.c", "entries_jemalloc.c", "entries_tcmalloc.c", "entries_mimalloc.c"]


def _compile(folder, name, flags, *libraries):
    return hawk.compile_program(os.path.join(folder, name), [*_sources(), *libraries],
                                flags=["-O1", "-Wl,-z,dynamic-undefined-weak", *flags])


def _programs(folder, library):
    """(what, command, whether the allocator has to be preloaded)"""
    plugin = _compile(folder, "entries.so", ["-shared", "-fPIC", "-Dmain=entries_main"])
    host = hawk.compile_program(os.path.join(folder, "entries_host"), ["entries_host.c"],
                                flags=["-O1"])
    return [
        ("preloaded, bound at once", [_compile(folder, "now", ["-Wl,-z,now"])], True),
        ("preloaded, dlsym", [_compile(folder, "dlsym", ["-DENTRIES_DLSYM"])], True),
        ("plug-in", [host, plugin], True),
        ("linked at a fixed address, bound lazily",
         [_compile(folder, "lazy", ["-Wl,-z,lazy", "-fno-pie", "-no-pie"], library)], False),
        ("linked, bound at once", [_compile(folder, "linked", ["-Wl,-z,now"], library)], False),
    ]


def _same_as_alone(command, library, allocator, what, options=None):
    for seed in (1, 2):
        arguments = [*command, allocator, str(STEPS), str(THREADS), str(seed), "end"]
        alone = hawk.run(arguments, env=hawk.plain_environment(library))
        traced = hawk.run(arguments, env=hawk.tracer_environment(library, options))
        hawk.expect_equal((alone.returncode, alone.stdout, alone.stderr), (0, "done\n", ""),
                          f"{what}, alone")
        hawk.expect_equal((traced.returncode, traced.stdout, traced.stderr), (0, "done\n", ""),
                          f"{what}, traced")


def _check_blocks(command, library, allocator, folder, what):
    arguments = [*command, allocator, str(STEPS), str(THREADS), "3", "abort"]
    core, done = hawk.crash(arguments, hawk.tracer_environment(library), folder)
    if not core:
        return
    truth = {}
    for line in done.stdout.splitlines():
        if line.startswith("live "):
            _, address, size, function = line.split()
            truth[int(address, 16)] = (int(size), function)
    hawk.expect(len(truth) > 100, f"{what}: only {len(truth)} blocks")
    analysis = hawk.analyze(core)
    if analysis is None:
        return
    sites = {name: hawk.functions_of(site) for name, site in hawk.sites_by_id(analysis).items()}
    found = {int(block["address"], 16): (block["size"], (sites.get(block["site"]) or [""])[0])
             for block in hawk.blocks(core)}
    for address, wanted in truth.items():
        hawk.expect_equal(found.get(address), wanted, f"{what}: block {address:#x}")
    others = [block for address, block in found.items() if address not in truth]
    hawk.expect(not any(name == "make_doomed" for _, name in others),
                f"{what}: blocks of a heap that was destroyed")
    hawk.expect(len(others) <= EXTRA_BLOCKS_MAX, f"{what}: {len(others)} other blocks {others[:9]}")
    hawk.check_counters(dict(analysis, heap=dict(analysis["heap"], dropped=0)), what)
    print(f"{what}: {len(truth)} blocks, {len(others)} others", flush=True)
    os.unlink(core)


def _check_presence(command, library, allocator, what):
    """A program sees of an allocator exactly what it sees without the tracer."""
    alone, traced = (int(hawk.run([*command, allocator, "1", "1", "1", "count"], env=env).stdout)
                     for env in (hawk.plain_environment(library), hawk.tracer_environment(library)))
    hawk.expect_equal(traced, alone, f"{allocator}, {what}: functions found")
    return traced


def _check_odd_ways(program, library, allocator, folder):
    """Even if only some functions are ours, each block is freed by the right allocator."""
    _same_as_alone([program], library, allocator, f"{allocator}, another name", "progname=nothing")
    _same_as_alone([program], library, allocator, f"{allocator}, no stacks", "stacks=0")
    wrapper = hawk.compile_program(os.path.join(folder, "wrapper.so"), ["entries_wrapper.c"],
                                   flags=["-O1", "-shared", "-fPIC", "-fno-builtin"])
    arguments = [program, allocator, str(STEPS), str(THREADS), "1", "end"]
    for order in ((hawk.TRACER, wrapper, library), (wrapper, hawk.TRACER, library)):
        done = hawk.run(arguments, env=hawk.plain_environment(":".join(order)))
        hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, "done\n", ""),
                          f"{allocator}, preloaded {order}")


def check_static(allocator, archive):
    """A program that has the allocator inside of itself, hidden or visible to others."""
    for flags in ([], ["-rdynamic"]):
        folder = hawk.temporary_folder()
        objects = []
        for source in _sources():
            objects.append(hawk.compile_program(os.path.join(folder, source + ".o"), [source],
                                                flags=["-O1", "-c", "-Wno-unused"]))
        program = hawk.compile_program(os.path.join(folder, "static"), [*objects, archive],
                                       compiler="g++", flags=flags)
        _same_as_alone([program], None, allocator, f"{allocator}, linked statically {flags}")


def main(allocator):
    library = hawk.need_allocator(allocator)
    folder = hawk.temporary_folder()
    program = _compile(folder, "alone", [])
    for other in FUNCTIONS:
        hawk.expect(_check_presence([program], None, other, "not there") < 10, f"{other} found")
    for what, command, preload in _programs(folder, library):
        preloaded = library if preload else None
        found = _check_presence(command, preloaded, allocator, what)
        hawk.expect(found >= FUNCTIONS[allocator], f"{allocator}, {what}: {found} functions")
        _same_as_alone(command, preloaded, allocator, f"{allocator}, {what}")
        _check_blocks(command, preloaded, allocator, folder, f"{allocator}, {what}")
    _check_odd_ways(program, library, allocator, folder)
    if allocator == "jemalloc" and os.path.exists(JEMALLOC_ARCHIVE):
        check_static(allocator, JEMALLOC_ARCHIVE)
    hawk.finish()


main(sys.argv[1])
