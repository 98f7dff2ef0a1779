# SPDX-License-Identifier: Apache-2.0
"""hawk-core export of graphs: the heap snapshot, the Java heap dump, the database and the drawing say what the verbs say; files of mode 0600
that are complete or not there; damaged cores, hostile names, carved blocks."""

import collections
import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess

from support import core_surgery, exports, hawk, heap_snapshot, holder_world, hprof

ROUNDS = int(os.environ.get("HAWK_DAMAGE_ROUNDS", "5"))
LOST = "(lost: no root leads there)"
IN_DOUBT = "(perhaps lost: no root was found to lead there)"

HOSTILE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hawk_annotate.h"

void *kept[2];

int main(void)
{
	kept[0] = malloc(100);
	memset(kept[0], 0, 100);
	hawk_annotate_type(kept[0], "evil\"\\\n\x1b[31m\xff</script>");
	abort();
}
"""

CARVED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hawk_annotate.h"

char **arena;

int main(void)
{
	arena = malloc(4096);
	memset(arena, 0, 4096);
	char **piece = (char **)((char *)arena + 1024);
	hawk_block_begin(piece, 64);
	arena[0] = malloc(200); /* in the first part */
	memset(arena[0], 0, 200);
	piece[1] = malloc(300);
	memset(piece[1], 0, 300);
	arena[300] = malloc(400); /* behind the piece */
	memset(arena[300], 0, 400);
	abort();
}
"""

LOCAL = r"""
#include <stdlib.h>

__attribute__((noinline)) void **make_table(void) { return calloc(40000, sizeof(void *)); }

__attribute__((noinline)) void keep(void)
{
	void **volatile table = make_table();

	table[1] = table;
	for (int i = 20000; i < 40000; i++)
		table[i] = table;
	abort();
}

int main(void)
{
	keep();
}
"""


def refuse(*arguments, code=hawk.EXIT_USAGE, word=""):
    done = hawk.run([hawk.CORE, *arguments])
    hawk.expect_equal((done.returncode, done.stdout), (code, ""), f"{arguments}: {done.stderr[-200:]}")
    hawk.expect(word in done.stderr and len(done.stderr.splitlines()) == 1, f"{arguments}: {done.stderr}")


def folder_has(*names):
    """Checks that the folder of the exports holds these files and no others."""
    return hawk.expect_equal(sorted(os.listdir(out)), sorted(names), "files")


def check_snapshot_nodes():
    listed = hawk.blocks(core)
    nodes = [snapshot.nodes[i] for i in snapshot.blocks]
    hawk.expect_equal([node[3] for node in nodes], [block["size"] for block in listed], "sizes of blocks")
    names = collections.Counter(node[1] for node in nodes)
    half = holder_world.SESSIONS // 2
    for name, count in (("Session", half), ("Connection", half), ("make_hub", 1), ("make_lost", holder_world.LOST),
                        ("make_cell", holder_world.CELLS), ("make_payload", holder_world.CELLS)):
        hawk.expect_equal(names[name], count, f"blocks called {name}")


def check_snapshot_edges():
    addresses = dict(zip(snapshot.blocks, (int(block["address"], 16) for block in hawk.blocks(core))))
    ours = collections.Counter((addresses[source], offset, addresses[target]) for source in snapshot.blocks
                               for kind, offset, target in snapshot.edges[source])
    rows = hawk.sql(core, "SELECT source, offset, target FROM edges")
    hawk.expect(ours == collections.Counter(tuple(row.values()) for row in rows), "pointers of blocks")
    hub = next(node for node, address in addresses.items() if address == truth["hub"])
    holders = [snapshot.nodes[i][1] for i, edges in enumerate(snapshot.edges)
               if any(target == hub for _, _, target in edges)]
    hawk.expect("`g_hub` in holders .bss" in holders, f"holders of the hub: {holders}")
    roots = sum(len(edges) for node, edges in zip(snapshot.nodes, snapshot.edges) if node[0] == "synthetic")
    [row] = hawk.sql(core, "SELECT count(*) AS n FROM roots")
    groups = snapshot.nodes[0][4]
    hawk.expect_equal(roots - groups - holder_world.LOST // 2, row["n"], "roots, one leader for each lost cycle")
    [lost] = snapshot.named(LOST)
    hawk.expect_equal({snapshot.nodes[target][1] for _, _, target in snapshot.edges[lost]}, {"make_lost"}, "lost")


def check_snapshot_reaches_all():
    seen, stack = {0}, [0]
    while stack:
        for _, _, target in snapshot.edges[stack.pop()]:
            if target not in seen:
                seen.add(target)
                stack.append(target)
    hawk.expect_equal(len(seen), len(snapshot.nodes), "nodes that the root leads to")


def check_ids_stay():
    """A block at the same address has the same id in the next snapshot of a process."""
    program = hawk.spawn([os.path.join(folder, "holders"), "wait", "100", "100"], env=hawk.tracer_environment(),
                         stdout=-1, cwd=folder)
    program.stdout.readline()
    ids = []
    for i in range(2):
        again = heap_snapshot.Snapshot(heap_snapshot.export(hawk.gcore(program.pid, folder), f"{out}/again"))
        ids.append({again.nodes[i][2] for i in again.blocks})
    program.kill()
    os.remove(f"{out}/again")
    hawk.expect(ids[0] == ids[1] and len(ids[0]) > 300, "ids of two snapshots")


def check_large_block():
    """Readers have 32 bits for a size."""
    size = (9 << 30) + 5
    program = hawk.compile_text(folder, "large", "#include <stdlib.h>\nchar *volatile kept;\n"
                                f"int main(void) {{ kept = malloc({size}u); abort(); }}\n".replace("u)", "ul)"))
    if not hawk.cores_are_files():
        print("no block of 9 GiB: only the kernel writes holes for memory that was not touched")
        return
    large, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    parsed = heap_snapshot.Snapshot(heap_snapshot.export(large, f"{out}/large"))
    dumped = hprof.Dump(hprof.export(large, f"{out}/large"))
    os.remove(large)
    os.remove(f"{out}/large")
    [main] = parsed.named("main")
    hawk.expect_equal(parsed.nodes[main][3], (1 << 32) - 1, "the block's node")
    hawk.expect_equal([(kind, name, parsed.nodes[target][3]) for kind, name, target in parsed.edges[main]],
                      [("internal", "(rest of a block of 4 GiB or more)", rest)
                       for rest in ((1 << 32) - 1, size - 2 * ((1 << 32) - 1))], "the rest of it")
    hawk.expect_equal(sum(parsed.nodes[i][3] for i in parsed.named("(rest")) + parsed.nodes[main][3], size, "all of it")
    [main] = dumped.named("main.")
    hawk.expect_equal([dumped.size(rest) for _, rest in dumped.pointers(main)], [1 << 30] * 9, "rests in the dump")
    hawk.expect_equal((dumped.size(main), dumped.name(main)), (5, f"main.{size} bytes"), "the block in the dump")


def check_carved_block():
    include = ["-I", os.path.join(hawk.SOURCE, "tracer")]
    program = hawk.compile_text(folder, "carved", CARVED, "gcc", include)
    carved, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    parsed = heap_snapshot.Snapshot(heap_snapshot.export(carved, f"{out}/carved"))
    os.remove(f"{out}/carved")
    sizes = {parsed.nodes[i][3]: i for i in parsed.blocks}
    hawk.expect_equal([(name, parsed.nodes[target][3]) for _, name, target in parsed.edges[sizes[4096 - 64 - 16]]],
                      [(0, 200), (2400, 400)], "pointers of what is left of the arena: parts are one node")
    hawk.expect_equal([parsed.nodes[target][3] for _, _, target in parsed.edges[sizes[64]]], [300], "of the piece")
    dumped = hprof.Dump(hprof.export(carved, f"{out}/carved"))
    os.remove(f"{out}/carved")
    [arena] = [block for block in dumped.blocks if dumped.size(block) == 4096 - 64 - 16]
    hawk.expect_equal([(field, dumped.size(target)) for field, target in dumped.pointers(arena)],
                      [("+0x0", 200), (None, 400)], "the same in the dump")


def check_dump_objects():
    """Blocks, pointers and what is lost, as other verbs have them."""
    listed = {int(block["address"], 16): block["size"] for block in hawk.blocks(core)}
    hawk.expect_equal({block: dump.size(block) for block in dump.blocks}, listed, "sizes of blocks")
    hawk.expect_equal(dump.total, sum(listed.values()), "nothing but blocks has bytes")
    ours = collections.Counter((block, int(field, 16), target) for block in dump.blocks
                               for field, target in dump.pointers(block))
    rows = hawk.sql(core, "SELECT source, offset, target FROM edges")
    hawk.expect(ours == collections.Counter(tuple(row.values()) for row in rows), "pointers of blocks")
    hawk.expect_equal(dump.reached([root.object for root in dump.roots]), set(dump.objects), "what roots lead to")
    names = collections.Counter(dump.name(block) for block in dump.blocks)
    half = holder_world.SESSIONS // 2
    for name, count in (("Session.104 bytes", half), ("Connection.112 bytes", half), ("make_hub.16 bytes", 1),
                        ("make_lost.32 bytes", holder_world.LOST), ("make_cell.32 bytes", holder_world.CELLS)):
        hawk.expect_equal(names[name], count, f"blocks called {name}")


def check_dump_roots():
    rows = hawk.sql(core, "SELECT address, target FROM roots")
    holders = [root.object for root in dump.roots if root.kind != "unknown"]
    found = collections.Counter(target for holder in holders for _, target in dump.pointers(holder))
    hawk.expect(found == collections.Counter(row["target"] for row in rows), "roots")
    hub = [dump.name(holder) for holder in holders if ("`g_hub` in holders .bss", truth["hub"]) in dump.pointers(holder)]
    hawk.expect_equal(hub, ["`g_hub` in holders .bss"], "holders of the hub")
    threads = [dump.name(root.object) for root in dump.roots if root.kind == "thread object"]
    hawk.expect_equal(len(threads), 2, f"threads: {threads}")
    [lost] = dump.named(LOST)
    hawk.expect_equal([dump.name(block) for _, block in dump.pointers(lost)],
                      ["make_lost.32 bytes"] * (holder_world.LOST // 2), "one leader for each lost cycle")


def check_dump_stacks():
    """Stacks of blocks are those of other formats; threads have theirs."""
    rows = exports.rows_of(exports.text_of("ndjson", core, "--plumbing"))
    hawk.expect_equal({tuple(frame.function for frame in reversed(dump.frames(block))) for block in dump.blocks},
                      {tuple(row["stack"]) for row in rows}, "stacks of blocks")
    [hub] = dump.named("make_hub.")
    hawk.expect(("holders", "make_hub", "holders.cpp") in [frame[:3] for frame in dump.frames(hub)], f"{dump.frames(hub)}")
    stacks = [[frame.function for frame in dump.traces[root.facts[1]][1]] for root in dump.roots
              if root.kind == "thread object"]
    hawk.expect(any("main" in stack for stack in stacks) and any("sleep_for_good(void*)" in stack for stack in stacks),
                f"threads: {stacks}")


def check_dump_of_a_snapshot():
    path = os.path.join(folder, "holders.hawk")
    hawk.text_of("snapshot", "-o", path, core)
    hprof.export(path, f"{out}/again")
    hawk.expect(hawk.read(f"{out}/again") == hawk.read(f"{out}/holders.hprof"), "the same from a snapshot")
    os.remove(f"{out}/again")


def check_dump_frames():
    """What only a variable of a function leads to is below that function's frame."""
    program = hawk.compile_text(folder, "local", LOCAL)
    local = hprof.Dump(hprof.export(hawk.crash([program], hawk.tracer_environment(), folder)[0], f"{out}/local"))
    os.remove(f"{out}/local")
    [table] = local.named("make_table.")
    hawk.expect_equal(local.pointers(table), [("+0x8", table)] + [(None, table)] * 20000, "pointers of a large table")
    hawk.expect_equal(local.size(table), 40000 * 8, "its size")
    [root] = [root for root in local.roots if any(target == table for _, target in local.pointers(root.object))]
    hawk.expect_equal(root.kind, "Java frame", "root of the table")
    [thread] = [one for one in local.roots if one.kind == "thread object"]
    frame = local.traces[thread.facts[1]][1][root.facts[1]]
    hawk.expect_equal((frame.function, frame.file), ("keep", "local.c"), "the frame")
    hawk.expect(local.name(root.object).endswith(" `keep`"), local.name(root.object))


def check_database():
    path = f"{out}/all.db"
    hawk.text_of("export", "--format=sqlite", "-o", path, core)
    hawk.expect_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode")
    database = sqlite3.connect(path)
    hawk.expect_equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
    hawk.expect_equal([database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")],
                      [1, int.from_bytes(b"HAWK", "big")], "numbers of the format")
    tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    expected = hawk.text_of("sql", core, ".schema").split("CREATE TABLE ")[1:]
    hawk.expect_equal(sorted(tables), sorted([text.split("(")[0] for text in expected] + ["meta", "findings"]), "tables")
    hawk.expect_equal(database.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                       "sql NOT LIKE '%STRICT'").fetchone(), (0,), "tables that are not strict")
    database.row_factory = lambda cursor, row: dict(zip([column[0] for column in cursor.description], row))
    for table in set(tables) - {"meta", "findings"}:
        query = f"SELECT * FROM {table}"
        hawk.expect(hawk.sql(core, query) == database.execute(query).fetchall(), f"rows of {table}")
    hawk.expect_equal([row["source"] for row in database.execute("SELECT * FROM meta")], [core], "meta")
    [plan] = database.execute("EXPLAIN QUERY PLAN SELECT * FROM edges WHERE target = 1").fetchall()
    hawk.expect("INDEX" in plan["detail"], f"plan: {plan['detail']}")
    database.close()
    before = hawk.read(path)
    refuse("export", "--format=sqlite", "-o", path, core, code=hawk.EXIT_UNREADABLE, word="--force")
    hawk.expect(hawk.read(path) == before, "an existing file stays as it is")
    hawk.text_of("export", "--format=sqlite", "--force", "-o", path, core)
    piped = hawk.write(f"{out}/piped.db", subprocess.run([hawk.CORE, "export", "--format=sqlite", core],
                                                         stdout=subprocess.PIPE, check=True).stdout)
    hawk.expect(hawk.read(piped) == hawk.read(path), "by a pipe")
    folder_has("all.db", "holders.heapsnapshot", "holders.hprof", "piped.db")
    os.remove(path)
    os.remove(piped)


def check_full_disk():
    """As far as a limit on the size of files is one: there is no half file."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
    for name in ("sqlite", "heapsnapshot", "hprof"):
        done = hawk.run([hawk.CORE, "export", f"--format={name}", "-o", f"{out}/none", core], preexec_fn=limit)
        hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, f"{name}: {done.stderr}")
        folder_has("holders.heapsnapshot", "holders.hprof")


def check_queries_write_no_files():
    for query in (f"ATTACH '{out}/x.db' AS x", f"VACUUM INTO '{out}/x.db'",
                  f"ATTACH '{out}/x.db' AS x; CREATE TABLE x.s AS SELECT * FROM sites"):
        refuse("sql", core, query, word="export --format=sqlite")
    folder_has("holders.heapsnapshot", "holders.hprof")


def check_dot():
    text = hawk.text_of("export", "--format=dot", core)
    hawk.expect_equal(text, hawk.text_of("sites", "--dot", core), "the drawing")
    hawk.expect("make_cell" in text, text)
    hawk.expect("make_cell" not in hawk.text_of("export", "--format=dot", "--ignore=make_cell", core), "--ignore")


def check_mistakes():
    for name in ("heapsnapshot", "hprof", "sqlite"):
        refuse("export", f"--format={name}", "-o", f"{out}/none", "--focus=x", core, word="--focus")
        refuse("export", f"--format={name}", "-o", f"{out}/none", f"--pid={os.getpid()}", word="gcore")
    refuse("export", "--format=dot", "--what=lost", core, word="--what")
    folder_has("holders.heapsnapshot", "holders.hprof")


def check_hostile_names():
    include = ["-I", os.path.join(hawk.SOURCE, "tracer")]
    program = hawk.compile_text(folder, "hostile", HOSTILE, "gcc", include)
    hostile, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    parsed = heap_snapshot.Snapshot(heap_snapshot.export(hostile, f"{out}/hostile"))
    hawk.expect_equal(len(parsed.named('evil"\\\n\x1b[31m\ufffd</script>')), 1, "the type in the snapshot")
    dumped = hprof.Dump(hprof.export(hostile, f"{out}/hostile"))
    hawk.expect_equal(len(dumped.named('evil"\\\\x0a\\x1b[31m\\xff</script>.100 bytes')), 1, "the type in the dump")
    hawk.text_of("export", "--format=sqlite", "--force", "-o", f"{out}/hostile", hostile)
    database = sqlite3.connect(f"{out}/hostile")
    hawk.expect_equal(database.execute("SELECT type FROM blocks WHERE type LIKE 'evil%'").fetchall(),
                      [('evil"\\\\x0a\\x1b[31m\\xff</script>',)], "the type in the database")
    database.close()
    os.remove(f"{out}/hostile")


def check_cut_core():
    """Exports the rest of a damaged core; calls nothing lost if roots are missing."""
    cut = hawk.cut(core, os.path.getsize(core) * 2 // 3)
    partial = (hawk.EXIT_PARTIAL,)
    [in_doubt] = heap_snapshot.Snapshot(heap_snapshot.export(cut, f"{out}/cut", partial)).named(IN_DOUBT)
    hawk.expect_equal(in_doubt, 1, "the node of what may be lost")
    hawk.expect_equal(len(hprof.Dump(hprof.export(cut, f"{out}/cut", partial)).named(IN_DOUBT)), 1, "the same in the dump")
    hawk.text_of("export", "--format=sqlite", "--force", "-o", f"{out}/cut", cut, codes=partial)
    database = sqlite3.connect(f"{out}/cut")
    hawk.expect(database.execute("SELECT count(*) FROM findings WHERE partial").fetchone()[0] > 0, "findings")
    database.close()
    os.remove(f"{out}/cut")
    hawk.text_of("export", "--format=dot", cut, codes=partial)


def check_damaged_core():
    """Random bytes anywhere: the formats stay what they are, or there is no file."""
    whole = hawk.read(core)
    random.seed(4711)
    for number in range(ROUNDS):
        data = bytearray(whole)
        core_surgery.damage(data, 4096, len(data), 20000)
        damaged = hawk.write(os.path.join(folder, "damaged"), data)
        for name in ("heapsnapshot", "hprof", "sqlite", "dot"):
            done = hawk.run([hawk.CORE, "export", f"--format={name}", "-o", f"{out}/damaged", damaged])
            hawk.expect(done.returncode in (hawk.EXIT_OK, hawk.EXIT_PARTIAL, hawk.EXIT_UNREADABLE),
                        f"{name} of damage {number}: exit code {done.returncode}: {done.stderr[-300:]}")
            if not os.path.exists(f"{out}/damaged"):
                continue
            if name == "heapsnapshot":
                heap_snapshot.Snapshot(f"{out}/damaged")
            elif name == "hprof":
                hprof.Dump(f"{out}/damaged")
            elif name == "sqlite":
                database = sqlite3.connect(f"{out}/damaged")
                hawk.expect_equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], f"damage {number}")
                database.close()
            os.remove(f"{out}/damaged")


def check_untraced_core():
    untraced, _ = hawk.crash([os.path.join(folder, "holders"), "abort"], hawk.plain_environment(), folder,
                             (signal.SIGABRT,))
    refuse("export", "--format=heapsnapshot", "-o", f"{out}/none", "--no-native", untraced, code=hawk.EXIT_UNREADABLE,
           word="not traced")
    folder_has("holders.heapsnapshot", "holders.hprof")


folder = hawk.temporary_folder()
out = os.path.join(folder, "out")
os.mkdir(out)
core, truth = holder_world.crash(folder)
snapshot = heap_snapshot.Snapshot(heap_snapshot.export(core, f"{out}/holders.heapsnapshot", (hawk.EXIT_OK,)))
dump = hprof.Dump(hprof.export(core, f"{out}/holders.hprof", (hawk.EXIT_OK,)))
hawk.run_checks(globals())
