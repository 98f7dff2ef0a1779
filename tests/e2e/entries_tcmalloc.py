# SPDX-License-Identifier: Apache-2.0
"""The entry points of tcmalloc itself, in any mix with the standard ones."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import entries  # noqa: E402
import hawk  # noqa: E402

entries.run_all("tcmalloc")
hawk.finish()
