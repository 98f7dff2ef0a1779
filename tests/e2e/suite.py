# SPDX-License-Identifier: Apache-2.0
# ctest: for=allocators interpreters python stress
# ctest: long
# ctest: timeout=900
"""Other people's tests, with and without the tracer: the same outcome.

Some come with Debian's packages, some with its source packages, which are fetched when a test runs,
by apt and into a temporary folder, and thrown away afterwards. HAWK_SUITES=1 runs the long
selections.
"""

import glob
import os
import re
import subprocess
import sys
import tarfile

import stress
from support import archive, hawk

LONG = os.environ.get("HAWK_SUITES") == "1"

# gperftools' configure would find these.
GPERFTOOLS_CONFIG = [f"-DHAVE_{name}=1" for name in (
    "STDINT_H INTTYPES_H UNISTD_H SYS_MMAN_H MMAP PTHREAD STRUCT_MALLINFO FEATURES_H FCNTL_H "
    "SYS_RESOURCE_H SYS_TYPES_H SYS_STAT_H").split()] + ["-DPERFTOOLS_DLL_DECL="]
GPERFTOOLS_TESTS = ["thread_dealloc_unittest", "markidle_unittest", "memalign_unittest",
                    "realloc_unittest", "malloc_extension_test", "current_allocated_bytes_test"]
GPERFTOOLS_LONG = ["tcmalloc_large_unittest"]  # asks for most of the address space
MIMALLOC_TESTS = ["main-override.c"]
MIMALLOC_LONG = ["main-override.cpp", "test-api.c"]
PERL = ["op/hash.t", "op/sort.t", "op/split.t", "op/push.t", "op/closure.t", "op/local.t",
        "re/subst.t", "re/qr_gc.t", "op/repeat.t", "op/fork.t"]
PERL_LONG = ["op/pack.t", "op/sprintf.t", "op/substr.t", "op/threads.t", "re/pat.t", "op/magic.t",
             "re/regexp.t", "op/utfhash.t", "op/taint.t", "op/tie.t", "op/tr.t", "op/each.t"]
TCL = ["string.test", "list.test", "dict.test", "encoding.test", "lsearch.test", "append.test",
       "interp.test", "split.test"]
TCL_LONG = ["regexp.test", "reg.test", "format.test", "scan.test", "binary.test", "oo.test",
            "namespace.test", "trace.test", "coroutine.test", "var.test", "zlib.test"]
PYTHON = "/usr/bin/python3.11"
MODULES = ["test_dict", "test_array", "test_deque", "test_json", "test_struct", "test_ctypes",
           "test_pyexpat", "test_fork1"]
MORE = ["test_list", "test_set", "test_tuple", "test_bytes", "test_re", "test_unicode", "test_long",
        "test_gc", "test_weakref", "test_itertools", "test_memoryview", "test_mmap", "test_pickle",
        "test_xml_etree_c", "test_thread", "test_threading"]
LUA = """
local all, seed = {}, 42
local function random(n) seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n end
for i = 1, 60000 do
  local key = "k" .. random(5000)
  if random(3) == 0 then all[key] = nil
  else all[key] = {string.rep("x", random(300)), i, function() return i end} end
end
collectgarbage()
local count, bytes = 0, 0
for _, entry in pairs(all) do count, bytes = count + 1, bytes + #entry[1] + entry[3]() % 7 end
local threads = {}
for i = 1, 500 do
  threads[i] = coroutine.wrap(function() for j = 1, 20 do coroutine.yield(i * j) end end)
end
local sum = 0
for j = 1, 20 do for i = 1, 500 do sum = sum + threads[i]() end end
print(count, bytes, sum)
"""
SQL = """
create table t(id integer primary key, text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i, hex(zeroblob(i % 50)) from n;
create index t_text on t(text);
delete from t where id % 3 = 0; update t set text = text || id; vacuum;
pragma integrity_check; select count(*), sum(length(text)), max(text) from t;
"""
STRESSORS = [["--malloc", "2", "--malloc-ops", "4000", "--malloc-bytes", "64M"],
             ["--malloc", "2", "--malloc-ops", "1000", "--malloc-pthreads", "4",
              "--malloc-bytes", "32M"],
             ["--heapsort", "1", "--heapsort-ops", "1"],
             ["--mmap", "1", "--mmap-ops", "5", "--mmap-bytes", "16M"],
             ["--bigheap", "1", "--bigheap-ops", "100", "--bigheap-growth", "256K"],
             ["--skiplist", "1", "--skiplist-ops", "1"], ["--tree", "1", "--tree-ops", "1"]]
TUNABLES = ["glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1",
            "glibc.malloc.perturb=165:glibc.malloc.mmap_threshold=4096:glibc.malloc.mxfast=0",
            "glibc.malloc.hugetlb=1"]
DEBUG_LIBRARY = "/lib/x86_64-linux-gnu/libc_malloc_debug.so.0"


def sources(folder, *packages):
    """Unpacks Debian's source packages, from where the machine has its binary ones; returns {package: folder}. Skips
    without the network."""
    try:
        archive.fetch(folder, "deb-src", ["--download-only", "source", *packages])
    except archive.Unavailable as reason:
        hawk.skip(str(reason))
    return {package: _unpack(folder, package) for package in packages}


def _unpack(folder, package):
    archives = glob.glob(os.path.join(folder, f"{package}_*.orig.tar.*"))
    if not archives:
        hawk.skip(f"no source of {package}")
    target = os.path.join(folder, package)
    with tarfile.open(min(archives, key=len)) as packed:
        packed.extractall(target)
    inside = os.listdir(target)
    return os.path.join(target, inside[0]) if len(inside) == 1 else target


def same(command, what, folder, library=None, extra=None, outcome=None, code=None, timeout=200):
    """Runs it without and with the tracer. `outcome` makes of the output what has to be equal. Tests of other people
    that go by the clock may differ on a machine that has much to do: they differ three times, or it was not us. A
    crash is one at once."""
    for again in range(3):
        results = []
        for environment in (hawk.plain_environment(library, extra), hawk.tracer_environment(library, extra=extra)):
            try:
                done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      errors="replace", timeout=timeout)
            except subprocess.TimeoutExpired:
                hawk.expect(False, f"{what}: not ready after {timeout} s")
                return
            text = outcome(done.stdout) if outcome else done.stdout
            results.append((done.returncode, text, done.stdout))
        alone, traced = results
        if alone[:2] == traced[:2] and code in (None, alone[0]):
            print(f"{what}: the same", flush=True)
            return
        print(f"{what}, {again + 1}: exit code {traced[0]}, alone {alone[0]}; {_difference(traced[1], alone[1])}")
        if traced[0] < 0:
            break
    if code is not None:
        hawk.expect(alone[0] == code, f"{what}, alone: exit code {alone[0]}, {alone[2][-400:]}")
    hawk.expect(traced[0] == alone[0],
                f"{what}: exit code {traced[0]}, alone {alone[0]}: {traced[2][-600:]}")
    hawk.expect(traced[1] == alone[1], f"{what}: {_difference(traced[1], alone[1])}")


def _difference(traced, alone):
    traced, alone = (text.splitlines() if isinstance(text, str) else list(text)
                     for text in (traced, alone))
    return (f"only traced {[line for line in traced if line not in alone][:5]}, "
            f"only alone {[line for line in alone if line not in traced][:5]}")


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
    for test in GPERFTOOLS_TESTS + (GPERFTOOLS_LONG if LONG else []):
        program = os.path.join(folder, test)
        if compile_foreign(program, os.path.join(source, "tests", f"{test}.cc"),
                           ["-std=gnu++17", "-fpermissive", "-I", source, *GPERFTOOLS_CONFIG,
                            os.path.join(source, "tests", "testutil.cc"), library]):
            same([program], f"gperftools: {test}", folder, code=0,
                        outcome=lambda text: re.findall(r"PASS|DONE|FAIL.*", text))


def mimalloc(source, folder, library):
    for test in MIMALLOC_TESTS + (MIMALLOC_LONG if LONG else []):
        program = os.path.join(folder, test + ".program")
        if compile_foreign(program, os.path.join(source, "test", test),
                           ["-I", os.path.join(source, "include"), "-I",
                            os.path.join(source, "src"), library]):
            same([program], f"mimalloc: {test}", folder, code=0,
                        outcome=lambda text: re.findall(r"test: .*|failed.*|succeeded.*", text))


def allocators(folder):
    """From their source packages, against Debian's libraries."""
    libraries = [hawk.need_allocator(name) for name in ("tcmalloc", "mimalloc")]
    found = sources(folder, "mimalloc", "google-perftools")
    gperftools(found["google-perftools"], folder, libraries[0])
    mimalloc(found["mimalloc"], folder, libraries[1])


def interpreters(folder):
    """The tests of perl and of Tcl, from their source packages, run by Debian's interpreters."""
    tclsh = hawk.need("tclsh8.6")
    found = sources(folder, "perl", "tcl8.6")
    for test in PERL + (PERL_LONG if LONG else []):
        same(["/usr/bin/perl", "-I../lib", test], f"perl: {test}", os.path.join(found["perl"], "t"), extra={"PERL_CORE": "1"},
             outcome=lambda text: re.findall(r"^(?:not )?ok \d+|^1\.\.\d+", text, re.M))
    for test in TCL + (TCL_LONG if LONG else []):
        same([tclsh, test], f"tcl: {test}", os.path.join(found["tcl8.6"], "tests"), code=0,
             outcome=lambda text: re.findall(r"^==== \S+ .*FAILED|^\S+\.test:\s+Total.*", text, re.M))


def verdicts(text):
    """Each test with its verdict, in any order."""
    return sorted(re.sub(r"\s+", " ", match.group(0)) for match in
                  re.finditer(r"^\w+ \([\w.]+\)[^\n]* \.\.\. (ok|FAIL|ERROR|skipped.*)$", text, re.M))


def python(folder):
    """Python's own tests, as Debian packages them, with every object a block of its own."""
    if not os.path.exists("/usr/lib/python3.11/test/test_list.py") or not os.path.exists(PYTHON):
        hawk.skip("libpython3.11-testsuite is not installed")
    same([PYTHON, "-m", "test", "-v", *MODULES, *(MORE if LONG else [])], "python's tests", folder,
         extra={"PYTHONMALLOC": "malloc", "TMPDIR": folder}, outcome=verdicts)


def stress_ng(folder):
    program = hawk.need("stress-ng")
    for stressor in STRESSORS:
        same([program, "--quiet", "--verify", "--temp-path", folder, *stressor],
                    f"stress-ng {stressor[0]}", folder, code=0)


def small_interpreters(folder):
    lua, sqlite = hawk.need("lua5.4", "sqlite3")
    same([lua, "-e", LUA], "lua", folder, code=0)
    same([sqlite, ":memory:", SQL], "sqlite3", folder, code=0)


def tunables(folder):
    program = stress.build(folder)
    settings = [({"GLIBC_TUNABLES": setting}, None, 1) for setting in TUNABLES]
    if os.path.exists(DEBUG_LIBRARY):  # it holds no lock across fork()
        settings.append(({"GLIBC_TUNABLES": "glibc.malloc.check=3"}, DEBUG_LIBRARY, 0))
        settings.append(({"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "90"}, DEBUG_LIBRARY, 0))
    for environment, library, forks in settings:
        same([program, os.path.join(folder, "shadow"), "2", "1", "7", str(forks), folder,
                     "end"], str(environment), folder, library, environment, code=0)


def stressors(folder):
    """stress-ng's memory stressors, scripts of small interpreters, and the C library's tunables."""
    stress_ng(folder)
    small_interpreters(folder)
    tunables(folder)


{"allocators": allocators, "interpreters": interpreters, "python": python, "stress": stressors}[sys.argv[1]](
    hawk.temporary_folder())
hawk.finish()
