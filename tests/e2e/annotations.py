# SPDX-License-Identifier: Apache-2.0
"""The annotation header: scopes are frames at their places and groups with exact sums, whatever
leaves them; types are found at their blocks; both outlive the library whose text they were. Without
the tracer, also in static executables, nothing happens."""

import os

from support import hawk

INCLUDE = "-I" + os.path.join(hawk.SOURCE, "tracer")
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Werror", INCLUDE)


def source(name):
    return os.path.join(hawk.PROGRAMS, name)


def scopes_of(analysis):
    return {"/".join(scope["path"]): scope for scope in analysis["scopes"]}


def expect_scope(scopes, path, entries, allocated, held):
    """`allocated` and `held`: (blocks, bytes each) of which the scope consists."""
    if not hawk.expect(path in scopes, f"no scope {path}: {sorted(scopes)}"):
        return
    scope = scopes[path]
    hawk.expect_equal(scope["entries"], entries, f"entries of {path}")
    hawk.expect_equal((scope["alloc_objects"], scope["alloc_bytes"]),
                      (sum(count for count, _ in allocated),
                       sum(count * size for count, size in allocated)), f"allocated in {path}")
    hawk.expect_equal((scope["inuse_objects"], scope["inuse_bytes"]),
                      (sum(count for count, _ in held),
                       sum(count * size for count, size in held)), f"held in {path}")


def with_size(analysis, size):
    return [site for site in analysis["sites"]
            if site["inuse_objects"] and site["inuse_bytes"] == size * site["inuse_objects"]]


def lines(site, last="main"):
    """The stack as "function" or "[scope]", innermost first, up to main."""
    found = [f"[{frame['scope']}]" if frame["kind"] == "scope"
             else hawk.plain_name(frame["function"]) for frame in site["frames"]]
    return found[:found.index(last) + 1] if last in found else found


def check_scopes(analysis):
    scopes = scopes_of(analysis)
    expect_scope(scopes, "outer", 3, [(3, 1000), (6, 2000), (6, 3000)], [(3, 1000), (6, 2000)])
    expect_scope(scopes, "outer/inner", 6, [(6, 2000), (6, 3000)], [(6, 2000)])
    expect_scope(scopes, "first", 1, [(1, 5000)], [(1, 5000)])
    expect_scope(scopes, "first/second", 1, [(1, 5000)], [(1, 5000)])
    expect_scope(scopes, "recursive", 10, [(1, 6000)], [(1, 6000)])
    expect_scope(scopes, "jumped", 100, [(100, 7000)], [(100, 7000)])
    expect_scope(scopes, "after jump", 1, [(1, 7002)], [(1, 7002)])
    expect_scope(scopes, "coroutine", 1, [(2, 9000)], [(2, 9000)])
    expect_scope(scopes, "raise", 1, [(5, 10000)], [(5, 10000)])
    expect_scope(scopes, "raise/handler", 5, [(5, 10000)], [(5, 10000)])
    expect_scope(scopes, "fork", 1, [(1, 11002)], [(1, 11002)])
    expect_scope(scopes, "types", 1, [(10, 12000), (5, 12001)], [(10, 12000)])
    expect_scope(scopes, "plugin", 2, [(2, 14000)], [(2, 14000)])
    hawk.expect_equal(scopes.get("thread", {}).get("entries"), 8, "threads")
    hawk.expect("fork/child" not in scopes, "the child's scopes are the child's")
    hawk.expect(scopes["outer"]["total_ns"] >= scopes["outer/inner"]["total_ns"] > 0, "time")
    hawk.expect(scopes["recursive"]["total_ns"] < 10 * scopes["fork"]["total_ns"] + 10**9, "time")


def check_places(analysis):
    stacks = {
        500: ["keep", "main"],
        1000: ["keep", "[outer]", "nested", "main"],
        2000: ["keep", "[inner]", "within_inner", "between", "[outer]", "nested", "main"],
        4000: ["keep", "nested", "main"],
        5000: ["keep", "[second]", "[first]", "two_in_a_block", "main"],
        6000: ["keep"] + ["[recursive]", "recursive"] * 10 + ["main"],
        7000: ["keep", "[jumped]", "jump_out", "jumping", "main"],
        7001: ["keep", "jumping", "main"],
        7002: ["keep", "[after jump]", "jumping", "main"],
        9001: ["keep", "coroutines", "main"],
        11002: ["keep", "[fork]", "forks", "main"],
        12000: ["keep", "[types]", "types", "main"],
        13000: ["keep", "typed_without_scope", "main"],
        14000: ["[plugin]", "plugin_work", "unloaded", "main"],
    }
    for size, stack in stacks.items():
        sites = with_size(analysis, size)
        hawk.expect(sites, f"no blocks of {size} bytes")
        for site in sites:
            hawk.expect_equal(lines(site), stack, f"stack of {size} bytes")
    for site in with_size(analysis, 9000):
        hawk.expect_equal(lines(site)[:3], ["keep", "[coroutine]", "coroutine"], "coroutine")
    for site in with_size(analysis, 10000):
        stack = lines(site)
        hawk.expect_equal(stack[:3], ["keep", "[handler]", "on_signal"], "handler")
        hawk.expect_equal(stack[-3:], ["[raise]", "signals", "main"], "interrupted")
        hawk.expect_equal(site["scopes"], ["raise", "handler"], "scopes of a site")


def check_types(analysis, core):
    found = {}
    for site in analysis["sites"]:
        if site["type"]:
            key = (site["type"], site["alloc_objects"], site["inuse_objects"])
            found[key] = found.get(key, 0) + site["inuse_bytes"]
    hawk.expect_equal(found, {("Node", 7, 7): 7 * 12000, ("Leaf<int>", 3, 3): 3 * 12000,
                              ("Gone", 5, 0): 0, ("Plain", 1, 1): 13000,
                              ("PluginThing", 2, 2): 2 * 14000}, "types")
    block = next(block for block in hawk.blocks(core) if block["size"] == 13000)
    done = hawk.run([hawk.CORE, "whatis", core, block["address"]])
    hawk.expect("type Plain" in done.stdout, f"whatis: {done.stdout}")
    node = next(block for block in hawk.blocks(core) if block["size"] == 12000)
    done = hawk.run([hawk.CORE, "whatis", core, node["address"]])
    hawk.expect('scope "types"' in done.stdout, f"whatis: {done.stdout}")


def check_filters(core):
    for pattern, wanted in (("^inner$", 6), ("^Leaf", 3), ("^after jump$", 1)):
        sites = hawk.analyze(core, "--focus", pattern)["sites"]
        hawk.expect_equal(sum(site["inuse_objects"] for site in sites), wanted, pattern)
        rest = hawk.analyze(core, "--ignore", pattern)["sites"]
        ids = {site["site"] for site in sites}
        hawk.expect(not any(site["site"] in ids for site in rest), f"--ignore {pattern}")


def check_text(core):
    text = hawk.run([hawk.CORE, "analyze", "--by", "scope", core]).stdout
    hawk.expect("raise/handler" in text and "(outside of scopes)" in text, text)
    hawk.expect(max(map(len, text.splitlines())) <= 80, f"wider than 80 columns:\n{text}")
    full = hawk.run([hawk.CORE, "analyze", "--full", core]).stdout
    hawk.expect('scope "coroutine"' in full and "type PluginThing" in full, "--full")


def check_c(compiler, flags):
    program = os.path.join(folder, "annotate_c")
    plugin = os.path.join(folder, "plugin.so")
    hawk.compile_program(program, [source("annotate_c.c")], compiler,
                         ("-std=gnu99", "-g", *STRICT, *flags))
    hawk.compile_program(plugin, [source("annotate_plugin.c")], compiler,
                         ("-std=c99", "-g", "-fPIC", "-shared", "-fvisibility=hidden",
                          "-Wl,-z,defs", *STRICT))
    plain = hawk.run([program, "run", plugin], env=hawk.plain_environment())
    hawk.expect_equal((plain.returncode, plain.stdout), (0, "145 blocks\n"), "without the tracer")
    core, done = hawk.crash([program, "abort", plugin], hawk.tracer_environment(), folder)
    hawk.expect_equal(done.stdout, plain.stdout, "output")
    analysis = hawk.analyze(core, "--by", "scope")
    hawk.check_counters(analysis, "annotate_c")
    check_scopes(analysis)
    check_places(analysis)
    check_types(analysis, core)
    return core, program, plugin


def check_cxx(compiler, flags):
    program = os.path.join(folder, "annotate_cxx")
    hawk.compile_program(program, [source("annotate_cxx.cpp")], compiler,
                         ("-std=c++11", "-g", *STRICT, *flags))
    core, _ = hawk.crash([program, "abort"], hawk.tracer_environment(), folder)
    analysis = hawk.analyze(core, "--by", "scope")
    hawk.check_counters(analysis, "annotate_cxx")
    scopes = scopes_of(analysis)
    hawk.expect_equal({path: scope["entries"] for path, scope in scopes.items() if path},
                      {"catcher": 1, "catcher/try": 4, "catcher/try/thrower": 16, "shapes": 6},
                      "scopes of C++")
    for size, scope in ((3500, ["catcher", "try", "thrower"]), (4500, ["catcher"]), (5500, [])):
        for site in with_size(analysis, size):
            hawk.expect_equal(site["scopes"], scope, f"scopes of {size} bytes")
    shapes = [site for site in analysis["sites"] if site["type"] == "shape"]
    hawk.expect_equal([sum(site[key] for site in shapes) for key in ("inuse_objects", "inuse_bytes")],
                      [6, 15000], "shapes")


def check_only_scopes(program, plugin):
    core, _ = hawk.crash([program, "abort", plugin],
                         hawk.tracer_environment(options="only=scopes"), folder)
    analysis = hawk.analyze(core, "--by", "scope")
    hawk.check_counters(analysis, "only=scopes")
    check_scopes(analysis)
    for site in analysis["sites"]:
        if site["scopes"]:
            hawk.expect("[" in "".join(lines(site)), f"scopes {site['scopes']} without a frame")
        else:
            hawk.expect_equal(site["frames"], [], "a stack outside of scopes")
    hawk.expect_equal([site["type"] for site in with_size(analysis, 13000)], ["Plain"],
                      "a type without a stack")
    text = hawk.run([hawk.CORE, "analyze", core]).stdout
    hawk.expect("only=scopes" in text, "the report does not say so")


def check_static():
    for flags in (("-static",), ("-static-pie", "-fPIE"), ("-no-pie", "-fno-pic")):
        program = os.path.join(folder, "annotate_plain")
        main = os.path.join(folder, "plain.c")
        with open(main, "w", encoding="ascii") as file:
            file.write('#include <errno.h>\n#include "hawk_annotate.h"\n'
                       'int main(void)\n{\n\tHAWK_SCOPE("a");\n\tHAWK_SCOPE("b");\n\tint x = 7;\n'
                       '\thawk_annotate_type(&x, "int");\n\treturn x - 7 + errno;\n}\n')
        hawk.compile_program(program, [main], "gcc", ("-std=c99", "-O1", *flags, *STRICT))
        done = hawk.run([program], env=hawk.plain_environment())
        hawk.expect_equal(done.returncode, 0, f"{flags}")


def check_stress(options):
    """Every entry is counted, whatever threads, jumps and handlers do; and the heap is right."""
    core, done = hawk.crash([stress], hawk.tracer_environment(options=options), folder)
    wanted = {tag: int(count) for tag, count in map(str.split, done.stdout.splitlines())}
    analysis = hawk.analyze(core, "--by", "scope")
    if "sample" not in options:
        hawk.check_counters(analysis, f"stress {options}")
    found = dict.fromkeys(wanted, 0)
    for scope in analysis["scopes"]:
        if scope["path"]:
            found[scope["path"][-1]] += scope["entries"]
    # A handler that comes when its thread has given its slot back is not counted.
    lost = wanted.pop("handler") - found.pop("handler")
    hawk.expect(0 <= lost <= 8, f"{lost} entries of handlers are lost")
    hawk.expect_equal(found, wanted, f"entries with {options}")
    hawk.expect_equal(analysis["heap"]["dropped"], 0, f"dropped with {options}")
    if "sample" not in options:
        types = {site["type"]: site["inuse_objects"] for site in analysis["sites"]
                 if site["type"] and site["inuse_objects"]}
        hawk.expect_equal(types, {"odd": 8}, f"types with {options}")


folder = hawk.temporary_folder()
for name, options in (("gcc", ("-O2",)), ("clang", ("-O0",)),
                      ("gcc", ("-O1", "-no-pie", "-fno-pic"))):
    dump, executable, library = check_c(name, options)
check_filters(dump)
check_text(dump)
check_only_scopes(executable, library)
for name, options in (("g++", ("-O2",)), ("clang++", ("-O0",))):
    check_cxx(name, options)
check_static()
stress = os.path.join(folder, "annotate_stress")
hawk.compile_program(stress, [source("annotate_stress.c")], "gcc", ("-O2", *STRICT))
for variant in ("stats=0", "live=1", "only=scopes", "sample=1k", "unwind=fp:collapse=4"):
    check_stress(variant)
hawk.finish()
