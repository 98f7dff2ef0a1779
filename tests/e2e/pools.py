# SPDX-License-Identifier: Apache-2.0
"""Objects of pools against ground truth: every live one is a block at its place, of its size and from
its stack, none that was ended or reset is, and no byte is counted twice."""

import collections
import os

from support import hawk

INCLUDE = ["-I" + os.path.join(hawk.SOURCE, "tracer")]
POOL_FUNCTIONS = {"carve_kept", "carve_doomed", "take_slot", "make_subpool", "carve_nested"}


def owner_of(site):
    """The function of ours that a site stands for."""
    names = hawk.functions_of(site)
    return next((name for name in names if name in POOL_FUNCTIONS | {"take_arena_memory"}), "")


def truth_of(output):
    """Live objects as printed: address -> (function, size)."""
    truth = {}
    for line in output.splitlines():
        function, size, address = line.split()
        truth[int(address, 16)] = (function, int(size))
    return truth


def check_blocks(core, truth, analysis, what):
    """Block for block; returns the bytes that pools cut out of blocks."""
    sites = hawk.sites_by_id(analysis)
    found, carved, others = {}, 0, []
    for block in hawk.blocks(core):
        address = int(block["address"], 16)
        if block["kind"] != "pool":
            others.append((address, block["size"]))
            continue
        found[address] = (owner_of(sites[block["site"]]), block["size"])
    hawk.expect_equal(len(found), len(truth), f"{what}: objects of pools")
    wrong = [(hex(address), found.get(address), wanted) for address, wanted in truth.items()
             if found.get(address) != wanted]
    hawk.expect_equal(wrong[:5], [], f"{what}: objects")
    around = others + [(a, s) for a, (_, s) in truth.items()]
    for address, (_, size) in truth.items():
        if any(a < address and address + size <= a + s for a, s in around):
            carved += size + 16
    return carved


def check_sums(analysis, truth, carved, what):
    heap = analysis["heap"]
    by_function = collections.Counter()
    objects = collections.Counter()
    for site in analysis["sites"]:
        by_function[owner_of(site)] += site["inuse_bytes"]
        objects[owner_of(site)] += site["inuse_objects"]
    for function in POOL_FUNCTIONS:
        hawk.expect_equal(objects[function],
                          sum(1 for name, _ in truth.values() if name == function),
                          f"{what}: objects of {function}")
    hawk.expect_equal(sum(by_function.values()), heap["inuse_bytes"], f"{what}: sum of sites")
    hawk.expect_equal(heap["carved_bytes"], carved, f"{what}: carved bytes")
    hawk.expect_equal(heap["inuse_bytes"] + carved, heap["alloc_bytes"] - heap["free_bytes"],
                      f"{what}: live bytes")
    hawk.expect_equal(heap["inuse_objects"], heap["alloc_objects"] - heap["free_objects"],
                      f"{what}: live blocks")
    hawk.expect_equal(heap["overlapping"], 0, f"{what}: overlapping headers")
    # The rest of the arenas: the first holds 300 objects, and as many ended ones in between.
    arenas = by_function["take_arena_memory"]
    top = sum(s + 16 for n, s in truth.values() if n == "make_subpool" and s == 20000)
    kept = sum(s + 16 for n, s in truth.values() if n == "carve_kept")
    hawk.expect_equal(arenas, (1 << 20) + (1 << 18) + 8 * (1 << 16) - top - kept,
                      f"{what}: bytes left to the arenas")


def check_whatis(core, truth):
    """A pointer into an object belongs to it, one behind it to the arena."""
    address, (_, size) = next(item for item in truth.items()
                              if item[1][0] == "carve_kept" and item[1][1] == 39)
    for inside, wanted in ((0, "pool"), (38, "pool"), (48 + 16 + 8, "calloc")):
        done = hawk.run([hawk.CORE, "whatis", core, hex(address + inside)])
        hawk.expect(f"from {wanted}" in done.stdout,
                    f"whatis +{inside} says {done.stdout!r}, not {wanted}")


def check_program(allocator, compiler, flags, options=None):
    what = f"{compiler} {' '.join(flags)} {allocator} {options or ''}"
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, "pools"), ["pools.c"], compiler,
                                   [*INCLUDE, *flags])
    library = hawk.need_allocator(allocator)
    plain = hawk.run([program], env=hawk.plain_environment(library))
    hawk.expect_equal(plain.returncode, 0, f"{what}: without the tracer")
    core, done = hawk.crash([program, "abort"], hawk.tracer_environment(library, options), folder)
    analysis = core and hawk.analyze(core)
    if not analysis:
        return
    truth = truth_of(done.stdout)
    hawk.expect_equal([line.split()[:2] for line in plain.stdout.splitlines()],
                      [line.split()[:2] for line in done.stdout.splitlines()],
                      f"{what}: output")
    carved = check_blocks(core, truth, analysis, what)
    check_folds(core, analysis["heap"], what)
    check_sums(analysis, truth, carved, what)
    check_whatis(core, truth)


def check_pmr():
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, "pools_pmr"), ["pools_pmr.cpp"], "g++",
                                   ["-std=c++17", "-O1", *INCLUDE])
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    analysis = core and hawk.analyze(core)
    if not analysis:
        return
    lists = [site for site in analysis["sites"] if "fill_list" in hawk.functions_of(site) and
             not any("monotonic" in name for name in hawk.functions_of(site))]
    hawk.expect_equal(sum(site["inuse_objects"] for site in lists), 1000, "nodes of the pmr list")
    hawk.expect_equal(sum(site["inuse_bytes"] for site in lists), 24000, "bytes of the pmr list")
    hawk.expect_equal(sum(site["alloc_objects"] for site in lists), 1500, "nodes ever made")


def sql(core, query):
    return [tuple(row.values()) for row in hawk.sql(core, query)]


def check_folds(core, heap, what):
    """Everything that counts blocks over the pointer graph counts an arena once, its bytes right."""
    whole = (heap["inuse_objects"], heap["inuse_bytes"])
    for query in ("SELECT count(*), sum(size) FROM blocks",
                  "SELECT sum(inuse_objects), sum(inuse_bytes) FROM sites",
                  "SELECT sum(objects), sum(bytes) FROM leaks",
                  "SELECT sum(objects), sum(shallow_bytes) FROM retained"):
        hawk.expect_equal(sql(core, query), [whole], f"{what}: {query}")
    for verb in (["retained", "--by=tree"], ["merge-paths"]):
        tree = hawk.document(*verb, core)["tree"]
        hawk.expect_equal((tree[0]["cum_objects"], tree[0]["cum_bytes"]), whole, f"{what}: {verb}")
    blocks = hawk.document("retained", "--by=block", core)["blocks"]
    hawk.expect_equal(len(blocks), whole[0], f"{what}: retained --by=block")
    hawk.expect_equal(len({block["address"] for block in blocks}), whole[0], f"{what}: addresses")
    shares = hawk.document("sites", core)
    chosen = hawk.document("sites", "--size=0", core)
    by_id = [{site["site"]: (site["inuse_objects"], site["inuse_bytes"]) for site in graph["sites"]}
             for graph in (chosen, shares)]
    hawk.expect_equal(by_id[0], by_id[1], f"{what}: sites of all sizes")
    hawk.expect(chosen["edges"] == shares["edges"], f"{what}: edges of all sizes")
    grown = [{site["site"]: (site["inuse_objects"], site["inuse_bytes"]) for site in
              hawk.document("growth", *size, core)["sites"]}
             for size in (["--size=0"], [])]
    hawk.expect_equal(grown[0], grown[1], f"{what}: growth of all sizes")
    for site in shares["sites"][:3]:
        schema = hawk.document("schema", core, site["site"])
        hawk.expect_equal((schema["objects"], schema["bytes"]), (site["inuse_objects"], site["inuse_bytes"]),
                          f"{what}: schema of {site['site']}")
    for options in (["--by=tree"], ["--folded"]):
        answers = [hawk.run([hawk.CORE, "retained", *options, *chosen, core]).stdout.split("\n", 2)
                   for chosen in ([], ["--size=0"])]
        hawk.expect_equal(answers[1][2:], answers[0][2:], f"{what}: retained {options} of all sizes")
    objects = {site["site"]: site["inuse_objects"] for site in shares["sites"]}
    for edge in shares["edges"]:
        hawk.expect(edge["targets"] <= objects[edge["target"]],
                    f"{what}: {edge['targets']} of {objects[edge['target']]} blocks are held")


def check_arena_as_one(core):
    """pools_held: the arena, in five pieces, is one source, one target, one step."""
    [(arena, left)] = sql(core, "SELECT address, size FROM blocks WHERE size > 1000000")
    [(bytes_of_site,)] = sql(core, "SELECT max(inuse_bytes) FROM sites")
    hawk.expect_equal(left, bytes_of_site, "what is left of it")
    pointers = sql(core, f"SELECT offset, target FROM edges WHERE source = {arena}")
    hawk.expect_equal(len(pointers), 1, "pointers in the arena")
    held = pointers[0][1]
    hawk.expect_equal(sql(core, f"SELECT source FROM edges WHERE target = {held}"), [(arena,)],
                      "who holds an object")
    hawk.expect_equal(sql(core, f"SELECT count(*) FROM edges WHERE source > {arena - 1} AND "
                          f"source < {arena + 1}"), [(1,)], "the same by range")
    refs = hawk.document("refs", core, hex(held), hex(arena))["addresses"]
    hawk.expect_equal([(int(block["address"], 16), block["offset"], block["size"])
                       for block in refs[0]["blocks"]],
                      [(arena, pointers[0][0], pointers[0][0] + 8)], "refs of an object")
    hawk.expect_equal(sorted(root["root"]["symbol"] for root in refs[1]["roots"]
                             if root["root"]["symbol"]), ["arena", "at"], "roots of the arena")
    path = hawk.document("path", core, hex(held))["addresses"][0]
    hawk.expect_equal([int(step["address"], 16) for step in path["steps"]], [arena, held],
                      "steps to an object")
    [(retained,)] = sql(core, f"SELECT retained FROM blocks WHERE address = {arena}")
    hawk.expect(left + 200 - 64 <= retained <= left + 200, f"the arena retains {retained}")


def check_path_to_a_piece(program, folder):
    """pools_held: a root names a later piece of the arena, and no other does."""
    core, _ = hawk.crash([program, "hidden"], hawk.tracer_environment(), folder)
    [(arena,)] = sql(core, "SELECT address FROM blocks WHERE size > 1000000")
    for addresses in ([hex(arena)], [hex(arena + (3 << 20))],
                      [hex(arena), hex(arena + (3 << 20))]):
        done = hawk.document("path", core, *addresses)
        for found in done["addresses"]:
            symbol = found["root"] and found["root"]["symbol"]
            hawk.expect_equal(symbol, "at", f"root of the arena's blocks at {addresses}")


def check_holders():
    folder = hawk.temporary_folder()
    program = hawk.compile_program(os.path.join(folder, "pools_held"), ["pools_held.c"], "gcc",
                                   ["-O1", *INCLUDE])
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    check_arena_as_one(core)
    check_path_to_a_piece(program, folder)
    leaks = hawk.document("leaks", "--exit-code=0", core)
    kinds = collections.Counter()
    for record in leaks["records"]:
        names = [hawk.plain_name(frame["function"]) for frame in record["frames"]]
        name = next((name for name in names if name.startswith("make_")), None)
        kinds[name, record["kind"]] += record["objects"]
    hawk.expect_equal(kinds, {
        ("make_lost", "definitely_lost"): 2, ("make_arena", "still_reachable"): 1,
        ("make_named", "still_reachable"): 1, ("make_held_by_arena", "still_reachable"): 1,
        ("make_held_by_object", "still_reachable"): 1}, "who is lost around a pool")
    # The arena is in five pieces and one block.
    hawk.expect_equal(leaks["definitely_lost"]["objects"], 2, "definitely lost")
    analysis = hawk.analyze(core)
    hawk.expect_equal(sum(leaks[kind]["objects"] for kind in (
        "definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")),
        analysis["heap"]["inuse_objects"], "blocks of all kinds")


check_holders()
check_program("glibc", "gcc", ["-O2"])
check_program("jemalloc", "gcc", ["-O0"])
check_program("glibc", "clang", ["-O1", "-no-pie"])
check_pmr()
hawk.finish()
