# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: processors=2
"""Threads, signals, forks and plug-ins on mimalloc, and cores of random moments."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import stress  # noqa: E402

stress.run_all("mimalloc")
