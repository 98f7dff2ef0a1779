# SPDX-License-Identifier: Apache-2.0
"""Programs that use up the thread-specific keys of the process: the tracer takes one, and does without if there is none."""

import os

from support import hawk

THREADS, BLOCK_BYTES = 300, 100

folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "keys"), ["thread_keys.c"])
hog = hawk.compile_program(os.path.join(folder, "hog.so"), ["thread_keys.c"], flags=["-shared", "-fPIC", "-DKEYS_HOG"])
alone = int(hawk.run([program], env=hawk.plain_environment()).stdout)
for what, allocator, left, slots in (("the tracer's", None, alone - 1, " (2 slots)"), ("none left", hog, 0, "")):
    environment = hawk.tracer_environment(allocator)  # constructors of later libraries run first
    done = hawk.run([program], env=environment)
    hawk.expect_equal((done.returncode, done.stdout, done.stderr), (0, f"{left}\n", ""), what)
    core, _ = hawk.crash([program, "abort"], environment, folder)
    if core:
        blocks = [block for block in hawk.blocks(core) if block["size"] == BLOCK_BYTES]
        hawk.expect_equal(len(blocks), THREADS, f"{what}: blocks")
        hawk.check_counters(hawk.analyze(core), what)
        text = hawk.text_of("analyze", core)
        hawk.expect(f" by {THREADS + 1} threads{slots}\n" in text, f"{what}: threads: {text[:900]}")
        os.unlink(core)
hawk.finish()
