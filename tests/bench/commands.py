# SPDX-License-Identifier: Apache-2.0
"""What the measurements of whole commands have in common."""

import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from support import hawk  # noqa: E402


def make_core(name, *arguments):
    """The core of a program of the tests' that aborts."""
    folder = hawk.temporary_folder()
    program = os.path.join(folder, name)
    if os.path.exists(os.path.join(hawk.PROGRAMS, f"{name}.cpp")):
        hawk.compile_mixed(program, [], [f"{name}.cpp"], flags=("-O2", "-g"))
    else:
        hawk.compile_program(program, [f"{name}.c"], flags=("-O2", "-g"))
    core, _ = hawk.crash([program, *arguments], hawk.tracer_environment(), folder)
    return core


def read(core):
    """Seconds for a plain read of the file."""
    start = time.monotonic()
    with open(core, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
    return time.monotonic() - start


def line(name, values, behind=""):
    """The median, and in brackets the middle half."""
    low, middle, high = (statistics.quantiles(values, n=4) if len(values) > 1 else values * 3)
    print(f"{name:42} {middle:7.3f} s  ({low:.3f} to {high:.3f}){behind}")
