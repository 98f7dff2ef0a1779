# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Ground truth, block for block, with mimalloc underneath."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import truth  # noqa: E402

truth.run_matrix("mimalloc")
