#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what every verb answers, so that two versions of hawk-core can be compared byte for byte.

    tests/answers.py cores DIR [--blocks N]        make the cores once (10,000,000 blocks in the largest)
    tests/answers.py record DIR OUT [--only REGEX] ask all questions; HAWK_CORE names the command
    tests/answers.py compare OUT OUT               list the answers that differ; exit code 1 if any does

Before a change that must not alter an answer: `cores`, `record`. After each step: `record`, `compare`.
Not a test: tests check that answers are right, this checks that they are the same.
"""

import argparse
import filecmp
import json
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "e2e"), os.path.join(HERE, "bench")]
import commands  # noqa: E402
from support import hawk, holder_world, real  # noqa: E402

# Larger answers would fill the disk: their size and checksum stand for them.
ANSWER_BYTES_MAX = 32 << 20

PYTHON = """
import os
class Node:
    def __init__(self, number): self.number, self.text = number, "node number %d" % number
cache = {number: Node(number) for number in range(20000)}
os.abort()
"""
PERL = r"""our %cache = map { ("key $_" => "value " x 10 . $_) } 1 .. 20000; kill 'ABRT', $$; sleep 10;"""
SQLITE = """
create table item(id integer primary key, name text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
insert into item select i, 'item ' || (i * 7919 % 20011) from n;
create index item_name on item(name);
"""
NGINX = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events { worker_connections 512; }
http { access_log off; server { listen 127.0.0.1:%d; root .; } }
"""

# {core}, and of the core: {site}, {other} (the largest sites), {address}, {inside}.
QUESTIONS = [
    "analyze {core}", "analyze --json {core}", "analyze --full {core}", "analyze --no-suspects {core}",
    "analyze --by=function {core}", "analyze --by=file --json {core}", "analyze --by=module {core}",
    "analyze --sort=count --top=3 {core}", "analyze --sort=total --json --no-suspects {core}",
    "analyze --min-bytes=10k --depth=20 {core}",
    "leaks {core}", "leaks --json {core}", "leaks --full --kinds=all {core}", "leaks --heuristics=none --json {core}",
    "leaks --site={site} {core}", "leaks --size=8-64 --json {core}", "leaks --type=. {core}",
    "retained {core}", "retained --json {core}", "retained --by=root {core}", "retained --by=tree {core}",
    "retained --by=block {core}", "retained --by=block --json --top=50 {core}", "retained --folded --top=50 {core}",
    "retained --by=tree --site={site} --json --top=50 {core}", "retained --size=8-64 {core}",
    "sites {core}", "sites --json {core}", "sites --dot {core}", "sites --size=8-64 {core}", "sites --site={site} {core}",
    "growth {core}", "growth --json {core}", "growth --full {core}", "growth --age=0-2s {core}",
    "path {core} {address}", "path --json {core} {address}", "path {core} --site={other}", "path {core} --type=.",
    "refs {core} {address}", "refs --json {core} {address}", "refs --top=5 {core} {address} {inside}",
    "merge-paths {core}", "merge-paths --json --top=50 {core}", "merge-paths {core} --site={site}",
    "merge-paths {core} --size=8-64", "merge-paths --folded --top=50 {core}",
    "schema {core} {site}", "schema --json {core} {site}", "schema --full {core} {other}",
    "whatis {core} {address} {inside} 0x10", "whatis --json {core} {address} {inside}",
    "blocks --top=20 {core}", "blocks --json --top=500 {core}", "blocks --site={other} --top=100 {core}",
    "blocks --function=alloc --json --top=100 {core}", "heap {core}", "heap --full {core}", "heap --json {core}",
    "sql {core} SELECT kind, count(*), sum(size) FROM blocks GROUP BY kind ORDER BY 1",
    "sql {core} SELECT * FROM sites ORDER BY 1 LIMIT 20",
    "sql --json {core} SELECT * FROM roots ORDER BY address, target LIMIT 200",
    "sql --format=csv {core} SELECT * FROM edges WHERE source = {address}",
    "sql {core} SELECT kind, count(*) FROM leaks GROUP BY 1 ORDER BY 1",
    "sql {core} SELECT * FROM threads", "sql {core} SELECT * FROM mappings",
    "source {core} alloc", "source --json {core} alloc", "diff {core} {core}", "diff --json --by=function {core} {core}",
    "ledger {core}", "ledger --json {core}", "html {core}", "redact -o - {core}",
    "export --format=dot {core}", "export --format=folded --what=retained {core}",
    "export --format=heapsnapshot {core}", "export --format=ndjson --what=lost {core}",
]
# Asked once, of no core.
HELP = ["help", "help completion", "help completion zsh", "help completion fish", *(
    f"help {verb}" for verb in
    "run analyze whatis blocks heap leaks refs path merge-paths retained sites source schema growth sql diff ledger export "
    "redact snapshot html shell help".split())]


def make_aborting(name, arguments, folder, extra=None):
    core, _ = hawk.crash(arguments, hawk.tracer_environment(extra=extra), folder, (signal.SIGABRT, signal.SIGSEGV))
    os.rename(core, os.path.join(folder, name + ".core"))


def make_redis(folder):
    with real.redis(folder, hawk.tracer_environment()) as (process, command):
        command("eval", "for i = 1, 30000 do redis.call('set', 'k' .. i, string.rep('v', i % 200)) "
                "redis.call('hset', 'h' .. i % 100, i, i) end", "0")
        real.wait_until_idle(process.pid, "redis")
        os.rename(real.kill_to_core(process, folder, signal.SIGABRT, "redis"), os.path.join(folder, "redis.core"))


def make_nginx(folder):
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="ascii") as file:
        file.write(NGINX % hawk.free_port())
    process = real.start([hawk.need("nginx"), "-c", os.path.join(folder, "nginx.conf"), "-p", folder], folder,
                         stderr=subprocess.DEVNULL)
    real.wait_until_idle(process.pid, "nginx")
    os.rename(real.kill_to_core(process, folder, signal.SIGABRT, "nginx"), os.path.join(folder, "nginx.core"))


def make_cores(folder, blocks):
    os.makedirs(folder, exist_ok=True)
    folder = os.path.abspath(folder)
    make_redis(folder)
    make_nginx(folder)
    make_aborting("python", [hawk.need("python3"), "-c", PYTHON], folder, {"PYTHONMALLOC": "malloc"})
    make_aborting("perl", [hawk.need("perl"), "-e", PERL], folder)
    make_aborting("sqlite", [hawk.need("sqlite3"), ":memory:", SQLITE, ".shell kill -ABRT $PPID"], folder)
    orderd = [os.path.join(hawk.SAMPLES, "orderd"), "--crash", "segv"]
    make_aborting("orderd", orderd, folder)
    make_aborting("without-table", orderd, folder, {"HAWK_OPTS": f"table={folder}/orderd.hawk"})
    make_aborting("holders", [holder_world.build(folder), "abort"], folder)
    os.rename(commands.make_core("many_lists", str(blocks // 2)), os.path.join(folder, "lists.core"))
    with open(os.path.join(folder, "perl.core"), "rb") as whole, \
            open(os.path.join(folder, "truncated.core"), "wb") as part:
        part.write(whole.read(os.path.getsize(os.path.join(folder, "perl.core")) * 11 // 16))
    names = sorted(name for name in os.listdir(folder) if name.endswith((".core", ".hawk")))
    with open(os.path.join(folder, "cores.json"), "w", encoding="ascii") as file:
        json.dump({name: find_places(os.path.join(folder, name)) for name in names}, file, indent=1)
    print(*names)


def find_places(core):
    """Values of {site} and other placeholders."""
    report = json.loads(hawk.run([hawk.CORE, "analyze", "--json", "--no-suspects", core]).stdout)
    sites = [site["site"] for site in report["sites"]] + ["0"] * 2
    lines = hawk.run([hawk.CORE, "blocks", core, f"--site={sites[0]}", "--top=100", "--json"]).stdout.splitlines()
    address = int(json.loads(lines[-1])["address"], 16) if lines else 0x1000
    return {"site": sites[0], "other": sites[1], "address": hex(address), "inside": hex(address + 8)}


def ask(question, core, places):
    words, _, query = question.partition(" SELECT")
    words = [word.format(core=core, **places) for word in words.split(" ")]
    if query:
        words.append("SELECT" + query.format(**places))
    done = subprocess.run([hawk.CORE, *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
    output = done.stdout
    if len(output) > ANSWER_BYTES_MAX:
        import hashlib
        output = f"{len(output)} bytes, SHA-256 {hashlib.sha256(output).hexdigest()}\n".encode()
    return b"$ hawk-core %b\n%b\n-- exit code %d, standard error:\n%b" % (
        " ".join(words).encode(), output, done.returncode, done.stderr)


def record(folder, out, only):
    with open(os.path.join(folder, "cores.json"), encoding="ascii") as file:
        cores = json.load(file)
    os.makedirs(os.path.join(out, "help"), exist_ok=True)
    for question in HELP:
        with open(os.path.join(out, "help", question.replace(" ", "-") + ".txt"), "wb") as file:
            file.write(ask(question, "", {}))
    for core, places in cores.items():
        os.makedirs(os.path.join(out, core), exist_ok=True)
        for number, question in enumerate(QUESTIONS):
            if not re.search(only, f"{core} {question}"):
                continue
            name = re.sub(r"[^a-z0-9=-]+", "_", question.split(" SELECT")[0].replace("{core}", "")).strip("_")
            with open(os.path.join(out, core, f"{number:02d}-{name}.txt"), "wb") as file:
                file.write(ask(question, os.path.join(os.path.abspath(folder), core), places))
        print(core, flush=True)


def compare(one, other):
    """Prints the names of answers that differ; returns their number."""
    differing = 0
    for core in sorted(set(os.listdir(one)) | set(os.listdir(other))):
        pair = [os.path.join(out, core) for out in (one, other)]
        names = sorted({name for folder in pair if os.path.isdir(folder) for name in os.listdir(folder)})
        for name in names:
            paths = [os.path.join(folder, name) for folder in pair]
            if not all(map(os.path.exists, paths)) or not filecmp.cmp(*paths, shallow=False):
                print(f"diff {paths[0]} {paths[1]}")
                differing += 1
    print(f"{differing} answers differ")
    return differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    cores = verbs.add_parser("cores")
    cores.add_argument("folder")
    cores.add_argument("--blocks", type=int, default=10_000_000)
    recording = verbs.add_parser("record")
    recording.add_argument("folder")
    recording.add_argument("out")
    recording.add_argument("--only", default="")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("one")
    comparing.add_argument("other")
    arguments = parser.parse_args()
    if arguments.verb == "cores":
        make_cores(arguments.folder, arguments.blocks)
    elif arguments.verb == "record":
        record(arguments.folder, arguments.out, arguments.only)
    elif compare(arguments.one, arguments.other):
        sys.exit(1)


if __name__ == "__main__":
    main()
