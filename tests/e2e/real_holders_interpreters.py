# SPDX-License-Identifier: Apache-2.0
"""python3, perl and sqlite3: what holds their objects, by the names that their authors gave it."""

import os
import real_holders as holders
import sys

from support import hawk, real

PYTHON = """
import os, sys
class Node:
    def __init__(self, number): self.number, self.text = number, "node number %d" % number
cache = {number: Node(number) for number in range(20000)}
os.abort()
"""
PERL = r"""
our %cache = map { ("key $_" => "value " x 10 . $_) } 1 .. 20000;
kill 'ABRT', $$; sleep 10;
"""
SQLITE = """
create table item(id integer primary key, name text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
insert into item select i, 'item ' || (i * 7919 % 20011) from n;
create index item_name on item(name);
"""


def core_of(name, arguments, environment=None):
    core, _ = hawk.crash(arguments, hawk.tracer_environment(extra=environment), folder)
    if core:
        objects, size = holders.check_sums(core, name)
        print(f"{name}: {objects} blocks, {size} bytes", flush=True)
        holders.check_screens(core, name)
    return core


def check_python():
    """The module's dictionary is reached from the interpreter, which is in _PyRuntime."""
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    core = core_of("python3", [python, "-c", PYTHON], {"PYTHONMALLOC": "malloc"})
    if not core:
        return
    found = holders.check_lost(core, "python3", 0)
    hawk.expect(found["possibly_lost"]["objects"] < 10000, f"python3: {found['possibly_lost']}")
    hawk.expect(found["heuristics"]["listnode"] > 20000, f"heuristics: {found['heuristics']}")
    holders.check_roots(core, "python3", 0.5)
    groups = holders.tops(core, "--by=root")
    hawk.expect(any("_PyRuntime" in name for _, name, _ in groups), f"roots: {groups[:6]}")
    # 20,000 texts, each held by the dictionary of a node
    [(texts, example)] = holders.sql(core, "SELECT count(*), min(address) FROM blocks WHERE site = "
                                     "(SELECT site FROM sites WHERE site IN (SELECT site FROM "
                                     "frames WHERE function = 'PyUnicode_Format') "
                                     "ORDER BY inuse_objects DESC LIMIT 1)")
    hawk.expect(texts >= 20000, f"{texts} texts")
    holders.check_path(core, "python3", example)
    # The dictionary's table: about 590,000 bytes. What it holds is in the collector's lists, too,
    # and so is retained by nobody alone.
    found = holders.sql(core, "SELECT address FROM blocks WHERE size >= 500000")
    if hawk.expect_equal(len(found), 1, "python3: large dictionaries"):
        [(pointers,)] = holders.sql(core, f"SELECT count(DISTINCT target) FROM edges WHERE source = "
                                    f"{found[0][0]}")
        hawk.expect(pointers >= 20000, f"{pointers} blocks in the dictionary")
        holders.check_path(core, "python3", found[0][0])


def check_perl():
    """The interpreter, made by perl_alloc(), is held by a variable; the hash has 20,000 entries."""
    perl = hawk.need("perl")
    core = core_of("perl", [perl, "-e", PERL])
    if not core:
        return
    holders.check_lost(core, "perl", 0)
    holders.check_roots(core, "perl", 0.9)
    [(interpreter,)] = holders.sql(core, "SELECT address FROM blocks WHERE " +
                                   holders.with_frames("perl_alloc") + " ORDER BY size DESC LIMIT 1")
    name = holders.check_path(core, "perl", interpreter, ("module",))
    hawk.expect(name and "perl" in name and (".bss" in name or ".data" in name),
                f"the interpreter is held by {name}")
    [(slots, pointers)] = holders.sql(
        core, "SELECT e.source, count(*) AS n FROM edges e JOIN blocks b ON b.address = e.source "
        "WHERE b.size >= 100000 AND e.interior = 0 GROUP BY e.source ORDER BY n DESC LIMIT 1")
    # entries come in pages, so that most pointers to them are interior
    [(all_pointers,)] = holders.sql(core, f"SELECT count(*) FROM edges WHERE source = {slots}")
    hawk.expect(all_pointers >= pointers and all_pointers > 5000,
                f"{all_pointers} pointers in the largest array")
    holders.check_path(core, "perl", slots)


def sqlite_core():
    """One in which no vector register happens to hold a page's address, which now and then is left
    there while the shell waits for its child: such a page is not the pager's alone."""
    sqlite = hawk.need("sqlite3")
    for _ in range(8):
        core = core_of("sqlite3", [sqlite, ":memory:", SQLITE, ".shell kill -ABRT $PPID"])
        if not core:
            return None
        [(left,)] = holders.sql(
            core, "SELECT count(*) FROM roots r JOIN blocks b ON b.address = r.target WHERE "
            "r.kind = 'register' AND b.size > 4096 AND b.size < 8192")
        if not left:
            return core
    hawk.expect(False, "a register held a page's address each time")
    return None


def check_sqlite():
    """A connection holds its pager, that holds the page cache: nearly all there is."""
    core = sqlite_core()
    if not core:
        return
    found = holders.check_lost(core, "sqlite3", 0)
    # Its blocks begin with their length, and its pointers point behind that.
    hawk.expect(found["heuristics"]["length64"] > 100, f"heuristics: {found['heuristics']}")
    # The page cache's headers lie behind the pages, and know where these begin.
    hawk.expect(found["heuristics"]["backpointer"] > 100, f"heuristics: {found['heuristics']}")
    hawk.expect(found["possibly_lost"]["bytes"] < 100000, f"sqlite3: {found['possibly_lost']}")
    holders.check_roots(core, "sqlite3", 0.9)
    [whole] = holders.sql(core, "SELECT sum(size) FROM blocks")
    [(pager, retained)] = holders.sql(
        core, "SELECT address, retained FROM blocks WHERE " +
        holders.with_frames("sqlite3PagerOpen") + " ORDER BY retained DESC LIMIT 1")
    hawk.expect(retained >= 0.8 * whole[0], f"the pager retains {retained} of {whole[0]}")
    pages = holders.sql(core, "SELECT address FROM blocks WHERE size > 4096 AND size < 8192 "
                        "ORDER BY address LIMIT 1 OFFSET 20")
    if hawk.expect(pages, "pages"):
        name = holders.check_path(core, "sqlite3", pages[0][0])
        hawk.expect(name and "frame" in name, f"the connection is on the stack, not {name}")


folder = real.support()
check_python()
check_perl()
check_sqlite()
hawk.finish()
