# SPDX-License-Identifier: Apache-2.0
"""mpv allocates behind a header of its own, to which nothing leads but other headers: the program's pointers all lead 80 bytes
into its blocks, those to the one block of a site as well."""

import os
import subprocess

from support import hawk, leaks

folder = hawk.temporary_folder()
environment = hawk.tracer_environment(extra={"HOME": folder})
process = hawk.spawn([hawk.need("mpv"), "--no-config", "--vo=null", "--ao=null", "--idle=yes", "--no-terminal",
                      "--input-ipc-server=" + os.path.join(folder, "socket")],
                     env=environment, cwd=folder, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
hawk.wait_for(lambda: os.path.exists(os.path.join(folder, "socket")), 60, "mpv listens")
core = hawk.gcore(process.pid, folder)
process.kill()
process.wait()
plain = leaks.ask(core, "--heuristics=valgrind")
found = leaks.ask(core)
blocks = sum(found[kind]["objects"] for kind in leaks.KINDS)
hawk.expect(plain["possibly_lost"]["objects"] > blocks / 10, f"by Valgrind's heuristics: {plain['possibly_lost']} of {blocks}")
hawk.expect(found["possibly_lost"]["objects"] < blocks / 100, f"possibly lost: {found['possibly_lost']} of {blocks}")
hawk.expect(found["heuristics"]["prefix"] > 1000, f"heuristics: {found['heuristics']}")
hawk.finish()
