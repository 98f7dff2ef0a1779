# SPDX-License-Identifier: Apache-2.0
"""Types and members by debug information, on a program that prints what it owns: containers of every kind at several
fills, objects, variables of frames. What is called a fact is right for every block, and paths are spelt as the program would."""

import json
import os
import re

from support import hawk

BUILDS = {"gcc": ("g++", "-O1"), "clang": ("clang++", "-O2")}


def plain(name):
    """The name without what compilers spell differently."""
    name = name.replace("long int", "long")
    return re.sub(r"\s+(?=[>*])", "", name).replace("const std::string", "std::string const").replace("const long", "long const")


def check_paths(core, truth, name):
    """Paths to every block at once, from its roots."""
    known = {address: (kind, expression) for kind, address, expression in truth}
    document = hawk.document("path", core, *known)
    typed = spelt = local = 0
    for entry in document["addresses"]:
        kind, expression = known[entry["block"]["address"]]
        found = entry["block"]["type"]
        if found and not found.endswith("?"):
            typed += 1
            hawk.expect_equal(plain(found), plain(kind), f"{name}: {entry['block']['address']}, {entry['expression']}")
        local += entry["expression"] == "main: lines[...].second.text"
        if expression != "-":
            spelt += 1
            hawk.expect_equal(entry["expression"], expression, f"{name}: {kind} {entry['block']['address']}")
    total = len(known)
    hawk.expect(typed >= 0.98 * total, f"{name}: {typed} of {total} have a type")
    hawk.expect(spelt > 80, f"{name}: {spelt} expressions")
    hawk.expect(local, f"{name}: a local variable")


def check_refs(core, truth, name):
    [order] = [address for kind, address, expression in truth if expression == "shop::server.orders->next->first->text"]
    [entry] = hawk.document("refs", core, order)["addresses"]
    hawk.expect_equal([group["member"] for group in entry["groups"]], [".text"], f"{name}: members that point")
    [order] = [address for kind, address, expression in truth if expression == "shop::server.table[2]"]
    [entry] = hawk.document("refs", core, order)["addresses"]
    hawk.expect_equal([root["root"]["variable"] for root in entry["roots"] if root["root"]["kind"] == "module"],
                      ["shop::server.table[2]"], f"{name}: variables that point")
    text = hawk.text_of("path", core, order)
    hawk.expect("`shop::server.table[2]` in " in text, f"{name}: {text}")
    hawk.expect_columns(text, "path")


def check_whatis(core, truth, name):
    """The types of the whole heap, and members."""
    known = {address: kind for kind, address, _ in truth}
    document = json.loads(hawk.text_of("whatis", "--json", core, *known))
    typed = 0
    for entry in document["addresses"]:
        found, kind = entry["block"]["type"], known[entry["address"]]
        if found and not found.endswith("?"):
            typed += 1
            hawk.expect_equal(plain(found), plain(kind), f"{name}, whole heap: {entry['address']}")
    hawk.expect(typed >= 0.98 * len(known), f"{name}: {typed} of {len(known)} have a type")
    [order] = [address for _, address, expression in truth if expression == "shop::server.table[2]"]
    [entry] = json.loads(hawk.text_of("whatis", "--json", core, hex(int(order, 16) + 8)))["addresses"]
    hawk.expect_equal((entry["block"]["type"], entry["block"]["member"]), ("shop::Order", ".lines"), f"{name}: a member")


def check_containers(core, truth, name):
    """Nodes and buffers are counted as their containers, and nothing else is."""
    document = json.loads(hawk.text_of("types", "--json", core))
    found = {}
    for entry in document["types"]:
        of = entry["containers"]
        if of and not entry["guess"]:
            found[plain(entry["type"])] = (of["count"], of["entries"], of["empty"])
    for kind in ("deque", "list", "forward_list", "set", "unordered_set", "unordered_map", "multimap"):
        sums = [sums for container, sums in found.items() if container.startswith(f"std::{kind}<")]
        hawk.expect_equal(sums, [(4, 20, 1)], f"{name}: {kind} of {found}")
    hawk.expect_equal(found["std::map<long, shop::Line>"], (25, 57, 1), f"{name}: maps, those within maps and of main()")
    hawk.expect_equal(found["std::vector<shop::Line>"], (11, 29, 5), f"{name}: vectors")
    hawk.expect_equal(found["std::vector<shop::Line*>"], (20, 25, 7), f"{name}: vectors in a vector")
    long_texts = [address for kind, address, _ in truth if kind == "char[]"]
    hawk.expect(found["std::string"][0] >= len(long_texts), f"{name}: {found['std::string']} strings")
    split = json.loads(hawk.text_of("types", "--json", "--containers=split", "--no-graph", core))
    hawk.expect(not any(entry["containers"] for entry in split["types"]), f"{name}: --containers=split")
    for part in ("objects", "shallow_bytes"):
        hawk.expect_equal(sum(entry[part] for entry in document["types"]), sum(entry[part] for entry in split["types"]), f"{name}: {part}")
    text = hawk.text_of("types", core)
    hawk.expect(" 4 containers, 20 entries, 1 empty\n" in text, f"{name}: {text}")
    hawk.expect_columns(text, "types")


def check_classes(core, truth, name):
    """What verbs call untraced blocks by default: their own type, or their container's."""
    found = {int(block["address"], 16): block["type"] for block in hawk.blocks(core)}
    typed = 0
    for kind, address, _ in truth:
        kind, words = plain(kind), plain(found[int(address, 16)] or "")
        if kind == "?" or not words or words.endswith("?"):
            continue
        typed += 1
        if kind.startswith("shop::") and not kind.endswith("[]"):
            hawk.expect_equal(words, kind, f"{name}: class of {address}")
        else:
            hawk.expect(words.startswith("std::") or "[]" in kind == "[]" in words, f"{name}: {kind} is of class {words}")
    hawk.expect(typed >= 0.98 * len(truth), f"{name}: {typed} of {len(truth)} have a class")
    types = json.loads(hawk.text_of("types", "--json", core))["types"]
    for kind in ("shop::Order", "std::map<long, shop::Line>"):
        [sums] = [entry["objects"] for entry in types if plain(entry["type"] or "") == kind]
        hawk.expect_equal([plain(words or "") for words in found.values()].count(kind), sums, f"{name}: blocks of {kind}")
    snapshot = os.path.join(folder, f"{name}.hawk")
    hawk.text_of("snapshot", "-o", snapshot, core)
    of_core, of_sums, of_snapshot = (json.loads(hawk.text_of("analyze", *options, "--json"))
                                     for options in ((core,), (core, "--no-graph"), (snapshot,)))
    hawk.expect_equal(of_sums["sites"], of_core["sites"], f"{name}: classes with --no-graph")
    hawk.expect_equal(of_snapshot["sites"], of_core["sites"], f"{name}: classes in a snapshot")
    hawk.expect("shop::Order" in [frame["function"] for frame in of_snapshot["frames"]], f"{name}: {of_snapshot['frames']}")
    plain_sites = json.loads(hawk.text_of("analyze", "--no-types", "--json", core))
    hawk.expect("shop::Order" not in [frame["function"] for frame in plain_sites["frames"]], f"{name}: --no-types")
    [site] = [site["site"] for site in of_core["sites"] if of_core["frames"][site["stack"][0]]["function"] == "shop::Order"]
    hawk.expect(hawk.document("leaks", f"--site={site}", "--kinds=all", core, codes=(hawk.EXIT_OK, 1))["records"], f"{name}: leaks of a typed site")


def check_shapes(core, truth):
    """Containers of a stripped program: all are guesses, and none is wrong."""
    shapes = (("std::_Rb_tree_node<", "std::map or set, "), ("std::_List_node<", "std::list, "), ("char[]", "std::string?"),
              ("std::__detail::_Hash_node<", "std::unordered_map or set, "))
    found = {int(block["address"], 16): block["type"] or "" for block in hawk.blocks(core)}
    wanted = typed = 0
    for kind, address, _ in truth:
        shape = next((shape for prefix, shape in shapes if kind.startswith(prefix)), "std::vector?" if kind.endswith("[]") else None)
        words = found[int(address, 16)]
        wanted += shape is not None
        typed += words.endswith("?")
        hawk.expect(not words.startswith("std::") or words.startswith("std::_Sp_counted") or
                    (shape and words.startswith(shape) and words.endswith("?")), f"stripped: {kind} {address} is called {words}")
    hawk.expect(typed >= 0.98 * wanted, f"stripped: {typed} of {wanted} containers' parts")


folder = hawk.temporary_folder()
for build, (compiler, level) in BUILDS.items():
    program = hawk.compile_program(os.path.join(folder, build), ["typed.cpp"], compiler, [level, "-std=c++17"])
    for environment in (hawk.plain_environment(), hawk.tracer_environment())[:2 if build == "gcc" else 1]:
        core, done = hawk.crash([program], environment, folder)
        if not core:
            continue
        truth = [line.split("\t") for line in done.stdout.splitlines()]
        check_paths(core, truth, build)
        check_refs(core, truth, build)
        check_whatis(core, truth, build)
        check_containers(core, truth, build)
        if environment == hawk.plain_environment():
            check_classes(core, truth, build)
stripped = os.path.join(folder, "stripped")
hawk.run(["strip", "-o", stripped, os.path.join(folder, "gcc")])
core, done = hawk.crash([stripped], hawk.plain_environment(), folder)
if core:
    check_shapes(core, [line.split("\t") for line in done.stdout.splitlines()])
hawk.finish()
