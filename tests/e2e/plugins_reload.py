# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: long
"""Libraries that come and go at the same addresses cost the same however often they do."""

import os

from support import hawk

LOADS = "10000"
# Twice as much on a quiet machine; fifteen times if every load looked through all earlier ones.
MOST = 6

folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "reload"), ["plugin_reload.c"], flags=["-O1"])
plugins = [hawk.compile_program(os.path.join(folder, f"plugin{i}.so"), ["plugin_small.c"],
                                flags=["-O1", "-shared", "-fPIC"]) for i in range(2)]


def milliseconds(environment):
    done = hawk.run([program, LOADS, *plugins], env=environment, timeout=280)
    hawk.expect_equal(done.returncode, 0, f"exit code; {done.stderr}")
    return int(done.stdout)


plain = milliseconds(hawk.plain_environment())
traced = milliseconds(hawk.tracer_environment())
print(f"{plain} ms, traced {traced} ms")
hawk.expect(traced < MOST * plain, f"{traced} ms of {plain}")
hawk.finish()
