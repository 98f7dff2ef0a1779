# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=400
# ctest: long
"""Every sample behaves the same with the tracer as without, on every allocator underneath, with
stacks, without them, and with libunwind in the tracer's place."""

import os

from support import hawk

PROGRAMS = [
    ["aligned"], ["custom_new"], ["dead"], ["dlopen", hawk.SAMPLES], ["exit_late"], ["fork"],
    ["frames"], ["inline"], ["leak"], ["list"], ["new_throw"], ["pool"], ["realloc"], ["signal_alloc"],
    ["scopes"], ["stacks"], ["templates"], ["thread_exit"], ["threads"],
    ["orderd", "--requests", "3000", "--workers", "8"],
]


def outcome(arguments, environment):
    done = hawk.run([os.path.join(hawk.SAMPLES, arguments[0]), *arguments[1:]], env=environment,
                    cwd=folder, timeout=60)
    return done.returncode, done.stdout, done.stderr


# Where allocators differ from glibc, and may be hidden by the tracer: failing requests, alignment.
DIFFERENT_ELSEWHERE = {"aligned", "realloc", "new_throw", "dead"}


def compare(arguments, allocator, options, what):
    plain = outcome(arguments, hawk.plain_environment(allocator))
    traced = outcome(arguments, hawk.tracer_environment(allocator, options))
    name = arguments[0]
    if allocator is None:
        hawk.expect_equal(plain[0], 0, f"{name} alone")
    if allocator is None or name not in DIFFERENT_ELSEWHERE:
        hawk.expect_equal(traced, plain, f"{name} on {what}")
    else:
        hawk.expect(traced[0] in (0, plain[0]), f"{name} on {what}: {traced}, alone {plain}")


folder = hawk.temporary_folder()
for name in hawk.ALLOCATORS:
    library = hawk.need_allocator(name)
    for program in PROGRAMS:
        compare(program, library, None, name)
for settings in ("stacks=0", "depth=3", "unwind=fp", "unwind=libunwind"):
    for program in PROGRAMS:
        compare(program, None, settings, settings)
hawk.finish()
