# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of `leaks`: the programs of lost and kept blocks, and answers by site."""

import collections
import os
import re

from support import hawk

KINDS = ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")
LOST = ("definitely_lost", "indirectly_lost")


def site_of(functions):
    """The innermost function whose name begins with site_, without parameters; None = none."""
    for function in functions:
        name = re.match(r"(site_\w+)", function or "")
        if name:
            return name.group(1)
    return None


def direct_bytes(text, size):
    """Returns the direct bytes of "600 (40 direct, 560 indirect) bytes in ...", here 40."""
    direct = re.search(r"\(([\d,]+) direct", text)
    return int(direct.group(1).replace(",", "")) if direct else size


def ask(core, *arguments, codes=(0, 1, 4)):
    """`hawk-core leaks --json`, parsed."""
    done = hawk.run([hawk.CORE, "leaks", "--json", *arguments, *([core] if core else [])])
    if not hawk.expect(done.returncode in codes,
                       f"leaks {arguments} {core} exited with {done.returncode}: {done.stderr}"):
        return None
    document = hawk.parse(done.stdout)
    document["exit_code"] = done.returncode
    return document


def by_site(core, *arguments):
    """{site: {kind: (objects, bytes)}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: (0, 0)))
    document = ask(core, *arguments)
    for record in document["records"] if document else ():
        site = site_of(frame["function"] for frame in record["frames"])
        if site:
            before = found[site][record["kind"]]
            found[site][record["kind"]] = (before[0] + record["objects"],
                                           before[1] + record["bytes"])
    return {site: dict(kinds) for site, kinds in found.items()}


BUILDS = {
    "c": ("leaks_cases.c", "gcc", ["-O0"]),
    "cxx": ("leaks_cases_cxx.cpp", "g++", ["-O0", "-std=c++17"]),
    # std::string as it was: length, capacity and a count in front of the characters
    "cxx98": ("leaks_cases_cxx.cpp", "g++",
              ["-O0", "-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=0"]),
    # no vtable is in the core
    "fixed": ("leaks_cases_cxx.cpp", "g++", ["-O0", "-std=c++17", "-no-pie", "-fno-pie"]),
}


def build(name, folder):
    source, compiler, flags = BUILDS[name]
    return hawk.compile_program(os.path.join(folder, f"leaks_{name}"), [source], compiler, flags)


def programs(names=tuple(BUILDS)):
    """(name, program, folder, core) of each."""
    for name in names:
        folder = hawk.temporary_folder()
        program = build(name, folder)
        core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
        if core:
            yield name, program, folder, core
