# SPDX-License-Identifier: Apache-2.0
"""A block whose header was overwritten cannot be found; the answer must not be silent about it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import hawk  # noqa: E402

hawk.need_build()
folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "overrun"), ["overrun.c"], flags=["-O0"])
core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
analysis = core and hawk.analyze(core)
if analysis:
    hawk.expect_equal(analysis["heap"]["inuse_objects"], 1, "blocks found")
    hawk.expect("block-unaccounted" in [finding["key"] for finding in analysis["damage"]],
                f"damage: {analysis['damage']}")
hawk.finish()
