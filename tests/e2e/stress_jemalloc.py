# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: processors=2
"""Threads, signals, forks and plug-ins on jemalloc, and cores of random moments."""

from support import stress

stress.run_all("jemalloc")
