# SPDX-License-Identifier: Apache-2.0
"""Classes of C++ objects by their virtual tables, in all output and as the histogram of `types`: position-independent or not, stripped or not, traced or not. Tables of
a program at a fixed address are in no core; a stripped program has no symbols of them."""

import collections
import json
import os
import re

from support import hawk, json_schema, leaks

OBJECTS = {"shop::Order": 170, "shop::Box<int>": 50, "(anonymous namespace)::Local": 30}
INNER = 70
BUILDS = {
    "pie": ["-fpie", "-pie"],
    "pie-stripped": ["-fpie", "-pie", "-s"],
    "fixed": ["-fno-pie", "-no-pie"],
    "fixed-stripped": ["-fno-pie", "-no-pie", "-s"],
    # constants lie among the code, as older linkers have them
    "fixed-joined": ["-fno-pie", "-no-pie", "-s", "-Wl,-z,noseparate-code"],
    # no type_infos
    "fixed-plain": ["-fno-pie", "-no-pie", "-fno-rtti"],
}


def check_untraced(core, name):
    analysis = hawk.analyze(core, "--no-suspects")
    found = collections.Counter()
    for site in analysis["sites"] if analysis else ():
        for function in hawk.functions_of(site):
            found[function] += site["inuse_objects"]
    for words, count in OBJECTS.items():
        hawk.expect_equal(found[words], count, f"{name}: {words} of {dict(found)}")
    internal = [line.split()[2] for line in hawk.text_of("sites", "--full", core).splitlines()
                if line.endswith("(internal: reserve for exceptions)")]
    hawk.expect_equal(internal, ["1"], f"{name}: what libstdc++ allocates at start")


def check_traced(core, name):
    types = collections.Counter(block["type"] for block in hawk.blocks(core))
    for words, count in OBJECTS.items():
        hawk.expect_equal(types[words], count, f"{name}, traced: {words} of {dict(types)}")
    document = leaks.ask(core, "--heuristics=multipleinheritance")
    explained = document["heuristics"]["multipleinheritance"] if document else None
    hawk.expect(explained in (INNER, INNER + 1), f"{name}: {explained} interior pointers explained, not {INNER}")


def types_of(core, *arguments):
    document = json.loads(hawk.text_of("types", "--json", *arguments, core))
    complaints = json_schema.validate(document, json_schema.load("types-3.json"))
    hawk.expect(not complaints, f"types {core}: {complaints}")
    return document


def check_types(core, name, traced):
    document = types_of(core)
    found = {entry["type"]: entry for entry in document["types"]}
    for words, count in OBJECTS.items():
        entry = found.get(words, {"objects": 0, "known_by": "", "guess": True, "oldest_seconds": None})
        hawk.expect_equal((entry["objects"], entry["known_by"], entry["guess"]), (count, "vtable", False), f"{name}: {words}")
        hawk.expect_equal(entry["oldest_seconds"] is not None, traced, f"{name}: age of {words}")
    blocks = hawk.blocks(core)
    hawk.expect_equal(sum(entry["objects"] for entry in found.values()), len(blocks), f"{name}: blocks of all types")
    hawk.expect_equal(sum(entry["shallow_bytes"] for entry in found.values()), sum(block["size"] for block in blocks),
                      f"{name}: bytes of all types")
    if not traced:
        classes = {hawk.functions_of(site)[0]: (site["inuse_objects"], site["inuse_bytes"])
                   for site in hawk.analyze(core, "--no-suspects")["sites"]}
        hawk.expect_equal({hawk.plain_name(words): (entry["objects"], entry["shallow_bytes"])
                           for words, entry in found.items()}, classes,
                          f"{name}: types and the classes of analyze")
    return {entry["type"]: entry["id"] for entry in document["types"]}


def check_screen(core):
    text = hawk.text_of("types", core)
    hawk.expect_columns(text, "types")
    hawk.expect("merge-paths '--type=^shop::Order$'" in text, f"the next command: {text}")
    snapshot = f"{core}.hawk"
    hawk.text_of("snapshot", "-o", snapshot, core)
    hawk.expect_equal(types_of(snapshot)["types"], types_of(core)["types"], "types of a core and its snapshot")
    hawk.expect("retained" not in hawk.text_of("types", "--no-graph", core), "--no-graph")
    hawk.text_of("types", "--no-graph", "--sort=retained", core, codes=(hawk.EXIT_USAGE,))
    counts = [entry["objects"] for entry in types_of(core, "--sort=count")["types"]]
    hawk.expect_equal(counts, sorted(counts, reverse=True), "--sort=count")


def check_without_file(core, name):
    """Without the program's file no class has a name: it is known by its table's place."""
    types = collections.Counter(block["type"] for block in hawk.blocks(core))
    for count in OBJECTS.values():
        places = [words for words, there in types.items() if there == count and words and f"{name}+0x" in words]
        hawk.expect_equal(len(places), 1, f"{name}: classes of {count} objects in {dict(types)}")
        found = hawk.blocks(core, "--type", f"^{re.escape(places[0])}$") if places else []
        hawk.expect_equal(len(found), count, f"{name}: blocks of type {places}")


folder = hawk.temporary_folder()
for name, flags in BUILDS.items():
    program = hawk.compile_program(os.path.join(folder, name), ["classes.cpp"], "g++", ["-O0", "-std=c++17", *flags])
    core, _ = hawk.crash([program], hawk.plain_environment(), folder)
    ids = {}
    if core:
        check_untraced(core, name)
        ids = check_types(core, name, False)
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    if core:
        check_traced(core, name)
        again = check_types(core, name, True)
        hawk.expect_equal({words: again.get(words) for words in OBJECTS}, {words: ids.get(words) for words in OBJECTS},
                          f"{name}: ids, untraced and traced")
    if core and name == "pie":
        check_screen(core)
    if core and name == "pie-stripped":
        os.unlink(program)
        check_without_file(core, name)
hawk.finish()
