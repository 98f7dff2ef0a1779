# SPDX-License-Identifier: Apache-2.0
"""refs, path, merge-paths, retained and sites, on a program that knows who holds what."""

import json
import os
import re
import subprocess

from support import hawk, holder_world

CELLS, SESSIONS = holder_world.CELLS, holder_world.SESSIONS
HUB_BYTES = 16 + CELLS * (32 + 40)


def document(verb, *arguments, target=None):
    return hawk.document(verb, *(target or [core]), *arguments)


def function_of(entry):
    return hawk.plain_name(entry["frames"][0]["function"]) if entry["frames"] else ""


def check_refs():
    one, two = document("refs", hex(truth["third_payload"]), hex(truth["hub"]))["addresses"]
    hawk.expect_equal([(int(block["address"], 16), block["offset"], block["interior"])
                       for block in one["blocks"]], [(truth["third"], 8, False)], "refs of a payload")
    hawk.expect_equal(one["roots"], [], "roots of a payload")
    hawk.expect_equal([(root["root"]["symbol"], root["root"]["section"]) for root in two["roots"]
                       if root["root"]["kind"] == "module"], [("g_hub", ".bss")], "roots of the hub")
    shared = document("refs", hex(truth["shared"] + 100))["addresses"][0]
    hawk.expect_equal((shared["block"]["inside"],
                       sorted(root["root"]["offset"] for root in shared["roots"]
                              if root["root"]["symbol"] == "g_shared")), (100, [0, 8]),
                      "two roots, asked for in the middle")
    session = document("refs", hex(truth["session"]))["addresses"][0]
    hawk.expect_equal(sorted(group["offset"] for group in session["groups"]), [16, 40],
                      "a list node and a map node")
    hawk.expect_equal(session["block"]["type"], "Connection", "type")
    only = document("refs", hex(truth["session"]), "--size", "41-")["addresses"][0]
    hawk.expect_equal(len(only["blocks"]), 1, "--size of the blocks that point")


def check_path():
    path = document("path", hex(truth["third_payload"]))["addresses"][0]
    hawk.expect_equal((path["root"]["symbol"], path["root"]["kind"]), ("g_hub", "module"), "root")
    hawk.expect_equal([(function_of(step), step.get("offset")) for step in path["steps"]],
                      [("make_hub", None), ("make_cell", 0), ("make_cell", 0), ("make_cell", 0),
                       ("make_payload", 8)], "steps")
    hawk.expect_equal(path["block"]["reach"], "still_reachable", "reach")
    lost = [block for block in hawk.blocks(core, "--function", "^make_lost$")]
    hawk.expect_equal(len(lost), holder_world.LOST, "lost blocks")
    none = document("path", lost[0]["address"])["addresses"][0]
    hawk.expect_equal((none["root"], none["steps"]), (None, []), "no path")
    hawk.expect(none["block"]["reach"] in ("definitely_lost", "indirectly_lost"), "lost")
    hawk.expect("no root leads there" in hawk.text_of("path", core, lost[0]["address"]), "said so")
    deep = hawk.blocks(core, "--function", "^make_cell$")[0]["address"]
    lines = hawk.text_of("path", core, deep).splitlines()
    hawk.expect(len(lines) < 12 and any(re.search(r"[\d,]+ more in the same way", line)
                                        for line in lines), "a long list is shown by its ends")


def check_chosen_paths():
    """By a filter: the largest, then the oldest, with the paths that their addresses have, and how many have none."""
    for arguments in (["--function=^make_payload$"], ["--type=^Connection$"], ["--size=41-"], ["--age=0"],
                      ["--function=^make_lost$"], ["--module=/holders$", "--size=-100"]):
        blocks = hawk.blocks(core, *arguments)
        hawk.expect(blocks, f"{arguments} choose some")
        found = document("path", *arguments, "--top=5", "--depth=1000000")
        lost = {node["kind"]: node for node in document("merge-paths", *arguments)["tree"]}.get("lost", {})
        hawk.expect_equal(found["chosen"], {"objects": len(blocks), "bytes": sum(block["size"] for block in blocks),
                                            "unreached_objects": lost.get("cum_objects", 0),
                                            "unreached_bytes": lost.get("cum_bytes", 0)}, f"{arguments}: sums")
        order = [block["address"] for block in hawk.blocks(core, *arguments, "--top=5")]
        hawk.expect_equal([path["block"]["address"] for path in found["addresses"]], order, f"{arguments}: order")
        alone = document("path", *order)
        hawk.expect_equal(found["addresses"], alone["addresses"], f"{arguments}: paths")
        text = hawk.text_of("path", core, *arguments)
        hawk.expect(f"(5 of {len(blocks):,})" in text and f"{len(blocks) - 5:,} more" in text, text)
        hawk.expect_equal(re.findall("^Path to (0x[0-9a-f]+) ", text, re.M), order, f"{arguments}: as text")
        hawk.expect_equal("no root leads to" in text, bool(lost), f"{arguments}: {text}")
    every = document("path", "--type=^Connection$", "--full")
    hawk.expect_equal(document("path", "--type=^Connection$")["addresses"], every["addresses"][:5],
                      "5 if nothing is said")
    hawk.expect_equal(len(every["addresses"]), every["chosen"]["objects"], "--full is all of them")
    hawk.expect("more; " not in hawk.text_of("path", core, "--type=^Connection$", "--full"), "and nothing is left")
    done = hawk.run([hawk.CORE, "shell", core], input="path --type=^Connection$ --top 2\npath $1\n")
    first, second = document("path", "--type=^Connection$", "--top=2")["addresses"]
    hawk.expect_equal(re.findall("^Path to (0x[0-9a-f]+) ", done.stdout, re.M),
                      [first["block"]["address"], second["block"]["address"], first["block"]["address"]], "in a shell")


def check_merged():
    site = [entry["site"] for entry in document("retained")["sites"]
            if function_of(entry) == "make_payload"][0]
    tree = document("merge-paths", site)["tree"]
    path = []
    at = max(range(len(tree)), key=lambda i: tree[i]["flat_objects"])
    while at:
        path.insert(0, tree[at]["name"].split()[0])
        at = tree[at]["parent"]
    hawk.expect_equal(path, ["`g_hub`", "make_hub", "make_cell", "make_payload"], "merged path")
    hawk.expect_equal((tree[0]["cum_objects"], tree[0]["cum_bytes"]), (CELLS, CELLS * 40), "all")
    lost = document("merge-paths", "--function", "^make_lost$")["tree"]
    hawk.expect_equal([(node["kind"], node["cum_objects"]) for node in lost[1:2]],
                      [("lost", holder_world.LOST)], "lost blocks have no path")


def check_retained():
    sites = {function_of(entry): entry for entry in document("retained")["sites"]
             if entry["objects"] not in (SESSIONS // 2,) or function_of(entry) == "make_name"}
    for name, objects, shallow, retained in (
            ("make_hub", 1, 16, HUB_BYTES), ("make_cell", CELLS, CELLS * 32, HUB_BYTES - 16),
            ("make_payload", CELLS, CELLS * 40, CELLS * 40), ("make_shared", 1, 5000, 5000),
            ("make_name", SESSIONS // 2, SESSIONS // 2 * 61, SESSIONS // 2 * 61)):
        entry = sites.get(name, {})
        hawk.expect_equal((entry.get("objects"), entry.get("shallow_bytes"),
                           entry.get("retained_bytes")),
                          (objects, shallow, {"all_pointers": retained, "exact": True}), name)
    best = document("retained", "--by=block", "--top", "3")["blocks"]
    hawk.expect_equal([(int(block["address"], 16), block["retained_bytes"]) for block in best[:2]],
                      [(truth["hub"], HUB_BYTES), (truth["first"], HUB_BYTES - 16)], "blocks")
    typed = document("retained", "--by=block", "--type", "^Connection$")["blocks"]
    hawk.expect_equal((len(typed), {block["retained_bytes"] for block in typed}),
                      (SESSIONS // 2, {112 + 61}), "blocks of a type")
    tree = document("retained", "--by=tree")["tree"]
    hub = [node for node in tree if node["kind"] == "root" and "`g_hub`" in node["name"]]
    hawk.expect_equal([(node["cum_bytes"], node["cum_objects"]) for node in hub],
                      [(HUB_BYTES, 1 + 2 * CELLS)], "what the root holds alone")
    analysis = hawk.analyze(core)
    hawk.expect_equal((tree[0]["cum_objects"], tree[0]["cum_bytes"]),
                      (analysis["heap"]["inuse_objects"], analysis["heap"]["inuse_bytes"]), "all")
    folded = [line.rsplit(" ", 1) for line in hawk.text_of("retained", "--folded", core).splitlines()]
    hawk.expect_equal([size for line, size in folded
                       if line.endswith(";make_hub;make_cell;make_payload")], [str(CELLS * 40)],
                      "folded")
    hawk.expect_equal(sum(int(size) for _, size in folded), analysis["heap"]["inuse_bytes"],
                      "all folded")


def check_sites():
    graph = document("sites")
    names = {entry["site"]: function_of(entry) for entry in graph["sites"]}
    edges = {(names.get(edge["source"]), names[edge["target"]]): edge for edge in graph["edges"]}
    for source, target, places in (
            ("make_cell", "make_payload", [(8, CELLS, CELLS)]),
            ("make_cell", "make_cell", [(0, CELLS - 1, CELLS - 1)]),
            ("make_hub", "make_cell", [(0, 1, 1)])):
        edge = edges.get((source, target), {"places": []})
        hawk.expect_equal([(place["offset"], place["pointers"], place["targets"])
                           for place in edge["places"]], places, f"{source} -> {target}")
    hub = edges.get((None, "make_hub"), {"places": []})
    hawk.expect_equal([(place["kind"], place["pointers"]) for place in hub["places"]
                       if place["kind"] == "module"], [("module", 1)], "held by a root")
    only = document("sites", "--function", "^make_payload$")
    hawk.expect_equal({names[edge["target"]] for edge in only["edges"]}, {"make_payload"}, "filter")
    check_chosen_sites(names)
    dot = hawk.text_of("sites", "--dot", core)
    hawk.expect(dot.startswith("digraph") and dot.rstrip().endswith("}") and "+8" in dot, "DOT")
    if os.path.exists("/usr/bin/dot"):
        done = subprocess.run(["/usr/bin/dot", "-Tsvg"], input=dot, capture_output=True, text=True,
                              check=False)
        hawk.expect_equal(done.returncode, 0, "Graphviz reads it")


def check_chosen_sites(names):
    """--size, --age and --type count pointers to such blocks only, whoever holds these."""
    payloads = document("sites", "--size", "40-40")
    held = {(names.get(edge["source"]), names[edge["target"]]): edge["targets"]
            for edge in payloads["edges"]}
    hawk.expect_equal(held.get(("make_cell", "make_payload")), CELLS, "holders need not pass")
    hawk.expect(("make_cell", "make_cell") not in held, "cells have 32 bytes")
    typed = document("sites", "--type", "^Connection$")
    hawk.expect_equal([entry["inuse_objects"] for entry in typed["sites"]], [SESSIONS // 2],
                      "a site's blocks of one class")
    dot = hawk.text_of("sites", core, "--type", "^Connection$", "--dot")
    nodes = dict(re.findall(r"^\ts([0-9a-f]{16}) \[(style=dashed)?", dot, re.M))
    hawk.expect_equal({site for site, dashed in nodes.items() if not dashed},
                      {entry["site"] for entry in typed["sites"]}, "drawn as chosen")
    hawk.expect_equal(set(re.findall(r"^\ts([0-9a-f]{16}) -> ", dot, re.M)),
                      {site for site, dashed in nodes.items() if dashed}, "drawn as holders")
    hawk.expect("style=dashed" in dot, dot)
    text = hawk.text_of("sites", core, "--type", "^Connection$")
    hawk.expect(f"{SESSIONS // 2:,}" in text and "(1 of 1)" in text, text)


def check_texts():
    for arguments in (["refs", hex(truth["session"])], ["path", hex(truth["name"])],
                      ["path", "--size=20-"], ["path", "--function=make_lost", "--full"],
                      ["retained"], ["retained", "--by=tree"], ["retained", "--by=block"],
                      ["retained", "--by=root"], ["sites"], ["sites", "--size", "33-100"],
                      ["merge-paths", "--type", "Session"]):
        out = hawk.text_of(arguments[0], core, *arguments[1:])
        hawk.expect(out, f"{arguments} says something")
        hawk.expect_columns(out, f"{arguments}")
        same = {hawk.text_of(arguments[0], core, *arguments[1:], "--threads", str(threads))
                for threads in (1, 2, 5)}
        hawk.expect_equal(same, {out}, f"{arguments} with other numbers of threads")


def check_alike():
    """Two sites in one function and line are told apart by their ids, and others bear none."""
    graph = document("sites")
    entries = graph["sites"]
    ids = {entry["site"]: entry["inuse_objects"] for entry in entries
           if function_of(entry) == "make_session"}
    hawk.expect_equal(list(ids.values()), [SESSIONS // 2] * 2, "two sites of one name")
    named = next(entry["site"] for entry in entries if function_of(entry) == "make_name")
    holders = {edge["source"] for edge in graph["edges"] if edge["target"] == named}
    nodes = next(edge["source"] for edge in graph["edges"] if edge["source"] and
                 edge["target"] in ids)
    for arguments in (["merge-paths"], ["merge-paths", "--full"], ["schema", nodes]):
        out = hawk.text_of(arguments[0], core, *arguments[1:])
        hawk.expect_equal(set(re.findall(r"make_session.*  ([0-9a-f]{16})$", out, re.M)), set(ids),
                          f"{arguments}: {out}")
        hawk.expect(not re.search(r"make_session(?!.*  [0-9a-f]{16}$)", out, re.M),
                    f"{arguments}: a name alone: {out}")
        hawk.expect(not re.search(r"make_(hub|cell|payload|name).*  [0-9a-f]{16}", out),
                    f"{arguments}: an id that says nothing: {out}")
    out = hawk.text_of("sites", core)
    beside = set(re.findall(r" of make_[a-z]+  ([0-9a-f]{6,16}), ", out))
    hawk.expect_equal({site for site in holders for prefix in beside if site.startswith(prefix)}, holders, out)
    hawk.expect_equal(len(beside), len(holders), out)
    merged = document("merge-paths")["tree"]
    hawk.expect(not any(re.search("[0-9a-f]{16}$", node["name"]) for node in merged),
                "JSON has ids apart")
    folded = hawk.text_of("merge-paths", "--folded", core)
    hawk.expect(not re.search("[0-9a-f]{16}", folded), "no ids in flame graphs")


def check_narrow():
    """Names are whole at any width that has room for them, and ids no longer than there is room for, but enough
    to ask for the site."""
    for columns in (64, 68, 72, 76, 80):
        environment = {**os.environ, "COLUMNS": str(columns)}
        for words in (["merge-paths", core], ["retained", "--by=tree", core]):
            out = hawk.run([hawk.CORE, *words], env=environment).stdout
            hawk.expect("`g_hub`" in out and "...b`" not in out, f"{columns} columns: {out}")
            for name in ("make_hub", "make_cell", "make_payload"):
                hawk.expect(re.search(rf"  {name}\b", out), f"{name} in {columns} columns: {out}")
            ids = re.findall(r"make_session\b.*  ([0-9a-f]{6,16})$", out, re.M)
            hawk.expect_equal(len({site[:6] for site in ids}), 2, f"two sites in {columns} columns: {out}")
            hawk.expect(all(len(line) <= columns for line in out.splitlines() if "make_session" in line), out)
        for words in (["path", core, hex(truth["name"])], ["path", core, "--type=Session"],
                      ["retained", "--by=block", core, "--type=."]):
            out = hawk.run([hawk.CORE, *words], env=environment).stdout
            blocks = [line for line in out.splitlines() if re.search(" 0x[0-9a-f]+  [0-9.]+ [KM]?i?B  ", line)]
            hawk.expect(columns < 80 or any(re.search(r"  \[(Session|Connection)\]$", line) for line in blocks), out)
            for line in blocks:
                hawk.expect(len(line) <= columns, f"{words}: wider than {columns} columns: {line!r}")
    for prefix in {site[:6] for site in ids}:
        whole, = (entry["site"] for entry in document("sites")["sites"] if entry["site"].startswith(prefix[:6]))
        for words in (["merge-paths", core], ["schema", core], ["blocks", core, "--site"], ["leaks", core, "--site"],
                      ["retained", core, "--site"], ["growth", core, "--site"], ["sites", core, "--site"]):
            hawk.expect_equal(hawk.run([hawk.CORE, *words, prefix[:6]]).stdout,
                              hawk.run([hawk.CORE, *words, whole]).stdout, f"{words} with {prefix[:6]}")


def check_mistakes():
    for arguments in (["refs", core, "zz"], ["path", core], ["path", core, hex(truth["hub"]), "--size=5"],
                      ["path", core, "--type", "("], ["path", core, "--site", "1234567812345678"], ["merge-paths", core, "x"],
                      ["merge-paths", core, "1234567812345678"], ["retained", core, "--type", "("],
                      ["retained", core, "--by=tree", "--type", "("],
                      ["retained", core, "--by=root", "--site", "1234567812345678"], ["sites", core, "--by", "x"],
                      ["sites", core, "--dot", "--json"], ["sites", core, "--type", "("],
                      ["retained", core, "--site", "1234567812345678"]):
        done = hawk.run([hawk.CORE, *arguments])
        hawk.expect_equal((done.returncode, len(done.stderr.splitlines())), (2, 1), str(arguments))
    for verb in ("refs", "path"):
        done = hawk.run([hawk.CORE, verb, core, "10"])
        hawk.expect_equal(done.returncode, 1, f"{verb} of nothing")
        hawk.expect("no live block at 0x10" in done.stderr, f"{verb} of nothing: {done.stderr}")
    for options in ([], ["--json"]):
        done = hawk.run([hawk.CORE, "path", core, "--type=^NoSuchType$", *options])
        hawk.expect_equal((done.returncode, done.stderr), (1, ""), "path to no block that the filters choose")


def check_table_file():
    """A table file stands in for what is not in the core; alone it has no blocks to follow."""
    table = os.path.join(folder, "table")
    cut, said = holder_world.crash(folder, hawk.tracer_environment(options=f"table={table}"))
    for verb in (["retained"], ["sites"], ["merge-paths"], ["leaks", "--exit-code=0"], ["growth"],
                 ["refs", hex(said["hub"])], ["path", hex(said["hub"])],
                 ["sql", "SELECT count(*) FROM blocks"]):
        words = [hawk.CORE, verb[0], *[word for word in verb[1:] if word.startswith("-")]]
        rest = [word for word in verb[1:] if not word.startswith("-")]
        done = hawk.run([*words, table, *rest])
        hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and
                    "table file has counts by stack and no blocks" in done.stderr,
                    f"{verb} of a table file: {done.returncode} {done.stderr}")
        done = hawk.run([*words, f"--table={table}", cut, *rest])
        hawk.expect_equal(done.returncode, 0, f"{verb} --table: {done.stderr[-300:]}")
        done = hawk.run([*words, cut, *rest])
        hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{verb} without --table")


def check_live():
    process = hawk.spawn([os.path.join(folder, "holders"), "wait", str(SESSIONS), str(CELLS)],
                         env=hawk.tracer_environment(), cwd=folder, stdout=subprocess.PIPE, text=True)
    said = json.loads(process.stdout.readline())
    hawk.wait_for_state(process.pid, "S", "with nothing of it on its stack")
    target = ["--pid", str(process.pid)]
    refs = document("refs", hex(said["third_payload"]), target=target)["addresses"][0]
    hawk.expect_equal([(int(block["address"], 16), block["offset"]) for block in refs["blocks"]],
                      [(said["third"], 8)], "refs of a process")
    path = document("path", hex(said["third"]), target=target)["addresses"][0]
    hawk.expect_equal(path["root"]["symbol"], "g_hub", "path of a process")
    sites = {function_of(entry): entry for entry in document("retained", target=target)["sites"]}
    hawk.expect_equal(sites["make_hub"]["retained_bytes"]["all_pointers"], HUB_BYTES, "retained of a process")
    hawk.expect(document("sites", target=target)["edges"], "sites of a process")


folder = hawk.temporary_folder()
core, truth = holder_world.crash(folder)
hawk.run_checks(globals())
