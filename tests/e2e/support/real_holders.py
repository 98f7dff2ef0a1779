# SPDX-License-Identifier: Apache-2.0
"""The verbs that follow pointers, asked about cores of real programs."""

from support import hawk

def ask(*arguments):
    """Standard output of a verb; a core that lacks something is not a failure."""
    return hawk.text_of(*arguments, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))


def document(verb, core, *arguments):
    return hawk.document(verb, *arguments, core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))


def sql(core, query):
    """Rows as tuples."""
    return [tuple(row.values()) for row in hawk.sql(core, query)]


def with_frames(*functions):
    """For WHERE: sites whose stack has all these functions."""
    return " AND ".join(f"site IN (SELECT site FROM frames WHERE function = '{name}')"
                        for name in functions)


def tops(core, *arguments, verb="retained"):
    """[(kind, name, bytes)] of the first level of the tree, largest first."""
    nodes = document(verb, core, *arguments)["tree"]
    return sorted(((node["kind"], node["name"], node["cum_bytes"]) for node in nodes[1:]
                   if node["parent"] == 0), key=lambda top: -top[2])


def check_screens(core, what):
    """All verbs answer, within 80 columns."""
    for arguments in (["retained"], ["retained", "--by=root"], ["retained", "--by=tree"],
                      ["retained", "--by=block"], ["sites"], ["merge-paths"],
                      ["leaks", "--exit-code=0"], ["path", "--size=1-"],
                      ["path", "--size=64-8192"], ["growth"]):
        hawk.expect_columns(ask(*arguments, core), f"{what}: {arguments}")
    for arguments, most in (["--brief"], 8 << 10), (["--json", "--top=10"], 40 << 10):
        size = len(ask("analyze", *arguments, core))
        hawk.expect(0 < size <= most, f"{what}: analyze {arguments}: {size} bytes")


def check_sums(core, what):
    """All folds are of the same blocks; returns (objects, bytes)."""
    [whole] = sql(core, "SELECT sum(inuse_objects), sum(inuse_bytes) FROM sites")
    hawk.expect_equal(sql(core, "SELECT count(*), sum(size) FROM blocks"), [whole],
                      f"{what}: blocks")
    hawk.expect_equal(sql(core, "SELECT sum(objects), sum(bytes) FROM leaks"), [whole],
                      f"{what}: kinds of leaks")
    for verb, arguments in (("retained", ["--by=tree"]), ("merge-paths", [])):
        tree = document(verb, core, *arguments)["tree"]
        hawk.expect_equal((tree[0]["cum_objects"], tree[0]["cum_bytes"]), whole, f"{what}: {verb}")
    return whole


def check_lost(core, what, most):
    """Checks that a healthy program's lost memory is at most `most` bytes, and listed."""
    found = document("leaks", core, "--exit-code=0")
    lost = found["definitely_lost"]["bytes"] + found["indirectly_lost"]["bytes"]
    hawk.expect(lost <= most, f"{what}: {lost} bytes are called lost, of " + ", ".join(
        "/".join(str(frame["function"]) for frame in record["frames"][:4])
        for record in found["records"] if record["kind"] == "definitely_lost"))
    return found


def check_roots(core, what, least_named):
    """Roots in modules have a symbol or a section; those of stacks a frame. `least_named`: share of
    the bytes whose shortest path begins at a root that is no bare address."""
    [(bad,)] = sql(core, "SELECT count(*) FROM roots WHERE (kind = 'module' AND module IS NULL) OR "
                   "(kind IN ('stack', 'register', 'tls') AND thread IS NULL) OR name IS NULL")
    hawk.expect_equal(bad, 0, f"{what}: roots without a name")
    paths = tops(core, verb="merge-paths")
    all_bytes = sum(size for _, _, size in paths)
    named = sum(size for kind, name, size in paths
                if kind == "root" and not name.startswith(("mapping 0x", "memory between")))
    hawk.expect(named >= least_named * all_bytes,
                f"{what}: {named} of {all_bytes} bytes lie behind named roots: {paths[:6]}")


def check_path(core, what, address, root_kinds=("module", "tls", "stack", "register", "other")):
    """A path to a block is a chain of pointers that are in the graph; returns its root's name."""
    path = hawk.document("path", core, hex(address))["addresses"][0]
    if not hawk.expect(path["root"] and path["steps"], f"{what}: no path to {address:#x}"):
        return None
    hawk.expect(path["root"]["kind"] in root_kinds, f"{what}: root {path['root']}")
    steps = [int(step["address"], 16) for step in path["steps"]]
    hawk.expect_equal(steps[-1], address, f"{what}: the last step")
    for source, target, step in zip(steps, steps[1:], path["steps"][1:]):
        hawk.expect_equal(sql(core, f"SELECT count(*) FROM edges WHERE source = {source} AND "
                              f"target = {target} AND offset = {step['offset']}"), [(1,)],
                          f"{what}: the pointer from {source:#x} to {target:#x}")
    refs = hawk.document("refs", core, hex(address))["addresses"][0]
    if len(steps) > 1:
        hawk.expect(steps[-2] in [int(block["address"], 16) for block in refs["blocks"]],
                    f"{what}: refs knows the last pointer")
    return path["root"]["name"]
