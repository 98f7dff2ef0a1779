# SPDX-License-Identifier: Apache-2.0
"""CPython: the blocks of its own allocator."""

import sys
import sysconfig

from support import hawk

PROGRAM = """
import os, sys
kept = [str(i) * 3 for i in range(5000)]
freed = [str(i) * 4 for i in range(5000)]
del freed[::2]
os.write(1, b"%d" % sys.getallocatedblocks())
os.abort()
"""

if not (3, 9) <= sys.version_info < (3, 14):
    hawk.skip(f"the layout of Python {sys.version_info[0]}.{sys.version_info[1]} is not known")
if sysconfig.get_config_var("Py_DEBUG") or sysconfig.get_config_var("Py_GIL_DISABLED"):
    hawk.skip("the layout of this build of Python is not known")
folder = hawk.temporary_folder()
hawk.write(f"{folder}/made.py", PROGRAM)
core, done = hawk.crash([sys.executable, "made.py"], hawk.plain_environment(extra={"PYTHONMALLOC": "pymalloc"}), folder)
document = hawk.document("heap", core)
pymalloc, = (row for row in document["allocators"] if row["name"] == "pymalloc")
hawk.expect_equal(pymalloc["checksum"], "agrees", "counts of pools")
# Python counts the blocks of malloc() that are its own as well.
counted = int(done.stdout)
live = pymalloc["outside_arenas"]["live"]["objects"]
hawk.expect(counted * 0.9 < live <= counted, f"{live} blocks in pools, {counted} by Python's count")
hawk.expect("Leaks: none" in hawk.text_of("leaks", core), "blocks are called lost")
hawk.finish()
