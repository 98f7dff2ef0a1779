# SPDX-License-Identifier: Apache-2.0
"""The entry points of jemalloc itself, in any mix with the standard ones."""

import os

from support import entries, hawk

entries.run_all("jemalloc")
ARCHIVE = "/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a"
if os.path.exists(ARCHIVE):
    entries.check_static("jemalloc", ARCHIVE)
hawk.finish()
