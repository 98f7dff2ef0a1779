# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=900
"""The allocators' own tests, from Debian's source packages, against Debian's libraries."""

import os
import re

from support import hawk, suites

# gperftools' configure would find these.
GPERFTOOLS_CONFIG = [f"-DHAVE_{name}=1" for name in (
    "STDINT_H INTTYPES_H UNISTD_H SYS_MMAN_H MMAP PTHREAD STRUCT_MALLINFO FEATURES_H FCNTL_H "
    "SYS_RESOURCE_H SYS_TYPES_H SYS_STAT_H").split()] + ["-DPERFTOOLS_DLL_DECL="]
GPERFTOOLS_TESTS = ["thread_dealloc_unittest", "markidle_unittest", "memalign_unittest",
                    "realloc_unittest", "malloc_extension_test", "current_allocated_bytes_test"]
GPERFTOOLS_LONG = ["tcmalloc_large_unittest"]  # asks for most of the address space
MIMALLOC_TESTS = ["main-override.c"]
MIMALLOC_LONG = ["main-override.cpp", "test-api.c"]


def compile_foreign(output, source, flags):
    compiler = hawk.need("gcc" if source.endswith(".c") else "g++")
    done = hawk.run([compiler, "-w", "-O1", "-D_GNU_SOURCE", "-o", output, source, *flags,
                     "-pthread"])
    hawk.expect(done.returncode == 0, f"{os.path.basename(source)}: {done.stderr[:600]}")
    return done.returncode == 0


def gperftools(source, folder, library):
    source = os.path.join(source, "src")
    with open(os.path.join(source, "gperftools", "tcmalloc.h.in"), encoding="utf-8") as template, \
            open(os.path.join(source, "gperftools", "tcmalloc.h"), "w", encoding="utf-8") as header:
        header.write(re.sub(r"@[A-Za-z_]*@", "1", template.read()))
    open(os.path.join(source, "config.h"), "w", encoding="ascii").close()
    for test in GPERFTOOLS_TESTS + (GPERFTOOLS_LONG if suites.LONG else []):
        program = os.path.join(folder, test)
        if compile_foreign(program, os.path.join(source, "tests", f"{test}.cc"),
                           ["-std=gnu++17", "-fpermissive", "-I", source, *GPERFTOOLS_CONFIG,
                            os.path.join(source, "tests", "testutil.cc"), library]):
            suites.same([program], f"gperftools: {test}", folder, code=0,
                        outcome=lambda text: re.findall(r"PASS|DONE|FAIL.*", text))


def mimalloc(source, folder, library):
    for test in MIMALLOC_TESTS + (MIMALLOC_LONG if suites.LONG else []):
        program = os.path.join(folder, test + ".program")
        if compile_foreign(program, os.path.join(source, "test", test),
                           ["-I", os.path.join(source, "include"), "-I",
                            os.path.join(source, "src"), library]):
            suites.same([program], f"mimalloc: {test}", folder, code=0,
                        outcome=lambda text: re.findall(r"test: .*|failed.*|succeeded.*", text))


tcmalloc_library = hawk.need_allocator("tcmalloc")
mimalloc_library = hawk.need_allocator("mimalloc")
folder = hawk.temporary_folder()
found = suites.sources(folder, "mimalloc", "google-perftools")
gperftools(found["google-perftools"], folder, tcmalloc_library)
mimalloc(found["mimalloc"], folder, mimalloc_library)
hawk.finish()
