#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Filters mean the same in every verb: what the blocks of each class of sizes, ages or types have, taken together, is
what all blocks have, and as many blocks are meant as `blocks` lists."""

import collections

from support import hawk, holder_world

KINDS = ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")
NOTHING = ("--size=1000g", "--age=1d", "--type=^no such type$", "--function=^no_such_function$")


def text_of(verb, *arguments):
    done = hawk.run([hawk.CORE, verb, core, *arguments])
    hawk.expect(done.returncode in (0, 1), f"{verb} {arguments}: {done.returncode} {done.stderr[-300:]}")
    return done.stdout


def ask(verb, *arguments):
    return hawk.parse(text_of(verb, "--json", *arguments))


def sums(verb, *arguments):
    """Returns the answer's block counts by group; their sums must add up."""
    found = ask(verb, *arguments)
    if verb == "leaks":
        return {(record["site"], record["kind"]): (record["objects"], record["bytes"]) for record in found["records"]}
    if verb == "merge-paths":
        return {node["name"]: (node["cum_objects"], node["cum_bytes"]) for node in found["tree"][1:]
                if node["parent"] == 0}
    if verb == "sites":
        by = {site["site"]: (site["inuse_objects"], site["inuse_bytes"]) for site in found["sites"]}
        by.update({(edge["source"], edge["target"]): (edge["pointers"], edge["interior"], edge["targets"],
                                                      edge["target_bytes"]) for edge in found["edges"]})
        return by
    if verb == "growth":
        return {site["site"]: (site["inuse_objects"], site["inuse_bytes"], *site["reach_bytes"].values())
                for site in found["sites"]}
    if verb == "types":
        return {entry["id"]: (entry["objects"], entry["shallow_bytes"]) for entry in found["types"]}
    return {site["site"]: (site["objects"], site["shallow_bytes"]) for site in found["sites"]}


def add_up(parts):
    whole = {}
    for part in parts:
        for key, values in part.items():
            whole[key] = tuple(map(sum, zip(whole.get(key, (0,) * len(values)), values)))
    return {key: values for key, values in whole.items() if any(values)}


def check_classes(classes):
    for verb in ("leaks", "merge-paths", "sites", "types", "growth", "retained"):
        hawk.expect_equal(add_up(sums(verb, option) for option in classes),
                          {key: values for key, values in sums(verb).items() if any(values)}, f"{verb} {classes}")
    lists = [{block["address"] for block in hawk.blocks(core, option)} for option in classes]
    hawk.expect_equal(sum(map(len, lists)), len(everything), f"classes {classes}")
    hawk.expect_equal(len(set().union(*lists)), len(everything), f"classes {classes} are apart")
    for name in ("hub", "session", "shared"):
        whole = ask("refs", hex(truth[name]))["addresses"][0]
        parts = [ask("refs", hex(truth[name]), option)["addresses"][0] for option in classes]
        for key in ("blocks", "groups"):
            hawk.expect_equal(sorted((entry.get("address", entry["site"]), str(entry["offset"]))
                                     for part in parts for entry in part[key] if key == "blocks"),
                              sorted((entry["address"], str(entry["offset"])) for entry in whole[key]
                                     if key == "blocks"), f"refs of {name} {classes}")
        hawk.expect_equal(sum(group["pointers"] for part in parts for group in part["groups"]),
                          sum(group["pointers"] for group in whole["groups"]), f"groups of {name} {classes}")


def check_count(*options):
    """All verbs mean the same blocks."""
    blocks = hawk.blocks(core, *options)
    want = (len(blocks), sum(block["size"] for block in blocks))
    by_site = collections.Counter(block["site"] for block in blocks)
    hawk.expect(blocks, f"{options}: there are some")
    leaks = ask("leaks", *options)
    hawk.expect_equal(tuple(sum(leaks[kind][key] for kind in KINDS) for key in ("objects", "bytes")), want,
                      f"leaks {options}")
    top = ask("merge-paths", *options)["tree"][0]
    hawk.expect_equal((top["cum_objects"], top["cum_bytes"]), want, f"merge-paths {options}")
    chosen = ask("path", "--top=1", *options)["chosen"]
    hawk.expect_equal((chosen["objects"], chosen["bytes"]), want, f"path {options}")
    for by in ("root", "tree"):
        chosen = ask("retained", f"--by={by}", *options)["chosen"]
        hawk.expect_equal((chosen["objects"], chosen["bytes"]), want, f"retained --by={by} {options}")
    hawk.expect_equal(sorted(block["address"] for block in ask("retained", "--by=block", *options)["blocks"]),
                      sorted(block["address"] for block in blocks), f"retained --by=block {options}")
    for verb, key in (("retained", "objects"), ("sites", "inuse_objects"), ("growth", "inuse_objects")):
        hawk.expect_equal({site["site"]: site[key] for site in ask(verb, *options)["sites"] if site[key]}, by_site,
                          f"{verb} {options}")
    if not any(option.startswith(("--site", "--module", "--function")) for option in options):
        site, count = by_site.most_common(1)[0]
        hawk.expect_equal(ask("schema", site, *options)["objects"], count, f"schema {options}")
        hawk.expect_equal(ask("schema", f"--site={site}", *options)["objects"], count, f"schema --site {options}")


def check_threads(*options):
    """The same, byte by byte, however many threads there are."""
    for verb in (["retained"], ["retained", "--by=block"], ["retained", "--by=root"], ["retained", "--by=tree"],
                 ["merge-paths"]):
        for json_too in ([], ["--json"]):
            hawk.expect_equal(text_of(*verb, *json_too, *options, "--threads=1"),
                              text_of(*verb, *json_too, *options), f"{verb} {json_too} {options}: one thread")


def check_nothing():
    verbs = (["merge-paths"], ["path"], ["retained"], ["retained", "--by=block"], ["retained", "--by=root"],
             ["retained", "--by=tree"], ["sites"], ["types"], ["growth"])
    for option in NOTHING:
        for verb in verbs:
            out = text_of(*verb, option)
            hawk.expect("no block matches" in out and len(out.splitlines()) <= 6, f"{verb} {option}: {out}")
        leaks = text_of("leaks", option)
        hawk.expect("Leaks: none, of the blocks that match" in leaks, f"leaks {option}: {leaks}")
        out = text_of("refs", hex(truth["session"]), option)
        hawk.expect("Blocks, by site and offset (0 of 0)\n  none\n" in out, f"refs {option}: {out}")
        hawk.expect_equal(text_of("retained", "--folded", option), "", f"folded {option}")
        hawk.expect_equal(len(text_of("blocks", option).splitlines()), 1, f"blocks {option}: the heading")
        if "function" not in option:
            out = text_of("schema", everything[0]["site"], option)
            hawk.expect("no block matches" in out, f"schema {option}: {out}")
    out = text_of("growth", "--verdict=burst")
    hawk.expect("no block matches" not in out and "  none\n" in out, f"without a filter: {out}")


def check_top():
    """--top and --depth limit JSON as they do text."""
    for verb, key in ((["leaks"], "records"), (["sites"], "sites"), (["growth"], "sites"), (["retained"], "sites"),
                      (["retained", "--by=block"], "blocks"), (["path", "--type=^Connection$"], "addresses")):
        whole = ask(*verb, "--full")[key]
        hawk.expect_equal(ask(*verb, "--top=3", "--depth=1000")[key], whole[:3], f"{verb} --top")
    roots = ask("refs", hex(truth["shared"]))["addresses"][0]["roots"]
    hawk.expect(len(roots) > 1, "several roots")
    hawk.expect_equal(ask("refs", hex(truth["shared"]), "--top=1")["addresses"][0]["roots"], roots[:1], "refs --top")
    for verb in (["merge-paths"], ["retained", "--by=tree"], ["merge-paths", "--size=30-70"]):
        whole = ask(*verb)["tree"]
        few = ask(*verb, "--top=2", "--depth=3")["tree"]
        hawk.expect_equal(ask(*verb, "--top=100000", "--depth=64")["tree"], whole, f"{verb}: all of it")
        hawk.expect(1 < len(few) < len(whole), f"{verb}: {len(few)} of {len(whole)} nodes")

        def path_of(tree, number):
            names = []
            while number:
                names.append((tree[number]["name"], tree[number]["cum_bytes"], tree[number]["cum_objects"]))
                number = tree[number]["parent"]
            return tuple(reversed(names))

        def largest(tree, number):
            children = [child for child in range(1, len(tree)) if tree[child]["parent"] == number]
            return sorted(children, key=lambda child: -tree[child]["cum_bytes"])

        wanted, level = [], [0]
        for _ in range(3):
            level = [child for number in level for child in largest(whole, number)[:2]]
            wanted += level
        hawk.expect_equal(sorted(number and path_of(few, number)[-1][1] for number in range(1, len(few))),
                          sorted(whole[number]["cum_bytes"] for number in wanted), f"{verb}: the largest")
        for number in range(1, len(few)):
            hawk.expect(few[number]["parent"] < number and path_of(few, number) in paths_of(whole, path_of),
                        f"{verb}: {few[number]}")


def paths_of(tree, path_of):
    return {path_of(tree, number) for number in range(1, len(tree))}


def check_mistakes():
    site = everything[0]["site"]
    for arguments in (["schema"], ["schema", site, f"--site={site}"], ["merge-paths", site, f"--site={site}"],
                      ["path", hex(truth["hub"]), f"--site={site}"], ["path"]):
        done = hawk.run([hawk.CORE, arguments[0], core, *arguments[1:]])
        hawk.expect_equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), str(arguments))


folder = hawk.temporary_folder()
core, truth = holder_world.crash(folder)
everything = hawk.blocks(core)
middle = sorted(block["age_seconds"] for block in everything)[len(everything) // 2] + 0.0001
check_classes(("--size=-31", "--size=32-40", "--size=41-4k", "--size=4097-"))
check_classes((f"--age=-{middle:.4f}", f"--age={middle + 0.0001:.4f}-"))
for chosen in (["--size=32-40"], ["--age=0-1d"], ["--type=^Connection$"], ["--type=.", "--size=50-"],
               ["--site=" + everything[len(everything) // 2]["site"]], ["--function=^make_cell$"],
               ["--module=libc"], ["--function=make_", "--size=-40", "--age=0"]):
    check_count(*chosen)
    check_threads(*chosen)
hawk.run_checks(globals())
