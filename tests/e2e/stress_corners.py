# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: long
"""Programs at the corners of the malloc family and at their limits see what they see untraced."""

import os
import resource

from support import hawk

CORNERS = ("sizes", "alignments", "resizes", "address_space", "many_threads",
           "processes", "namespaces", "stack_overflow", "cancellation", "coroutines", "stack_without_end",
           "symbol_tables")


def compare(arguments, what, allocator=None, preload=None, limit=None, options=None):
    """The same exit code and output with the tracer and without it."""
    def restrict():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    plain = hawk.run(arguments, env=hawk.plain_environment(allocator), timeout=100,
                     preexec_fn=restrict)
    environment = hawk.tracer_environment(allocator, options)
    if preload:
        environment["LD_PRELOAD"] = preload
    traced = hawk.run(arguments, env=environment, timeout=100, preexec_fn=restrict)
    hawk.expect_equal(plain.returncode, 0, f"{what}: exit code without the tracer")
    hawk.expect_equal(traced.returncode, 0, f"{what}: exit code; {traced.stderr[-300:]}")
    hawk.expect_equal(traced.stdout, plain.stdout, f"{what}: output")


folder = hawk.temporary_folder()
corners = hawk.compile_program(os.path.join(folder, "corners"), ["stress_corners.c"],
                               flags=["-O1"])
operators = hawk.compile_program(os.path.join(folder, "operators"), ["stress_operators.cpp"],
                                 "g++", flags=["-O1", "-std=c++17"])
own = hawk.compile_program(os.path.join(folder, "own"), ["stress_own_malloc.cpp"], "g++",
                           flags=["-O1", "-std=c++17"])
exceptions = hawk.compile_program(os.path.join(folder, "exceptions"), ["stress_exceptions.cpp"],
                                  "g++", flags=["-O2", "-std=c++17"])
# marked for shadow stacks and indirect branch tracking, where the processor has them
guarded = hawk.compile_program(os.path.join(folder, "guarded"), ["stress_corners.c"],
                               flags=["-O1", "-fcf-protection=full", "-Wl,-z,ibt,-z,shstk"])
static = hawk.compile_program(os.path.join(folder, "static"), ["stress_corners.c"],
                              flags=["-O1", "-static-pie", "-fPIE", "-w"])
libraries = {}
for name, file in hawk.ALLOCATORS.items():
    path = file and os.path.join("/usr/lib/x86_64-linux-gnu", file)
    if not path or os.path.exists(path):
        libraries[name] = path
for name, path in libraries.items():
    for corner in CORNERS:
        compare([corners, corner], f"{corner} on {name}", path)
    if path:
        compare([corners, "resizes"], f"{name} before the tracer", path,
                preload=f"{path}:{hawk.TRACER}")
# other allocators have operators of their own, which end the program if a new handler throws
compare([corners, "no_room_for_stacks"], "no_room_for_stacks")  # jemalloc does not survive it
compare([operators], "operators")
compare([exceptions], "exceptions in flight")
compare([exceptions], "exceptions in flight, by frame pointers", options="unwind=fp")
for corner in ("coroutines", "stack_overflow", "processes", "many_threads"):
    compare([guarded, corner], f"{corner}, protected control flow")
compare([static, "processes"], "a static program, which cannot be traced")
compare([own], "a program's own malloc")
for megabytes in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20):
    # at some of these the tracer gets its table but not all of it, or nothing
    compare(["/bin/true"], f"{megabytes} MiB of address space", limit=megabytes << 20)
hawk.finish()
