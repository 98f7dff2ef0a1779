# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=900
"""Python's own tests, as Debian packages them, with every object a block of its own."""

import os
import re

from support import hawk, suites

PYTHON = "/usr/bin/python3.11"
MODULES = ["test_dict", "test_array", "test_deque", "test_json", "test_struct", "test_ctypes",
           "test_pyexpat", "test_fork1"]
MORE = ["test_list", "test_set", "test_tuple", "test_bytes", "test_re", "test_unicode", "test_long",
        "test_gc", "test_weakref", "test_itertools", "test_memoryview", "test_mmap", "test_pickle",
        "test_xml_etree_c", "test_thread", "test_threading"]


def verdicts(text):
    """Each test with its verdict, in any order."""
    return sorted(re.sub(r"\s+", " ", match.group(0)) for match in
                  re.finditer(r"^\w+ \([\w.]+\)[^\n]* \.\.\. (ok|FAIL|ERROR|skipped.*)$", text, re.M))


if not os.path.exists("/usr/lib/python3.11/test/test_list.py") or not os.path.exists(PYTHON):
    hawk.skip("libpython3.11-testsuite is not installed")
folder = hawk.temporary_folder()
suites.same([PYTHON, "-m", "test", "-v", *MODULES, *(MORE if suites.LONG else [])], "python's tests",
            folder, extra={"PYTHONMALLOC": "malloc", "TMPDIR": folder}, outcome=verdicts)
hawk.finish()
