# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: for=pprof pprof_format folded speedscope dhat massif heaptrack jq duckdb
"""Exported files in the programs that they are for: total, first function and a known stack are those of `analyze`."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

from support import exports, hawk, readers

DH_VIEW = "/usr/libexec/valgrind/dh_view.html"


def exported(format_, *options):
    path = os.path.join(folder, f"orderd.{format_}")
    hawk.text_of("export", f"--format={format_}", "-o", path, *options, core)
    return path


def expect_stack(names, what):
    """The known stack, the innermost function first, at the beginning of `names`."""
    hawk.expect_equal([hawk.plain_name(name) for name in names[:len(known)]], known, f"{what}: stack")


def pprof(*options):
    done = hawk.run([hawk.need("go"), "tool", "pprof", *options], env=go_environment)
    hawk.expect_equal(done.returncode, 0, f"pprof {options}: {done.stderr}")
    hawk.expect("symbolization failed" not in done.stderr, f"pprof {options}: {done.stderr}")
    return done.stdout


def check_top(path):
    text = pprof("-top", "-unit=B", "-nodecount=500", "-nodefraction=0", path)
    hawk.expect(f"Showing nodes accounting for {total}B, 100% of {total}B total" in text, text[:400])
    rows = re.findall(r"^ *(\d+)B? +\S+% +\S+% +\d+B? +\S+%  (\S+)", text, re.M)
    hawk.expect_equal(rows[0][1], known[0], "pprof -top: first function")
    hawk.expect_equal(sum(int(row[0]) for row in rows), total, "pprof -top: sum")


def check_raw(path):
    text = pprof("-raw", path)
    values = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+):", text, re.M)
    hawk.expect_equal(sum(int(row[3]) for row in values), total, "pprof -raw: sum")
    hawk.expect("inuse_space/bytes[dflt]" in text, text[:300])
    traces = pprof("-traces", "-unit=B", path)
    found = re.search(rf"^ *(\d+)B +{known[0]}(?: .*)?\n((?: +\S.*\n)*)", traces, re.M)
    expect_stack([known[0], *[line.split()[0] for line in found.group(2).splitlines()]], "pprof -traces")


def check_http(path):
    """The web interface draws it."""
    port = hawk.free_port()
    server = hawk.spawn([hawk.need("go"), "tool", "pprof", "-no_browser", f"-http=127.0.0.1:{port}", path],
                        env=go_environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def page():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ui/flamegraph", timeout=20) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            return None
    text = hawk.wait_for(page, 60, "pprof's web interface") or ""
    os.killpg(server.pid, signal.SIGTERM)
    hawk.expect(all(name in text for name in known), "pprof -http: names")


def read_pprof():
    """Go's own reader."""
    path = exported("pprof")
    check_top(path)
    check_raw(path)
    site = analysis["sites"][0]
    hawk.expect(re.search(rf"\b{site['site']}\b", pprof("-tags", path)), "pprof -tags: sites")
    line = site["frames"][0]["line"]
    listed = pprof("-list", f"^{known[0]}$", f"-source_path={hawk.BUILD}", path)
    hawk.expect(re.search(rf"^ +[\d.]+[kM]?B +[\d.]+[kM]?B +{line}:.*alloc", listed, re.M), f"pprof -list: {listed[:900]}")
    check_http(path)


def read_pprof_format():
    found = readers.read_with("pprof_format.mjs", readers.packages(), exported("pprof"))
    heap = analysis["heap"]
    hawk.expect_equal(found.get("sums"), {"inuse_space": total, **{f"{name}_objects": heap[f"{name}_objects"] for name in
                      ("inuse", "alloc")}, "alloc_space": heap["alloc_bytes"]}, "pprof-format: sums")
    hawk.expect_equal(found.get("shown"), "inuse_space", "pprof-format: default type")
    hawk.expect(set(known) <= set(found.get("functions", ())), "pprof-format: functions")


def expect_speedscope(path, what):
    chromium, packages = readers.need_browser()
    found = readers.read_with("speedscope.mjs", chromium, packages, path)
    if found:
        hawk.expect_equal(found["problems"], [], f"{what}: complaints")
        hawk.expect_equal(found["first"], known[0], f"{what}: first function")
        profile = found["document"]["profiles"][found["document"].get("activeProfileIndex") or 0]
        hawk.expect_equal(profile["endValue"] - profile["startValue"], total, f"{what}: total")
        hawk.expect(all(name in found["shown"] for name in known), f"{what}: names")


def read_folded():
    expect_speedscope(exported("folded"), "folded in speedscope")


def read_speedscope():
    path = exported("speedscope")
    packages = readers.packages()
    schema = os.path.join(packages, "speedscope", "dist", "release", "file-format-schema.json")
    hawk.expect_equal(readers.read_with("schema.mjs", packages, schema, path, "--whole"),
                      {"documents": 1, "complaints": []}, "speedscope's schema")
    expect_speedscope(path, "speedscope")


def read_dhat():
    if not os.path.exists(DH_VIEW):
        hawk.skip("valgrind's dh_view.html is not installed")
    found = readers.read_with("dhat.mjs", *readers.need_browser(), DH_VIEW, exported("dhat"))
    if not found:
        return
    hawk.expect_equal(found["problems"], [], "dh_view: complaints")
    heap = analysis["heap"]
    hawk.expect_equal((found["total"], found["atEnd"], found["blocks"]), (heap["alloc_bytes"], total, heap["inuse_objects"]),
                      "dh_view: totals")
    bytes_, frames = max(found["leaves"])
    hawk.expect_equal(bytes_, stacks[0][1], "dh_view: largest stack")
    expect_stack([re.sub(r"^0x[0-9A-F]+: (.*) \(.*\)$", r"\1", frame) for frame in frames], "dh_view")
    hawk.expect(f"{total:,} bytes" in found["shown"], "dh_view: shown total")


def read_massif():
    text = hawk.run([hawk.need("ms_print"), "--threshold=0", exported("massif")]).stdout
    heap = analysis["heap"]
    extra = heap["header_bytes"] + heap["overhead_bytes"]
    found = re.search(r"^ +0 +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +0$", text, re.M)
    hawk.expect(found, f"ms_print: {text[-1500:]}")
    hawk.expect_equal([int(word.replace(",", "")) for word in found.groups()[1:]], [total + extra, total, extra],
                      "ms_print: totals")
    tree = [line for line in text.splitlines() if re.search(r"->.*0x", line)]
    expect_stack([re.search(r"0x[0-9A-F]+: (.*?) \(", line).group(1) for line in tree], "ms_print")
    tops = [int(re.search(r"\(([\d,]+)B\)", line).group(1).replace(",", "")) for line in tree if line.startswith("->")]
    hawk.expect_equal(sum(tops), total, "ms_print: sum of the functions that allocate")


def read_heaptrack():
    path, folded = exported("heaptrack"), os.path.join(folder, "leaked")
    command = [hawk.need("heaptrack_print"), "--disable-builtin-suppressions", "-f", path]
    done = hawk.run([*command, "--flamegraph-cost-type", "leaked", "-F", folded])
    hawk.expect_equal(done.returncode, 0, done.stderr)
    heap = analysis["heap"]
    hawk.expect(f"calls to allocation functions: {heap['inuse_objects']} " in done.stdout, done.stdout[-400:])
    found = exports.read_folded(hawk.read(folded).decode())
    hawk.expect_equal(sum(found.values()), total, "heaptrack_print -F: leaked")
    stack, size = max(found.items(), key=lambda item: item[1])
    hawk.expect_equal(size, stacks[0][1], "heaptrack_print: largest stack")
    hawk.expect_equal({name.split(" ")[0] for name in stack if name.split(" ")[0] in known}, set(known),
                      "heaptrack_print: its functions")
    leaks = hawk.run([*command, "-p0", "-a0", "-T0", "-l1"]).stdout
    names = re.findall(r"^ *([a-z_]+)$", leaks.partition("MEMORY LEAKS")[2], re.M)
    expect_stack(names, "heaptrack_print -l")
    same = hawk.run([*command, "-d", path]).stdout
    hawk.expect("total memory leaked: 0B" in same, f"heaptrack_print -d: {same[-400:]}")


def read_jq():
    path = exported("ndjson")
    done = hawk.run([hawk.need("jq"), "-s", "-c", "[(map(.inuse_bytes) | add), (max_by(.inuse_bytes) | .stack | reverse)]", path])
    found, stack = json.loads(done.stdout or "[0, []]")
    hawk.expect_equal(found, total, f"jq: total {done.stderr}")
    expect_stack(stack, "jq")


def read_duckdb():
    """Rows become a Parquet file, and that is asked."""
    path, parquet = exported("ndjson"), os.path.join(folder, "rows.parquet")
    packages = readers.packages()
    schema = os.path.join(hawk.SOURCE, "docs", "schema", "row-1.json")
    checked = readers.read_with("schema.mjs", packages, schema, path)
    hawk.expect_equal(checked.get("complaints"), [], "rows by ajv")
    rows = readers.read_with(
        "duckdb.mjs", packages, f"COPY (SELECT * FROM read_json('{path}')) TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)",
        f"SELECT sum(inuse_bytes)::BIGINT AS bytes, sum(alloc_bytes)::BIGINT AS alloc, count(*)::INT AS rows, "
        f"arg_max(stack, inuse_bytes) AS stack, min(time)::VARCHAR AS time, count(DISTINCT snapshot_id)::INT AS snapshots "
        f"FROM '{parquet}'")
    if rows:
        found = rows[0]
        hawk.expect_equal((int(found["bytes"]), int(found["alloc"]), found["rows"], found["snapshots"]),
                          (total, analysis["heap"]["alloc_bytes"], checked["documents"], 1), "duckdb: sums")
        expect_stack(found["stack"][::-1], "duckdb")
        hawk.expect(re.match(r"20\d\d-\d\d-\d\d", found["time"] or ""), f"duckdb: time {found['time']}")


folder = hawk.temporary_folder()
go_environment = {**os.environ, "HOME": folder, "PPROF_TMPDIR": folder, "PPROF_BINARY_PATH": folder}
core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "12000", "--crash", "segv"],
                     hawk.tracer_environment(), folder, (signal.SIGSEGV,))
analysis = hawk.analyze(core)
total = analysis["heap"]["inuse_bytes"]
# The innermost functions of the site that has most, the first of all: they are written in C.
known = hawk.functions_of(analysis["sites"][0])[:4]
stacks = exports.read_ndjson(exports.text_of("ndjson", core)).most_common()
globals()["read_" + sys.argv[1]]()
hawk.finish()
