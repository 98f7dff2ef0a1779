# SPDX-License-Identifier: Apache-2.0
"""The commands for gdb answer as hawk-core does for the same address: of a core, and of a stopped process, whose core
file does not stay behind."""

import os
import re

from support import hawk

SCRIPT = os.path.join(hawk.SOURCE, "analyzer", "gdb.py")
SERVER = "*(void **)&server"  # what the unique_ptr holds


def ask(folder, opened, first, *commands):
    """Returns what gdb prints for each command, in the frame of main, after `first`."""
    lines = [f"source {SCRIPT}", "set width 80", first, "frame function main"]
    for number, command in enumerate(commands):
        lines += [f"echo \\n=== {number}\\n", command]
    arguments = [argument for line in lines for argument in ("-ex", line)]
    done = hawk.run([hawk.need("gdb"), "-q", "-batch", "-nx", "-iex", "set startup-with-shell off",
                     "-iex", "set debuginfod enabled off", *arguments, *opened],
                    env=dict(os.environ, HAWK_CORE=hawk.CORE, TMPDIR=folder))
    parts = re.split(r"^=== \d+\n", done.stdout, flags=re.M)[1:]
    hawk.expect_equal(len(parts), len(commands), f"{done.stdout} {done.stderr}")
    return [part.strip() for part in parts]


def check_core(program, folder):
    core, _ = hawk.crash([program, "300"], hawk.tracer_environment(), folder)
    if not core:
        return
    pointer, whatis, path, refs, leaks = ask(
        folder, [program, core], "info threads", f"print {SERVER}", f"hawk whatis {SERVER}", f"hawk path --depth=2 {SERVER}",
        f"hawk refs *(Server *){SERVER}", "hawk leaks --top=1")
    address = re.search(r"0x[0-9a-f]+", pointer).group()
    for verb, answer, operands in (("whatis", whatis, [core, address]), ("path", path, ["--depth=2", core, address]),
                                   ("refs", refs, [core, address]), ("leaks", leaks, ["--top=1", core])):
        wanted = hawk.text_of(verb, *operands, codes=(0, 1)).partition("\nNext: ")[0]
        hawk.expect_equal(answer, wanted.strip(), f"hawk {verb}")
    hawk.expect("[Session]" in leaks or "Session +" in leaks, leaks)


def check_process(program, folder):
    whatis, leaks = ask(folder, ["--args", program, "300"], "run", f"hawk whatis {SERVER}", "hawk leaks")
    hawk.expect("live block 0x" in whatis, f"of a process: {whatis}")
    hawk.expect("43 cycles like this" in leaks, f"of a process: {leaks}")
    hawk.expect_equal([name for name in os.listdir(folder) if name.startswith("hawk-core.")], [], "left behind")


def check_errors(program, folder):
    for command, words in ((f"hawk whatis {SERVER}", "no core file is open"), ("hawk refs", "needs an expression"),
                           ("hawk leaks x", "takes options only")):
        done = hawk.run([hawk.need("gdb"), "-q", "-batch", "-nx", "-ex", f"source {SCRIPT}", "-ex", command, program],
                        env=dict(os.environ, HAWK_CORE=hawk.CORE))
        hawk.expect(words in done.stderr or "No symbol" in done.stderr, f"{command}: {done.stderr}")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "server"), ["session_server.cpp"], "g++", ["-O0", "-std=c++17"])
check_core(program, folder)
check_process(program, folder)
check_errors(program, folder)
hawk.finish()
