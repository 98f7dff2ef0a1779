# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Ground truth, block for block, with tcmalloc underneath."""

from support import truth

truth.run_matrix("tcmalloc")
