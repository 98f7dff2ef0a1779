# SPDX-License-Identifier: Apache-2.0
"""Classes of C++ objects by their virtual tables: position-independent or not, stripped or not, traced or not. Tables of
a program at a fixed address are in no core; a stripped program has no symbols of them."""

import collections
import os
import re

from support import hawk, leaks

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


def check_traced(core, name):
    types = collections.Counter(block["type"] for block in hawk.blocks(core))
    for words, count in OBJECTS.items():
        hawk.expect_equal(types[words], count, f"{name}, traced: {words} of {dict(types)}")
    document = leaks.ask(core, "--heuristics=multipleinheritance")
    explained = document["heuristics"]["multipleinheritance"] if document else None
    hawk.expect(explained in (INNER, INNER + 1), f"{name}: {explained} interior pointers explained, not {INNER}")


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
    if core:
        check_untraced(core, name)
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    if core:
        check_traced(core, name)
    if core and name == "pie-stripped":
        os.unlink(program)
        check_without_file(core, name)
hawk.finish()
