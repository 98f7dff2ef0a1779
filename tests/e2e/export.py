# SPDX-License-Identifier: Apache-2.0
# ctest: for=orderd python3 redis sampled pools table plain truncated hostile
"""Every format of export holds what `analyze` says, to the byte: the same stacks with the same sums. (export_readers.py
opens the files in the programs that they are for.)"""

import collections
import functools
import json
import os
import signal
import stat
import subprocess
import sys

from support import exports, hawk, json_schema, real

PYTHON = """
import os
kept = {str(i): [i] * (i % 50) for i in range(3000)}
os.abort()
"""
HOSTILE = r"""
#include <stdlib.h>
void *kept[300];
__attribute__((noinline)) void evil_one(int i) { kept[i] = malloc(100); }
__attribute__((noinline)) void evil_two(int i) { evil_one(i); kept[i + 1] = malloc(30); }
int main(void) { for (int i = 0; i < 298; i += 2) evil_two(i); abort(); }
"""
EVIL = 'x;y "z" \\ (a.c:1)\n n9: 7 \x1b[31m\xc3\xa4\udcff 12'  # the last is a byte that is no UTF-8


def sample(name, *arguments, options=None, signals=(signal.SIGSEGV, signal.SIGABRT)):
    return hawk.crash([os.path.join(hawk.SAMPLES, name), *arguments], hawk.tracer_environment(options=options), folder,
                      signals)[0]


def orderd(options=None):
    return sample("orderd", "--requests", "4000", "--crash", "segv", options=options)


def make_python3():
    return hawk.crash([hawk.need("python3"), "-I", "-S", "-c", PYTHON], hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}),
                      folder)[0]


def make_redis():
    with real.redis(folder, hawk.tracer_environment()) as (process, command):
        command("eval", "for i = 1, 5000 do redis.call('hset', 'h' .. i % 300, i, string.rep('v', i % 200)) end", "0")
        return hawk.gcore(process.pid, folder)


def make_sampled():
    program = hawk.compile_program(os.path.join(folder, "sampled"), ["sampled.c"], flags=["-O1"])
    return hawk.crash([program], hawk.tracer_environment(options="sample=64k"), folder)[0]


def make_pools():
    flags = ["-I" + os.path.join(hawk.SOURCE, "tracer")]
    program = hawk.compile_program(os.path.join(folder, "pools"), ["pools.c"], flags=flags)
    return hawk.crash([program, "abort"], hawk.tracer_environment(), folder)[0]


def make_table():
    path = os.path.join(folder, "orderd.hawk")
    orderd(f"table={path}")
    return path


def make_plain():
    """Without the tracer."""
    return hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "4000", "--crash", "segv"],
                      hawk.plain_environment(), folder, (signal.SIGSEGV, signal.SIGABRT))[0]


def make_truncated():
    whole = orderd()
    return hawk.cut(whole, os.path.getsize(whole) * 2 // 3)


def make_hostile():
    program = hawk.compile_text(folder, "hostile", HOSTILE, flags=["-O1"])
    evil = EVIL.encode("utf-8", "surrogateescape")
    done = hawk.run([hawk.need("objcopy"), "--strip-debug", "--redefine-sym", b"evil_one=" + evil, program])
    hawk.expect_equal(done.returncode, 0, done.stderr)
    return hawk.crash([program], hawk.tracer_environment(), folder)[0]


def exported(format_, *options):
    """The file that -o makes."""
    path = os.path.join(folder, f"{format_}.out")
    hawk.text_of("export", f"--format={format_}", "--force", "-o", path, *options, core,
                 codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    return path


def read(format_, *options):
    data = hawk.read(exported(format_, *options))
    return exports.read_pprof(data) if format_ == "pprof" else exports.READERS[format_](data.decode())


@functools.cache
def rows(*options):
    return exports.rows_of(exports.text_of("ndjson", core, *options))


def safe(stack):
    """As formats have it that escape nothing themselves: JSON does."""
    return tuple(name.replace("\n", "\\x0a").replace("\x1b", "\\x1b").replace("\ufffd", "\\xff") for name in stack)


def has_blocks():
    return sys.argv[1] != "table"


def wanted_bytes():
    """The sum of estimates may exceed the exact total; a shortfall is (not sampled)."""
    return max(analysis["heap"]["inuse_bytes"], sum(site["inuse_bytes"] for site in analysis["sites"]))


def check_all_the_same():
    reference = read("ndjson")
    hawk.expect(reference or not analysis["sites"], "there are stacks")
    hawk.expect_equal(sum(reference.values()), wanted_bytes(), "ndjson: total")
    by_safe_name = collections.Counter()
    for stack, size in reference.items():
        by_safe_name[safe(stack)] += size
    for format_ in ("pprof", "speedscope", "dhat", "massif", "folded"):
        found = collections.Counter()
        for stack, size in read(format_).items():
            found[safe(stack)] += size
        wanted = by_safe_name
        if format_ == "folded":
            wanted = collections.Counter()
            for stack, size in by_safe_name.items():
                wanted[tuple(name.replace(";", ":") for name in stack)] += size
        hawk.expect(found == wanted, f"{format_}: {(found - wanted).most_common(2)}, not {(wanted - found).most_common(2)}")


def check_sites():
    """Rows and pprof's labels by site; stacks as analyze has them."""
    wanted = {site["site"]: site["inuse_bytes"] for site in analysis["sites"]}
    found = {row["site"]: row["inuse_bytes"] for row in rows("--plumbing") if row["site"]}
    hawk.expect_equal(found, wanted, "bytes by site")
    stacks = {row["site"]: row["stack"] for row in rows("--plumbing")}
    for site in analysis["sites"][:20]:
        names = [frame["function"] for frame in reversed(site["frames"]) if frame.get("function")]
        if names and len(names) == len(site["frames"]):
            hawk.expect_equal(stacks[site["site"]], names, f"stack of {site['site']}")


def check_alloc():
    """Checks allocations since the start."""
    wanted = max(analysis["heap"]["alloc_bytes"], sum(site["alloc_bytes"] or 0 for site in analysis["sites"]))
    if sys.argv[1] != "truncated":  # counters of threads may be gone
        hawk.expect_equal(sum(row["alloc_bytes"] for row in rows()), wanted, "alloc_bytes")
    total = exports.read_folded(exports.text_of("folded", core, "--what=total"))
    hawk.expect_equal(sum(total.values()), sum(row["alloc_bytes"] for row in rows()), "--what=total")


def check_heaptrack():
    """Blocks one by one: of a sampled heap these are exact, and no estimates."""
    if not has_blocks():
        done = hawk.run([hawk.CORE, "export", "--format=heaptrack", core])
        hawk.expect("a table file has no blocks" in done.stderr, done.stderr)
        hawk.expect_equal((done.returncode, done.stdout), (hawk.EXIT_UNREADABLE, ""), "heaptrack of a table file")
        return
    text = hawk.read(exported("heaptrack")).decode()
    found = exports.read_heaptrack(text)
    heap = analysis["heap"]
    hawk.expect_equal(sum(found.values()), heap["inuse_bytes"], "heaptrack: total")
    hawk.expect_equal(text.count("\n+ "), heap["inuse_objects"], "heaptrack: blocks")
    if not heap["sites_estimated"]:
        wanted = collections.Counter()
        for stack, size in read("ndjson").items():
            wanted[safe(stack)] += size
        hawk.expect(found == wanted, f"heaptrack: {(found - wanted).most_common(2)}")
    done = hawk.run([hawk.CORE, "export", "--format=heaptrack", "--what=total", core])
    hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, f"heaptrack --what=total: {done.stderr}")


def check_rows():
    schema = json_schema.load("row-1.json")
    for row in rows():
        hawk.expect_equal(json_schema.validate(row, schema), [], "row")
        hawk.expect_equal(sorted(row), sorted(schema["properties"]), "members of a row")
    copy = os.path.join(folder, "copy")
    hawk.write(copy, hawk.read(core))
    again = {row["snapshot_id"] for row in exports.rows_of(exports.text_of("ndjson", copy, "--min-bytes=1"))}
    hawk.expect_equal(again, {row["snapshot_id"] for row in rows()}, "snapshot_id of a copy, with other options")
    hawk.expect_equal(len(again), 1, "one snapshot_id")


def check_massif_extra():
    """Checks the overhead of headers and the allocator."""
    heap = analysis["heap"]
    if not has_blocks() or heap.get("overhead_bytes") is None:
        return
    text = exports.text_of("massif", core)
    hawk.expect(f"\nmem_heap_extra_B={heap['header_bytes'] + heap['overhead_bytes']}\n" in text, "massif: extra")


def check_filters_and_leaks():
    """--min-bytes takes part of the heap; --what=lost is what `leaks` counts, with what is possibly lost apart."""
    half = analysis["sites"][0]["inuse_bytes"]
    wanted = sum(site["inuse_bytes"] for site in analysis["sites"] if site["inuse_bytes"] >= half)
    for format_ in ["ndjson", "pprof", "massif"] + (["heaptrack"] if not analysis["heap"]["sites_estimated"] and has_blocks()
                                                    else []):
        hawk.expect_equal(sum(read(format_, f"--min-bytes={half}").values()), wanted, f"{format_} --min-bytes")
    if not has_blocks():
        return
    lost = json.loads(hawk.text_of("leaks", "--json", core, codes=(0, 1, 4)))
    by_kind = collections.Counter()
    for row in rows("--what=lost"):
        by_kind[row["verdict"]] += row["inuse_bytes"]
    wanted = {kind: lost[kind]["bytes"] for kind in ("definitely_lost", "indirectly_lost", "possibly_lost") if lost[kind]["bytes"]}
    hawk.expect_equal({kind: size for kind, size in by_kind.items() if size}, wanted, "--what=lost")
    for format_ in ("dhat", "pprof", "massif"):
        hawk.expect_equal(sum(read(format_, "--what=lost").values()), lost["lost"]["bytes"], f"{format_} --what=lost")


def check_file():
    path = exported("pprof")
    hawk.expect_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode")
    hawk.expect_equal(hawk.read(path)[:2], b"\x1f\x8b", "pprof is packed")
    done = hawk.run([hawk.CORE, "export", "--format=pprof", "-o", path, core])
    hawk.expect("exists already; --force" in done.stderr, done.stderr)
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "a file that exists")


def check_packed_by_name():
    """A name that says so is of a packed file."""
    plain = hawk.text_of("export", "--format=folded", core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    for end, unpack in ((".gz", "gzip"), (".zst", "zstd")):
        path = os.path.join(hawk.temporary_folder(), "stacks" + end)
        hawk.text_of("export", "--format=folded", "-o", path, core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
        hawk.expect_equal(hawk.run([unpack, "-dc", path]).stdout, plain, end)


def check_terminal():
    """A binary format is refused there before any work."""
    master, slave = os.openpty()
    done = subprocess.run([hawk.CORE, "export", "--format=pprof", core], stdout=slave, stderr=subprocess.PIPE,
                               text=True, timeout=60)
    os.close(slave)
    os.close(master)
    hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, "terminal")
    hawk.expect("refusing to write a pprof profile to a terminal; use -o FILE" in done.stderr, done.stderr)


def check_hostile_names():
    if sys.argv[1] != "hostile":
        return
    names = {name for stack in read("ndjson") for name in stack}
    hawk.expect(any(name.startswith('x;y "z" \\ (a.c:1)\n n9: 7 \x1b[31m') and name.endswith(" 12") for name in names),
                f"the evil name: {names}")
    for format_ in ("folded", "massif", "heaptrack"):
        text = exports.text_of(format_, core)
        hawk.expect("\x1b" not in text and "\\x0a" in text and "\\x1b[31m" in text, f"{format_}: escapes")
    for line in exports.text_of("folded", core).splitlines():
        hawk.expect(line.rpartition(" ")[2].isdigit(), f"folded: {line!r}")


def expect_nothing():
    """Files without stacks, and the reason."""
    for format_ in ("pprof", *exports.READERS):
        path = os.path.join(folder, f"{format_}.out")
        done = hawk.run([hawk.CORE, "export", "--no-native", f"--format={format_}", "-o", path, core])
        hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{format_}: exit code")
        hawk.expect("there is no trace table in the core" in done.stderr, f"{format_}: {done.stderr}")
        data = hawk.read(path)
        found = exports.read_pprof(data) if format_ == "pprof" else exports.READERS[format_](data.decode())
        hawk.expect_equal(found, {}, f"{format_}: stacks")


folder = hawk.temporary_folder()
core = globals()["make_" + sys.argv[1]]() if sys.argv[1] != "orderd" else orderd()
analysis = hawk.analyze(core)
if sys.argv[1] == "plain":  # blocks by the allocator's structures have no history
    expect_nothing()
    check_all_the_same()
    hawk.finish()
hawk.run_checks(globals())
