# SPDX-License-Identifier: Apache-2.0
"""hawk-core sql: every table against the verbs and the program's own words; look-ups by address and
site give what a scan gives; the three formats; mistakes."""

import csv
import io
import json
import os
import re
import time

from support import hawk, holder_world


def sql(query, *options, code=0):
    done = hawk.run([hawk.CORE, "sql", *options, core, query])
    hawk.expect_equal(done.returncode, code, f"exit code of {query}: {done.stderr[-300:]}")
    return done.stdout


def rows(query):
    return hawk.sql(core, query)


def one(query):
    found = rows(query)
    hawk.expect_equal(len(found), 1, f"rows of {query}")
    return list(found[0].values())[0] if found else None


def check_blocks():
    listed = hawk.blocks(core)
    found = rows("SELECT addr(address) AS address, size, site, kind, age FROM blocks")
    hawk.expect_equal([(row["address"], row["size"], row["site"], row["kind"]) for row in found],
                      [(block["address"], block["size"], block["site"], block["kind"])
                       for block in listed], "blocks")
    middle = int(listed[len(listed) // 2]["address"], 16)
    for condition in (f"address = {middle}", f"address >= {middle}", f"address < {middle}",
                      f"address BETWEEN {middle - 5000} AND {middle + 5000}",
                      f"address <= {middle} AND address + size > {middle}",
                      f"address = {middle + 1}", "address < 0", "address > -5",
                      f"address IN ({middle}, {int(listed[0]['address'], 16)})",
                      "address = 'x'", "address < 1e9", f"site = '{listed[7]['site']}'",
                      f"site IN ('{listed[7]['site']}', '{listed[9]['site']}') AND "
                      f"site IN ('{listed[9]['site']}', 'zz') AND address > 0",
                      "site = 'zz'", "site = 7", f"site = '{listed[7]['site']}' AND size > 30"):
        # A unary plus keeps SQLite from using the look-up.
        scan = condition.replace("address", "+address").replace("site", "+site")
        hawk.expect_equal(rows(f"SELECT address FROM blocks WHERE {condition}"),
                          rows(f"SELECT address FROM blocks WHERE {scan}"), condition)
    types = {row["type"]: row["n"] for row in
             rows("SELECT type, count(*) AS n FROM blocks WHERE type NOT NULL GROUP BY type")}
    long = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    hawk.expect_equal(one(f"SELECT short('{long}')"), "std::string", "a short name")
    half = holder_world.SESSIONS // 2
    hawk.expect_equal((types.get("Session"), types.get("Connection")), (half, half), "types")
    hawk.expect_equal(one(f"SELECT retained FROM blocks WHERE address = {truth['hub']}"),
                      16 + holder_world.CELLS * (32 + 40), "what the hub retains")


def check_sites():
    analysis = hawk.analyze(core)
    found = {row["site"]: row for row in rows("SELECT * FROM sites")}
    for site in analysis["sites"]:
        row = found.get(site["site"], {})
        for key in ("inuse_objects", "inuse_bytes", "alloc_objects", "alloc_bytes"):
            hawk.expect_equal(row.get(key), site[key], f"{key} of {site['site']}")
        frames = rows(f"SELECT * FROM frames WHERE site = '{site['site']}' ORDER BY depth")
        hawk.expect_equal([frame["function"] for frame in frames],
                          [frame["function"] for frame in site["frames"]], "frames")
    hawk.expect_equal(one("SELECT inuse_objects FROM sites WHERE function = 'make_cell'"),
                      holder_world.CELLS, "cells")
    hawk.expect_equal(one("SELECT count(*) FROM frames WHERE function = 'make_lost'"), 2,
                      "both places that lose blocks")


def check_pointers():
    hawk.expect_equal(rows(f"SELECT offset, target, inside, interior FROM edges "
                           f"WHERE source = {truth['hub']}"),
                      [{"offset": 0, "target": truth["first"], "inside": 0, "interior": 0}],
                      "pointers of the hub")
    third = rows(f"SELECT source, offset FROM edges WHERE target = {truth['third_payload']}")
    hawk.expect_equal(third, [{"source": truth["third"], "offset": 8}], "pointers to a payload")
    hawk.expect_equal(rows(f"SELECT source, offset FROM edges WHERE +target = {truth['session']}"),
                      rows(f"SELECT source, offset FROM edges WHERE target = {truth['session']}"),
                      "edges by target")
    hawk.expect_equal(one(f"SELECT count(*) FROM edges WHERE source = {truth['third']} "
                          f"AND target = {truth['third_payload']}"), 1, "by both")
    roots = rows(f"SELECT kind, symbol, section, offset FROM roots WHERE target = {truth['hub']} "
                 "AND kind = 'module'")
    hawk.expect_equal(roots, [{"kind": "module", "symbol": "g_hub", "section": ".bss",
                               "offset": 0}], "the root of the hub")
    hawk.expect(one(f"SELECT count(*) FROM roots WHERE target = {truth['private']} "
                    "AND kind = 'tls'") >= 1, "a thread-local root")
    hawk.expect_equal(one("SELECT count(*) FROM roots r JOIN blocks b ON b.address = r.target"),
                      one("SELECT count(*) FROM roots"), "every root leads to a block")


def check_leaks():
    found = {row["kind"]: (row["objects"], row["bytes"]) for row in
             rows("SELECT kind, sum(l.objects) AS objects, sum(l.bytes) AS bytes FROM leaks l "
                  "JOIN frames f USING (site) WHERE f.function = 'make_lost' GROUP BY kind")}
    hawk.expect_equal(found, {"definitely lost": (5, 160), "indirectly lost": (5, 160)},
                      "lost cycles")
    hawk.expect_equal(one("SELECT sum(objects) FROM leaks"), one("SELECT count(*) FROM blocks"),
                      "every block has a kind")
    hawk.expect_equal(one("SELECT count(*) FROM leaks l WHERE NOT EXISTS (SELECT 1 FROM blocks b "
                          "WHERE b.address = l.example AND b.site = l.site "
                          "AND b.reach = l.kind)"), 0, "examples")
    hawk.expect_equal(one("SELECT all_pointers FROM retained r JOIN sites s USING (site) "
                          "WHERE s.function = 'make_hub'"),
                      16 + holder_world.CELLS * (32 + 40), "retained by site")


def check_sums():
    """The table of sums is what GROUP BY makes of the blocks."""
    hawk.expect_equal(rows("SELECT site, reach, sum(objects) AS n, sum(bytes) AS b FROM sums GROUP BY 1, 2"),
                      rows("SELECT site, reach, count(*) AS n, sum(size) AS b FROM blocks GROUP BY 1, 2"), "sums")
    hawk.expect_equal(one("SELECT count(*) FROM sums s WHERE objects != (SELECT count(*) FROM blocks b WHERE "
                          "b.site = s.site AND b.reach = s.reach AND b.size <= s.size_class "
                          "AND (b.size * 2 > s.size_class OR s.size_class = 0))"), 0, "size classes")
    hawk.expect_equal(sql("CREATE TEMP TABLE blocks AS SELECT 5 AS size; SELECT sum(size) FROM blocks").split(),
                      ["sum(size)", "5"], "a table of the user's")


def check_process():
    hawk.expect_equal(one("SELECT count(*) FROM threads"), 2, "threads")
    hawk.expect_equal(one("SELECT crashed FROM threads WHERE signal = 6"), 1, "the crash")
    hawk.expect_equal(one("SELECT count(*) FROM modules WHERE main AND path LIKE '%/holders'"), 1,
                      "modules")
    hawk.expect_equal(one(f"SELECT count(*) FROM mappings WHERE start <= {truth['g_hub']} "
                          f"AND end > {truth['g_hub']} AND rights = 'rw-'"), 1, "mappings")


def check_formats():
    query = """SELECT 'a "b", c' AS "x,y", 1 AS n, NULL AS z UNION ALL SELECT 'caf\u00e9', 2.5, 'q'"""
    parsed = list(csv.reader(io.StringIO(sql(query, "--format=csv"), newline="")))
    hawk.expect_equal("\r" in sql(query, "--format=csv"), False, "CSV: line ends")
    hawk.expect_equal(parsed, [["x,y", "n", "z"], ['a "b", c', "1", ""], ["caf\u00e9", "2.5", "q"]],
                      "CSV")
    hawk.expect_equal(rows(query), [{"x,y": 'a "b", c', "n": 1, "z": None},
                                    {"x,y": "caf\u00e9", "n": 2.5, "z": "q"}], "JSON")
    table = sql("SELECT site, inuse_bytes FROM sites ORDER BY inuse_bytes DESC LIMIT 2")
    lines = table.splitlines()
    hawk.expect_equal(lines[0].split(), ["site", "inuse_bytes"], "heading")
    hawk.expect_equal(len({len(line) for line in lines}), 1, "numbers end in one column")
    hawk.expect_equal(sql("SELECT 1 WHERE 0", "-j"), "[]\n", "no rows")
    many = sql("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000) "
               "SELECT n FROM c").splitlines()
    hawk.expect_equal((len(many), many[-1].strip()), (3001, "3000"), "more rows than are measured")
    hawk.expect_equal(sql(".schema").count("CREATE TABLE"), 12, ".schema")
    hawk.expect_equal(sql(".tables").split(), re.findall(r"CREATE TABLE (\w+)\(", sql(".schema")), ".tables")
    hawk.expect_equal(sql("CREATE TEMP TABLE t AS SELECT 7 AS x; SELECT x FROM t;").split(),
                      ["x", "7"], "several statements")


ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "


def check_csv_is_safe():
    """Escapes text that steers a terminal, is no UTF-8, or that a spreadsheet would calculate."""
    query = ("SELECT char(27) || '[31m', char(8238) || 'x', CAST(x'61ff' AS TEXT), '=cmd()', '+1', '-1', '@x', '==', "
             "'a=1', -5, -2.5, 'two\nlines', 'caf\u00e9' AS \"-name\"")
    heading, found = csv.reader(io.StringIO(sql(query, "--format=csv"), newline=""))
    hawk.expect_equal(found, ["\\x1b[31m", "\\xe2\\x80\\xaex", "a\\xff", "'=cmd()", "'+1", "'-1", "'@x", "'==", "a=1",
                              "-5", "-2.5", "two\\x0alines", "caf\u00e9"], "CSV")
    hawk.expect_equal(heading[-1], "-name", "heading")


def check_timeout():
    for query in (ENDLESS + "SELECT count(*) FROM c", ENDLESS + "SELECT n FROM c WHERE n < 0",
                  "SELECT 1; " + ENDLESS + "SELECT max(n) FROM c"):
        start = time.monotonic()
        done = hawk.run([hawk.CORE, "sql", "--timeout=1", core, query])
        took = time.monotonic() - start
        hawk.expect(done.returncode == hawk.EXIT_PARTIAL and 1 <= took < 10, f"{query}: {done.returncode}, {took} s")
        hawk.expect_equal(done.stderr, "hawk-core: SQL: stopped after 1 s, so rows are missing; --timeout=SECONDS "
                          "gives more time (0: no limit)\n", query)
    hawk.expect_equal(sql("SELECT 1 AS x", "--timeout=0").split(), ["x", "1"], "no limit")
    path = os.path.join(folder, "late")
    hawk.run([hawk.CORE, "sql", "--timeout=1", "-o", path, core, ENDLESS + "SELECT count(*) FROM c"])
    hawk.expect(not os.path.exists(path), "a file with half of an answer")


def check_limits():
    for query, words in (("SELECT length(zeroblob(200000000))", "too big"),
                         ("SELECT hex(randomblob(60000000))", "too big"),
                         ("CREATE TABLE t AS SELECT randomblob(1000000) FROM sites, frames LIMIT 2000", "512 MiB"),
                         ("SELECT " + "+".join(["1"] * 300), "depth"),
                         (" UNION ALL ".join(["SELECT 1"] * 200), "compound"),
                         ("SELECT '" + "x" + "' LIKE '" + "%x" * 5000 + "'", "LIKE")):
        done = hawk.run([hawk.CORE, "sql", core, query])
        hawk.expect(done.returncode in (hawk.EXIT_USAGE, hawk.EXIT_PARTIAL) and words in done.stderr,
                    f"{query[:70]}: {done.returncode}: {done.stderr[-200:]}")


def check_mistakes():
    for query in ("SELECT * FROM nothing", "SELEC 1", "DROP TABLE blocks", "DELETE FROM blocks",
                  "SELECT load_extension('x')"):
        done = hawk.run([hawk.CORE, "sql", core, query])
        hawk.expect_equal((done.returncode, len(done.stderr.splitlines())), (2, 1), query)
        hawk.expect(done.stderr.startswith("hawk-core: SQL: "), f"{query}: {done.stderr}")
    hawk.expect_equal(hawk.run([hawk.CORE, "sql", core]).returncode, 2, "no query")
    untraced, _ = hawk.crash([os.path.join(folder, "holders"), "abort"], hawk.plain_environment(),
                             folder)


def check_unknown():
    """Unknown values do not count as 0."""
    untraced, _ = hawk.crash([os.path.join(folder, "holders"), "abort"], hawk.plain_environment(), folder)
    for path in (untraced, hawk.cut(core, 1000), hawk.cut(core, 100000, "cut2")):
        for query in ("SELECT count(*) AS n FROM blocks", "SELECT sum(bytes) FROM leaks", "SELECT * FROM sites",
                      "WITH q AS (SELECT count(*) AS n FROM sums) SELECT n + 1 FROM q",
                      "CREATE TEMP TABLE t AS SELECT count(*) AS n FROM edges; SELECT n FROM t"):
            done = hawk.run([hawk.CORE, "sql", "-j", "--no-native", path, query])
            hawk.expect_equal((done.returncode, json.loads(done.stdout)), (4, None), f"{path}: {query}")
            hawk.expect("heap is" in done.stderr, f"why there is nothing: {done.stderr}")
            done = hawk.run([hawk.CORE, "sql", "--no-native", path, query])
            hawk.expect(done.stdout.startswith("unknown: the "), f"{path}: {query}: {done.stdout}")
        done = hawk.run([hawk.CORE, "sql", "-j", "--no-native", path, "SELECT count(*) AS n FROM mappings"])
        hawk.expect(json.loads(done.stdout)[0]["n"] > 0, f"{path}: the process is known: {done.stdout}")


folder = hawk.temporary_folder()
core, truth = holder_world.crash(folder)
hawk.run_checks(globals())
