# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: long=python3 redis
# ctest: for=holders python3 redis
"""The exported graphs in the programs that they are for: Chromium's DevTools (and memlab, with HAWK_READERS_BIG=1) find the
same totals and the same retained sizes as hawk-core, and so does VisualVM's heap walker; sqlite3 the same sums; Graphviz draws."""

import collections
import os
import signal
import sys

from support import hawk, heap_snapshot, holder_world, hprof, real

NODES = 200

PYTHON = """
import os
kept = {str(i): [i] * (i % 50) for i in range(20000)}
os.abort()
"""


def make_core():
    if sys.argv[1] == "holders":
        return holder_world.crash(folder)[0]
    if sys.argv[1] == "python3":
        return hawk.crash([hawk.need("python3"), "-c", PYTHON], hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}),
                          folder, (signal.SIGABRT,))[0]
    with real.redis(folder, hawk.tracer_environment()) as (process, command):
        command("eval", "for i = 1, 5000 do redis.call('hset', 'h' .. i % 300, i, string.rep('v', i % 200)) end", "0")
        return hawk.gcore(process.pid, folder)


def expect_the_same(found, what):
    """Compares the total, the bytes retained by the largest blocks, and those retained by roots."""
    [whole] = hawk.sql(core, "SELECT sum(size) AS bytes FROM blocks")
    hawk.expect_equal(found["total"], whole["bytes"], f"{what}: total")
    hawk.expect_equal(found.get("problems", []), [], f"{what}: complaints")
    theirs = [node["retained"] for node in found["nodes"] if node["self"]]
    ours = [block["retained_bytes"] for block in
            hawk.document("retained", "--by=block", f"--top={len(theirs)}", core,
                          codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))["blocks"]]
    hawk.expect(len(ours) > 20 and theirs == ours, f"{what}: retained by blocks: {theirs[:10]}, by ours {ours[:10]}")
    roots = {node["name"]: node["retained"] for node in found["nodes"] if not node["self"]}
    hawk.expect_equal(roots.pop("(root)", None), whole["bytes"], f"{what}: the root retains all")
    tree = hawk.document("retained", "--by=root", core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))["tree"]
    named = {node["name"]: node["cum_bytes"] for node in tree if node["kind"] == "root"}
    for name, size in roots.items():
        if not name.startswith("("):
            # We do not count stacks and registers where a variable leads to the same block.
            hawk.expect(size <= named.get(name, 0), f"{what}: {name} retains {size}, and {named.get(name)} by ours")


def check_sqlite():
    path = os.path.join(folder, "all.db")
    hawk.text_of("export", "--format=sqlite", "-o", path, core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    for query in ("SELECT sum(size), count(*), sum(retained) FROM blocks", "SELECT sum(inuse_bytes) FROM sites",
                  "SELECT kind, sum(bytes) FROM leaks GROUP BY kind", "SELECT count(*), sum(offset) FROM edges",
                  "SELECT kind, count(*) FROM roots GROUP BY kind", "SELECT sum(all_pointers) FROM retained"):
        done = hawk.run([hawk.need("sqlite3"), "-csv", "-header", path, query])
        ours = hawk.text_of("sql", "--format=csv", core, query, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
        hawk.expect_equal(done.stdout.replace("\r", "").replace('"', ""), ours, f"sqlite3: {query} {done.stderr}")


def check_graphviz():
    text = hawk.text_of("export", "--format=dot", core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    done = hawk.run([hawk.need("dot"), "-Tsvg"], input=text)
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "dot")
    hawk.expect_equal(done.stdout.count('class="node"'), text.count(" [shape=ellipse]") + text.count("in 1 block\"") +
                      text.count("blocks\""), "nodes that are drawn")


def check_memlab():
    package = heap_snapshot.find_package("@memlab/heap-analysis")
    if os.environ.get("HAWK_READERS_BIG") != "1" or not package:
        print("without memlab: it needs HAWK_READERS_BIG=1 and its package")
        return
    expect_the_same(heap_snapshot.read_with("heap_snapshot_memlab.mjs", package, snapshot), "memlab")


def check_visualvm():
    path = hprof.export(core, os.path.join(folder, "core.hprof"))
    parsed = hprof.Dump(path)
    found = hprof.walk(path, NODES)
    if not found:
        return
    hawk.expect_equal(found["total"], [[str(parsed.total), str(len(parsed.objects))]], "VisualVM: total")
    [whole] = hawk.sql(core, "SELECT sum(size) AS bytes FROM blocks")
    hawk.expect_equal(parsed.total, whole["bytes"], "total")
    ours = {int(block["address"], 16): block["retained_bytes"] for block in
            hawk.document("retained", "--by=block", f"--top={NODES}", core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))["blocks"]}
    theirs = {int(number): int(size) for number, _, size, _ in found["object"] if int(number) in parsed.blocks}
    both = set(ours) & set(theirs)
    hawk.expect(len(both) > NODES // 2, f"{len(both)} of the {NODES} that retain most are the same")
    hawk.expect_equal({block: theirs[block] for block in both}, {block: ours[block] for block in both}, "VisualVM: retained")
    counts, sizes = collections.Counter(), collections.Counter()
    for count, size, name in found["class"]:
        counts[name] += int(count)
        sizes[name] += int(size)
    names = [parsed.name(number).replace("/", ".") for number in parsed.objects]
    hawk.expect(counts == collections.Counter(names), "VisualVM: objects by class")
    for number, name in zip(parsed.objects, names):
        sizes[name] -= parsed.size(number)
    hawk.expect_equal(set(sizes.values()), {0}, "VisualVM: bytes by class")
    kinds = collections.Counter(root.kind for root in parsed.roots)
    hawk.expect_equal({kind: int(count) for kind, count in found["root"]}, dict(kinds), "VisualVM: roots")
    for thread, frame, holder in found["frame"]:
        function = holder.partition(" `")[2].rstrip("`")  # "": it has no name
        hawk.expect(holder.startswith(thread) and function.partition("(")[0].rpartition("::")[2] in frame,
                    f"VisualVM: a frame's holder: {thread} {frame} {holder}")


def check_devtools():
    """The last one: without its packages the rest has been tested."""
    chromium, playwright = heap_snapshot.need_chromium()
    found = heap_snapshot.read_with("heap_snapshot.mjs", chromium, playwright, snapshot)
    if found:
        expect_the_same(found, "DevTools")


folder = hawk.temporary_folder()
core = make_core()
snapshot = heap_snapshot.export(core, os.path.join(folder, "core.heapsnapshot"))
hawk.run_checks(globals())
