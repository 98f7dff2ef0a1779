# SPDX-License-Identifier: Apache-2.0
# ctest: for=bash node perl php python3 sqlite3
# ctest: long=node perl php
# ctest: timeout=600
"""Interpreters: the same output with the tracer, a core whose heap adds up, nothing called lost, and objects that are
held by what their authors call so."""

import os
import sys

from support import hawk, leaks, real, real_holders as holders

BASH = """declare -A a; for i in {1..5000}; do a[$i]=x$i; done; echo ${#a[@]}; if [ "$1" = abort ]; then kill -ABRT $$; fi"""
NODE = """
const crypto = require('crypto'), zlib = require('zlib');
let seed = 1;
const next = () => seed = (seed * 1103515245 + 12345) % 2147483648;
const data = Array.from({length: 20000}, (_, i) => ({id: i, name: 'name ' + next() % 1000}));
const text = JSON.stringify(data);
const hash = crypto.createHash('sha256').update(text).digest('hex');
let left = 8, sum = 0;
for (let i = 0; i < 8; i++)
    zlib.gzip(text.slice(i), (error, packed) => {
        sum += zlib.gunzipSync(packed).length;
        if (--left) return;
        console.log(hash, (text.match(/name 1[0-9]+/g) || []).length, sum);
        if (process.argv.includes('abort')) setTimeout(() => process.abort(), 300);
    });
"""
PERL = r"""
use strict; use warnings;
our %cache = map { ("key $_" => "value " x 10 . $_) } 1 .. 20000;
my %count; my $seed = 1;
for my $i (1 .. 60000) {
    $seed = ($seed * 1103515245 + 12345) % 2147483648;
    $count{"word" . ($seed % 5000)} .= chr(97 + $seed % 26);
}
my @lines = map { "$_ $count{$_}" } sort keys %count;
my $text = join("\n", @lines);
my $hits = () = $text =~ /(\w+)\s+a(b|c)/g;
if (my $pid = fork()) { waitpid($pid, 0) } else { my @x = map { [$_] } 1 .. 1000; exit(0) }
print length($text), " $hits $lines[17] $?\n";
if (@ARGV) { $| = 1; kill 'ABRT', $$; sleep 10 }
"""
# Its extensions are loaded with RTLD_DEEPBIND: their free() and realloc() are the C library's own, past the tracer's.
PHP = r"""
$rows = [];
for ($i = 0; $i < 2000; $i++)
    $rows["key$i"] = ['id' => $i, 'name' => strtoupper("name $i"), 'tags' => range(0, $i % 7)];
$text = json_encode($rows);
echo md5($text), ' ', preg_match_all('/"id":(\d+)/', $text), ' ', md5(serialize($rows)), "\n";
echo count(token_get_all('<?php echo 1 + $a["b"]; ?>')), ' ', iconv('UTF-8', 'ISO-8859-1', 'x'), "\n";
echo (new finfo(FILEINFO_MIME_TYPE))->buffer('%PDF-1.4'), ' ', jdtogregorian(2459000), "\n";
bindtextdomain('hawk', '.');
echo gettext('text'), ' ', posix_getpwuid(0)['name'], "\n";
$libc = FFI::cdef('char *strdup(const char *); void free(void *); void *realloc(void *, size_t);', 'libc.so.6');
for ($i = 0; $i < 100; $i++)
    $libc->free($libc->realloc($libc->strdup(str_repeat('x', $i)), 2 * $i + 1));
if ($argc > 1) { posix_kill(posix_getpid(), SIGABRT); sleep(10); }
"""
PYTHON = """
import json, os, random, re, sys, threading, time
random.seed(4)
class Node:
    def __init__(self, number): self.number, self.text = number, "node number %d" % number
cache = {number: Node(number) for number in range(20000)}
def make(depth):
    if depth == 0:
        return [random.random(), "text %d" % random.randrange(1000), None, True]
    return {"key %d" % i: make(depth - 1) for i in range(5)}
data = make(5)
kept = []
def work(n):
    kept.append(sorted(re.findall(r"[a-z]+ [0-9]+", json.dumps(data)))[n])
def stay():
    mine = [str(i) for i in range(5000)]
    time.sleep(100)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(kept), len(json.dumps(json.loads(json.dumps(data)))))
if len(sys.argv) > 1:
    sys.stdout.flush()
    for i in range(4): threading.Thread(target=stay, daemon=True).start()
    time.sleep(0.3)
    os.abort()
"""
DOCUMENTS = """
import json, os, sys
rows = [{'a': 'value-%d' % i, 'b': i} for i in range(20000)]
if sys.argv[1] == 'json': rows = json.loads(json.dumps([{'row': row, 'tags': ['x', None, row['b'] / 3]} for row in rows]))
os.abort()
"""
SQLITE = """
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
insert into item select i, 'item ' || (i * 7919 % 20011), i * 0.25 from n;
create index item_name on item(name);
select count(*), sum(price), min(name), max(name) from item;
select name, price from item where name like 'item 19%' order by name limit 200;
select hex(group_concat(name)) from item where id % 100 = 0;
"""


def check_holders(core, what, named):
    """Checks that hold for every healthy program; `named` is the share of bytes behind named roots."""
    holders.check_sums(core, what)
    holders.check_screens(core, what)
    holders.check_roots(core, what, named)
    found = holders.check_lost(core, what, 0)
    hawk.expect_equal(found["partial"], False, f"{what}: partial")
    return found


def check_documents():
    """Rows of texts and numbers, which the collector does not track: no links lead to them."""
    for what in ("json", "rows"):
        core, _ = hawk.crash(["python3", "-c", DOCUMENTS, what], hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}),
                             hawk.temporary_folder())
        found = leaks.ask(core, codes=(hawk.EXIT_OK,))
        blocks = sum(found[kind]["objects"] for kind in leaks.KINDS)
        hawk.expect(blocks > 100000 and found["possibly_lost"]["objects"] < blocks / 100,
                    f"{what}: {found['possibly_lost']} of {blocks}")


def check_python(core):
    """The module's dictionary is reached from the interpreter, which is in _PyRuntime."""
    found = check_holders(core, "python3", 0.35)
    hawk.expect(found["possibly_lost"]["objects"] < 100, f"python3: {found['possibly_lost']}")
    # Pointers to objects behind the collector's words are known: no heuristic has to explain them.
    hawk.expect(found["heuristics"]["listnode"] < 1000, f"heuristics: {found['heuristics']}")
    check_documents()
    groups = holders.tops(core, "--by=root")
    hawk.expect(any("_PyRuntime" in name for _, name, _ in groups), f"roots: {groups[:6]}")
    # 20,000 texts, each held by the dictionary of a node
    [(texts, example)] = holders.sql(core, "SELECT count(*), min(address) FROM blocks WHERE site = (SELECT site FROM sites "
                                     "WHERE site IN (SELECT site FROM frames WHERE function = 'PyUnicode_Format') "
                                     "ORDER BY inuse_objects DESC LIMIT 1)")
    hawk.expect(texts >= 20000, f"{texts} texts")
    holders.check_path(core, "python3", example)
    # The dictionary's table: about 590,000 bytes. What it holds is in the collector's lists, too,
    # and so is retained by nobody alone.
    found = holders.sql(core, "SELECT address FROM blocks WHERE size >= 500000")
    if hawk.expect_equal(len(found), 1, "python3: large dictionaries"):
        [(pointers,)] = holders.sql(core, f"SELECT count(DISTINCT target) FROM edges WHERE source = {found[0][0]}")
        hawk.expect(pointers >= 20000, f"{pointers} blocks in the dictionary")
        holders.check_path(core, "python3", found[0][0])


def check_perl(core):
    """The interpreter, made by perl_alloc(), is held by a variable; the hash has 20,000 entries."""
    check_holders(core, "perl", 0.9)
    [(interpreter,)] = holders.sql(core, "SELECT address FROM blocks WHERE " + holders.with_frames("perl_alloc") +
                                   " ORDER BY size DESC LIMIT 1")
    name = holders.check_path(core, "perl", interpreter, ("module",))
    hawk.expect(name and "perl" in name and (".bss" in name or ".data" in name), f"the interpreter is held by {name}")
    [(slots, pointers)] = holders.sql(
        core, "SELECT e.source, count(*) AS n FROM edges e JOIN blocks b ON b.address = e.source "
        "WHERE b.size >= 100000 AND e.interior = 0 GROUP BY e.source ORDER BY n DESC LIMIT 1")
    # entries come in pages, so that most pointers to them are interior
    [(all_pointers,)] = holders.sql(core, f"SELECT count(*) FROM edges WHERE source = {slots}")
    hawk.expect(all_pointers >= pointers and all_pointers > 5000, f"{all_pointers} pointers in the largest array")
    holders.check_path(core, "perl", slots)


def check_sqlite(core):
    """A connection holds its pager, that holds the page cache: nearly all there is."""
    found = check_holders(core, "sqlite3", 0.9)
    # Its blocks begin with their length, and its pointers point behind that.
    hawk.expect(found["heuristics"]["length64"] > 100, f"heuristics: {found['heuristics']}")
    # The page cache's headers lie behind the pages, and know where these begin.
    hawk.expect(found["heuristics"]["backpointer"] > 100, f"heuristics: {found['heuristics']}")
    hawk.expect(found["possibly_lost"]["bytes"] < 100000, f"sqlite3: {found['possibly_lost']}")
    [whole] = holders.sql(core, "SELECT sum(size) FROM blocks")
    [(pager, retained)] = holders.sql(core, "SELECT address, retained FROM blocks WHERE " +
                                      holders.with_frames("sqlite3PagerOpen") + " ORDER BY retained DESC LIMIT 1")
    # Now and then a vector register holds a page's address: such a page is not the pager's alone.
    [(left,)] = holders.sql(core, "SELECT count(*) FROM roots r JOIN blocks b ON b.address = r.target WHERE "
                            "r.kind = 'register' AND b.size > 4096 AND b.size < 8192")
    hawk.expect(retained >= 0.8 * whole[0] or left, f"the pager at {pager:#x} retains {retained} of {whole[0]}")
    pages = holders.sql(core, "SELECT address FROM blocks WHERE size > 4096 AND size < 8192 "
                        "ORDER BY address LIMIT 1 OFFSET 20")
    if hawk.expect(pages, "pages"):
        name = holders.check_path(core, "sqlite3", pages[0][0])
        hawk.expect(left or name and "frame" in name, f"the connection is on the stack, not {name}")


def check_php(core):
    """Hash tables are held by pointers behind their slots: few blocks hang on others that are only possibly held."""
    found = check_holders(core, "php", 0.5)
    hawk.expect(found["heuristics"]["lengthprefix"] > 100, f"heuristics: {found['heuristics']}")
    hawk.expect(found["possibly_lost"]["objects"] < 2000, f"php: {found['possibly_lost']}")


def check_bash(core):
    check_holders(core, "bash", 0.5)


# name: command, what makes it die, environments (the last is that of the core), functions in its stacks, least blocks,
# calls in flight of other threads, checks of who holds what
PROGRAMS = {
    "bash": (["-c", BASH, "bash"], ["abort"], [{}], [], 1000, 0, check_bash),
    "node": (["-e", NODE], ["abort"], [{}], [], 1000, 16, None),
    "perl": (["-e", PERL], ["abort"], [{"PERL_HASH_SEED": "0"}], ["perl_run"], 5000, 0, check_perl),
    "php": (["-d", "ffi.enable=1", "-r", PHP], ["abort"], [{}, {"USE_ZEND_ALLOC": "0"}],
            ["php_module_startup", "zend_register_constant"], 2000, 0, check_php),
    "python3": (["-c", PYTHON], ["abort"], [{"PYTHONHASHSEED": "0"}, {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}],
                ["_PyEval_EvalFrameDefault"], 30000, 0, check_python),
    "sqlite3": ([":memory:", SQLITE], [".shell kill -ABRT $PPID"], [{}], ["sqlite3Malloc"], 100, 0, check_sqlite),
}


def main(name):
    folder = hawk.temporary_folder()
    arguments, dies, environments, functions, blocks, in_flight, check = PROGRAMS[name]
    command = [f"/usr/bin/{name}" if os.path.exists(f"/usr/bin/{name}") else hawk.need(name), *arguments]
    for extra in environments:
        real.same_output(command, f"{name} {extra}", folder, extra=extra)
        core, _ = hawk.crash([*command, *dies], hawk.tracer_environment(extra=extra), folder)
        if core and check:
            holders.check_lost(core, f"{name} {extra}", 0)
    if core and check:
        check(core)
    real.check_core(core, name, functions, least_blocks=blocks, in_flight=in_flight)
    hawk.finish()


main(sys.argv[1])
