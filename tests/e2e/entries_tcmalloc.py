# SPDX-License-Identifier: Apache-2.0
"""The entry points of tcmalloc itself, in any mix with the standard ones."""

from support import entries, hawk

entries.run_all("tcmalloc")
hawk.finish()
