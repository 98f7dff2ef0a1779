# SPDX-License-Identifier: Apache-2.0
"""Stacks that end at the edge of readable memory, beside memory that comes and goes, or in garbage:
walked and verified without reading what is not there."""

import os

from support import hawk

folder = hawk.temporary_folder()
for flags in (["-O1"], ["-O2", "-fno-omit-frame-pointer"]):
    program = hawk.compile_program(os.path.join(folder, "stack_top"), ["stack_top.c"], flags=flags)
    for mode in ("nothing", "neighbour", "garbage", "vanishing", "stale"):
        for options in ("unwind=cfi", "unwind=fp", "sample=100", "live=1", "collapse=4", "depth=3",
                        "unwind=libunwind"):
            rounds = "1000" if options == "unwind=libunwind" else "5000"
            done = hawk.run([program, mode, rounds],
                            env=hawk.tracer_environment(options=options), timeout=100)
            hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, "ok\n", ""),
                              f"{mode}, {options}, {flags}")
hawk.finish()
