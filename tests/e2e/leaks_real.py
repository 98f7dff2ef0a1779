# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian that leak nothing while they run: of none of them is a block called definitely
lost, nothing is missing, and nearly everything is reachable. A root that is not looked at would show
here."""


from support import hawk, leaks

SQL = ("create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all "
       "select i + 1 from n where i < 20000) insert into t select i, hex(randomblob(20)) from n; "
       "create index x on t(b); select count(*) from t;\n.shell kill -ABRT $PPID\n")
PERL = 'my %h; for (1 .. 20000) { $h{"k$_"} = [1 .. 5, {a => $_}]; } kill ABRT => $$;'
PYTHON = """
import os, threading, time
def work():
    kept = [str(i) for i in range(5000)]
    time.sleep(100)
for i in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
kept = {i: [str(i)] * 3 for i in range(20000)}
os.abort()
"""
BASH = "declare -A a; for i in {1..5000}; do a[$i]=x$i; done; kill -ABRT $$"

PROGRAMS = {
    "sqlite3": (["sqlite3", ":memory:", SQL.split("\n")[0], SQL.split("\n")[1]], {}),
    "perl": (["perl", "-e", PERL], {}),
    "python3": (["python3", "-c", PYTHON], {}),
    "python3 malloc": (["python3", "-c", PYTHON], {"PYTHONMALLOC": "malloc"}),
    "bash": (["bash", "-c", BASH], {}),
}

hawk.need_build()
checked = 0
for name, (command, extra) in PROGRAMS.items():
    if not shutil.which(command[0]):
        continue
    core, _ = hawk.crash(command, hawk.tracer_environment(extra=extra), hawk.temporary_folder())
    document = core and leaks.ask(core, codes=(0,))
    if not document:
        continue
    checked += 1
    for kind in leaks.LOST:
        hawk.expect_equal(document[kind], {"objects": 0, "bytes": 0}, f"{name}: {kind}")
    hawk.expect(document["still_reachable"]["objects"] > 100, f"{name}: {document['records'][:1]}")
    hawk.expect_equal(document["partial"], False, f"{name}: partial")
if not checked:
    hawk.skip("none of the programs is installed")
hawk.finish()
