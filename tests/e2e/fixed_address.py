# SPDX-License-Identifier: Apache-2.0
"""A program at a fixed address that takes the addresses of malloc and its sisters, whose PLT entries
then look like definitions of its own: each block is found, and no stack passes through the tracer."""

import os

from support import hawk

folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "fixed_address"), ["fixed_address.cpp"], "g++",
                               flags=["-std=c++17", "-fno-pie", "-no-pie", "-O1"])
core, done = hawk.crash([program], hawk.tracer_environment(), folder)
if core:
    truth = {int(line.split()[0], 16): int(line.split()[1]) for line in done.stdout.splitlines()}
    if done.stdout.startswith("0x"):  # gdb's own words are in between where it stands in
        found = {int(block["address"], 16): block["size"] for block in hawk.blocks(core)}
        for address, size in truth.items():
            hawk.expect_equal(found.get(address), size, f"block {address:#x}")
        hawk.expect_equal(len(truth), 11, "blocks of the program")
    analysis = hawk.analyze(core)
    hawk.check_counters(analysis, "fixed address")
    direct = [site for site in analysis["sites"] if hawk.functions_of(site)[0] == "main"]
    hawk.expect(len(direct) >= 11, f"{len(direct)} sites called from main")
    for site in analysis["sites"]:
        for frame in site["frames"]:
            hawk.expect("libhawk_tracer" not in (frame["module"] or ""),
                        f"{frame['function']} of the tracer in site {site['site']}")
hawk.finish()
