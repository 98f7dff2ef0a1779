# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=900
# ctest: long
"""The tracer interrupted at every instruction: what a core or a signal handler would meet there."""

import os

from support import hawk

HAS_TIME = float(os.environ.get("HAWK_STRESS_SECONDS") or 0) >= 300
# Jumps and forks: one in so many instructions. With a file to copy, a fork takes longer.
STRIDE = "1" if HAS_TIME else "211"
FORK_EVERY = ("7", "101") if HAS_TIME else ("997", "4999")


def with_time(*modes):
    return modes if HAS_TIME else ()


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "stress_step"), ["stress_step.c"],
                               flags=["-O1", "-I" + os.path.join(hawk.SOURCE, "formats")])
allocator = hawk.compile_program(
    os.path.join(folder, "stress_allocator.so"), ["stress_allocator.c"],
    flags=["-O1", "-shared", "-fPIC", "-fno-builtin", "-Wl,-Bsymbolic-functions"])
in_file = f"table={os.path.join(folder, 'table-%p')}"
RUNS = (
    (None, ("check", "allocate", "jump", "fork", "clone")),
    ("collapse=4", ("check", *with_time("allocate"))),
    ("stacks=0", ("check", "allocate", "jump")),
    ("only=scopes", ("jump",)),
    ("sample=1G", ("jump",)),
    ("live=1", ("sums", *with_time("allocate"), "jump")),
    (in_file, (*with_time("sums"), "fork", "clone", "poor")),
)
for options, modes in RUNS:
    for mode in modes:
        done = hawk.run([program, mode, STRIDE, FORK_EVERY[options == in_file]], timeout=550,
                        env=hawk.tracer_environment(allocator, options))
        what = f"{mode} {options or ''}"
        if hawk.expect_equal(done.returncode, 0, f"{what}: {done.stderr}: exit code"):
            hawk.expect(done.stdout.endswith(" 0 dropped\n"), f"{what}: {done.stdout}")
        print(what, done.stdout.strip(), flush=True)
hawk.finish()
