# SPDX-License-Identifier: Apache-2.0
# ctest: long
"""Blocks that are freed, resized and measured by functions which no preloaded library can stand before: those that a
library loaded with RTLD_DEEPBIND calls, those that dlsym() finds on a handle, those of another namespace. On each
allocator, and with wrappers before and behind the tracer."""

import os
import sys

from support import hawk

KEPT = 50  # of the program
CTYPES = """
import ctypes
libc = ctypes.CDLL("libc.so.6")
libc.strdup.restype = libc.realloc.restype = ctypes.c_void_p
libc.free.argtypes = libc.malloc_usable_size.argtypes = [ctypes.c_void_p]
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
for i in range(300):
    text = libc.realloc(libc.strdup(b"x" * i), 2 * i + 1)
    assert libc.malloc_usable_size(text) > 2 * i and ctypes.string_at(text) == b"x" * i
    libc.free(text)
print("done")
"""


def compile_all(folder, libraries):
    """The program, and its plug-ins: alone, with the C++ library, with each allocator's."""
    program = hawk.compile_program(os.path.join(folder, "past_preload"), ["past_preload.c"], flags=["-fno-builtin"])
    plugins = {}
    for name, library in {"plain": None, "c++": "-lstdc++", **libraries}.items():
        plugins[name] = hawk.compile_program(
            os.path.join(folder, f"plugin_{name}.so"), ["past_preload_plugin.c"],
            flags=["-shared", "-fPIC", "-fno-builtin", "-Wl,--no-as-needed", *([library] if library else [])])
    return program, plugins


def expect_done(command, environment, what):
    done = hawk.run(command, env=environment)
    hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, "done\n", ""), what)


def check_core(command, folder, what):
    core, done = hawk.crash([*command, "abort"], hawk.tracer_environment(), folder)
    if not core:
        return
    live = {int(line.split()[1], 16): int(line.split()[2])
            for line in done.stdout.splitlines() if line.startswith("live ")}
    found = {int(block["address"], 16): block["size"] for block in hawk.blocks(core)}
    hawk.expect_equal(len(live), KEPT, f"{what}: blocks that the program names")
    for address, size in live.items():
        hawk.expect_equal(found.get(address), size, f"{what}: block {address:#x}")
    hawk.check_counters(hawk.analyze(core), what)
    os.unlink(core)


def check_glibc(program, plugins, folder):
    """These work without the tracer, too, but for namespaces: there glibc corrupts one of its heaps."""
    for arguments in (["deepbind", plugins["plain"]], ["deepbind", plugins["c++"]], ["handle", "libc.so.6"],
                      ["deepbind", plugins["plain"], plugins["c++"]]):
        expect_done([program, *arguments], hawk.plain_environment(), f"{arguments} alone")
        expect_done([program, *arguments], hawk.tracer_environment(), f"{arguments}")
    expect_done([program, "namespace", plugins["plain"]], hawk.tracer_environment(), "namespaces")
    for arguments in (["deepbind", plugins["c++"]], ["handle", "libc.so.6"]):
        check_core([program, *arguments], folder, arguments[0])


def check_allocator(program, plugins, name, library):
    """A library that is bound to the C library kills the program without the tracer."""
    for what, arguments in {"its own": ["deepbind", plugins[name]], "its handle": ["handle", library]}.items():
        expect_done([program, *arguments], hawk.plain_environment(library), f"{name}, {what}, alone")
        expect_done([program, *arguments], hawk.tracer_environment(library), f"{name}, {what}")
    for arguments in (["handle", "libc.so.6", library], ["namespace", plugins["plain"]],
                      ["takes", plugins["plain"], plugins["c++"]]):
        expect_done([program, *arguments], hawk.tracer_environment(library), f"{name}, {arguments}")


def check_loaded_later(program, plugins, name, library):
    """An allocator that only a plug-in brings along; without the tracer it may not take the program's blocks."""
    for arguments in (["handle", library], ["takes", plugins[name]]):
        done = hawk.run([program, *arguments], env=hawk.tracer_environment())
        if "static TLS" not in done.stderr:  # Debian's jemalloc cannot be loaded late
            hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, "done\n", ""),
                              f"{name}, loaded later, {arguments}")


def check_code_pages(program, folder):
    """A plug-in with a free() of its own, whose symbols lie on pages with code: the loader has to relocate it after it
    got hooks. Loaded again and again it takes no more memory."""
    plugin = hawk.compile_program(
        os.path.join(folder, "code_pages.so"), ["past_preload_plugin.c"],
        flags=["-shared", "-fPIC", "-fno-builtin", "-DOWN_FREE", "-Wl,-z,noseparate-code,-z,relro,-z,now"])
    expect_done([program, "deepbind", plugin], hawk.plain_environment(), "symbols on pages with code, alone")
    expect_done([program, "deepbind", plugin], hawk.tracer_environment(), "symbols on pages with code")
    used = [int(hawk.run([program, "again", plugin, times], env=hawk.tracer_environment(options="stats=1"))
                .stderr.split("table_bytes ")[1].split()[0]) for times in ("1", "200")]
    hawk.expect_equal(used[1], used[0], "table_bytes after 200 loads instead of one")


def check_wrappers(program, plugins, wrapper, library):
    """Aligned blocks have no header if the wrapper comes first: only their own allocator may take these."""
    behind = [library] if library else []
    takes, handles = ["takes", plugins["plain"], plugins["c++"]], ["handle", library or "libc.so.6"]
    for arguments in (takes, handles, ["handle", "libc.so.6", wrapper], ["namespace", plugins["plain"]]):
        expect_done([program, *arguments], hawk.plain_environment(":".join([hawk.TRACER, wrapper, *behind])),
                    f"before {wrapper} and {behind}: {arguments}")
    for arguments in (handles,) if library else (handles, takes, ["handle", wrapper]):
        expect_done([program, *arguments], hawk.plain_environment(":".join([wrapper, hawk.TRACER, *behind])),
                    f"behind {wrapper}, before {behind}: {arguments}")


def check_header_wrapper(program, plugins, wrapper, library):
    """One whose calloc() calls its malloc(), and which knows only its own blocks."""
    own, behind = ["handle", wrapper], [library] if library else []
    expect_done([program, *own], hawk.plain_environment(":".join([wrapper, *behind])), f"{wrapper}, {behind} alone")
    for arguments in (own, ["takes", plugins["plain"], plugins["c++"]], ["handle", "libc.so.6"]):
        expect_done([program, *arguments], hawk.plain_environment(":".join([hawk.TRACER, wrapper, *behind])),
                    f"before {wrapper} and {behind}: {arguments}")


def check_memusage(program, plugins):
    """glibc's own wrapper has a header, too; it writes statistics to stderr, and the program dies on it alone."""
    library = "/usr/lib/x86_64-linux-gnu/libmemusage.so"
    for arguments in (["takes", plugins["plain"], plugins["c++"]], ["handle", "libc.so.6", library]):
        if os.path.exists(library):
            done = hawk.run([program, *arguments], env=hawk.tracer_environment(library))
            hawk.expect_equal((done.returncode, done.stdout), (0, "done\n"), f"before libmemusage: {arguments}")


work = hawk.temporary_folder()
present = {name: hawk.find_allocator(name) for name in hawk.ALLOCATORS if hawk.find_allocator(name)}
main, loaded = compile_all(work, present)
check_glibc(main, loaded, work)
check_code_pages(main, work)
passing_on = hawk.compile_program(os.path.join(work, "wrapper.so"), ["entries_wrapper.c"],
                                  flags=["-O1", "-shared", "-fPIC", "-fno-builtin"])
headers = {flags: hawk.compile_program(os.path.join(work, f"header_wrapper{len(flags)}.so"), ["header_wrapper.c"],
                                       flags=["-O1", "-shared", "-fPIC", "-fno-builtin", *flags])
           for flags in (("-Wl,-z,lazy",), ("-Wl,-z,now", "-fno-plt"))}
check_wrappers(main, loaded, passing_on, None)
for keeper in headers.values():
    check_header_wrapper(main, loaded, keeper, None)
check_memusage(main, loaded)
for allocator, path in present.items():
    check_allocator(main, loaded, allocator, path)
    check_loaded_later(main, loaded, allocator, path)
    check_wrappers(main, loaded, passing_on, path)
    check_header_wrapper(main, loaded, headers["-Wl,-z,lazy",], path)
expect_done([sys.executable, "-c", CTYPES], hawk.plain_environment(), "ctypes alone")
expect_done([sys.executable, "-c", CTYPES], hawk.tracer_environment(), "ctypes")
hawk.finish()
