# SPDX-License-Identifier: Apache-2.0
"""The programs that tracers are compared by: how each is prepared, and how one run of it is measured.

A workload's `measure` takes the command that goes in front of the program (heaptrack's, or none)
and the environment, and returns a Usage. Everything a program reads is generated in `folder`; nothing
is fetched.
"""

import collections
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

# Runs a program and tells its peak of memory: the path of bench_plain_peak, set by compare_tracers.py.
peak_program = None

Usage = collections.namedtuple("Usage", "cpu wall peak_kib")  # seconds, seconds, KiB


class Failed(Exception):
    """A run that did not do its work."""


class TookTooLong(Failed):
    """A run that was ended before its time; nothing is known but that it takes longer."""


def start(command, environment, folder, **options):
    """Starts a program so that wait_for() learns its peak of memory, and only it is preloaded into."""
    environment = dict(environment)
    if "LD_PRELOAD" in environment:
        environment["HAWK_BENCH_PRELOAD"] = environment.pop("LD_PRELOAD")
    return subprocess.Popen([peak_program, os.path.join(folder, "peak"), *command], env=environment, cwd=folder,
                            start_new_session=True, **options)


def wait_for(process, begin, seconds, folder):
    """The usage of a process of start() that ends by itself within `seconds`."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if seconds else 0)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            with open(os.path.join(folder, "peak"), encoding="ascii") as peak:
                return Usage(usage.ru_utime + usage.ru_stime, time.monotonic() - begin, int(peak.read()))
        if time.monotonic() - begin > seconds:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise TookTooLong(f"more than {seconds} s")
        time.sleep(0.002)


class Program:
    """A program that runs to its end. `prepare` fills the folder and returns the command, or None
    if it cannot be run here."""

    def __init__(self, name, title, prepare, allocator=None, environment=None, options=None):
        self.name, self.title, self.prepare = name, title, prepare
        self.options = options  # of our tracer, if it is there
        self.allocator = allocator  # preloaded below the tracer; None = the program's own
        self.environment = environment or {}
        self.command = None

    def ready(self, folder, arguments):
        self.command = self.prepare(folder, arguments)
        return self.command is not None

    def measure(self, prefix, environment, folder, seconds):
        begin = time.monotonic()
        with open(os.path.join(folder, "complaints"), "w+b") as complaints:
            process = start([*prefix, *self.command], {**environment, **self.environment}, folder,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints)
            usage = wait_for(process, begin, seconds, folder)
            if process.returncode:
                complaints.seek(0)
                raise Failed(f"{self.command}: exit code {process.returncode}\n"
                             f"{complaints.read().decode(errors='replace')[-1000:]}")
        return usage


class Redis:
    """redis-server while redis-benchmark sends it a fixed number of requests; its own CPU time only.
    """

    name, title, allocator, options = "redis", "redis-server, redis-benchmark -P 16", None, None
    requests = {"set,get": 400000, "lpush,hset,zadd,mset": 100000}

    def ready(self, folder, arguments):
        return all(shutil.which(name) for name in ("redis-server", "redis-benchmark", "redis-cli"))

    def measure(self, prefix, environment, folder, seconds):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        begin = time.monotonic()
        server = start([*prefix, "redis-server", "--port", port, "--save", "", "--bind", "127.0.0.1", "--dir", folder,
                        "--appendonly", "no"], environment, folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        try:
            self.load(port, seconds)
        except subprocess.SubprocessError as error:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            raise Failed(f"redis: {error}") from error
        return wait_for(server, begin, 60, folder)

    def load(self, port, seconds):
        plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        ask = {"env": plain, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for _ in range(600):
            if not subprocess.call(["redis-cli", "-p", port, "ping"], **ask):
                break
            time.sleep(0.02)
        for kinds, count in self.requests.items():
            subprocess.run(["redis-benchmark", "-p", port, "-n", str(count), "-P", "16", "-c", "20",
                            "-r", "100000", "-q", "-t", kinds], check=True, timeout=seconds or None,
                           **ask)
        subprocess.call(["redis-cli", "-p", port, "shutdown", "nosave"], **ask)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def first_of(*names):
    for name in names:
        if os.path.exists(name):
            return name
    return None


def bench_list(threads, count):
    def prepare(folder, arguments):
        return [arguments.list, str(threads), str(count)]
    return prepare


def prepare_full(folder, arguments):
    return [arguments.stacks, "1000000", "100"]


CXX_USE = """
template <int N> struct Shape{0} {{ std::map<int, std::string> names; std::vector<int> v;
  int area(int k) {{ names[k] = std::to_string(k * N); v.push_back(k); std::sort(v.begin(), v.end());
    return static_cast<int>(names.size()) + v[0]; }} }};
int use{0}(int k) {{ Shape{0}<{0}> shape; return shape.area(k) + shape.area(k + {0}); }}
"""


def prepare_cc1plus(folder, arguments):
    """About 34,000 lines once preprocessed (with gcc 12), nearly all of them the library's."""
    if not shutil.which("g++"):
        return None
    headers = ("algorithm", "map", "string", "vector", "memory")
    write(folder, "big.cpp", "".join(f"#include <{name}>\n" for name in headers) +
          "".join(CXX_USE.format(i) for i in range(12)))
    subprocess.run(["g++", "-E", "-P", "big.cpp", "-o", "big.ii"], cwd=folder, check=True)
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True,
                              capture_output=True, text=True).stdout.strip()
    if not os.path.exists(compiler):
        return None
    return [compiler, "-quiet", "-O2", "-fpreprocessed", "big.ii", "-o", "/dev/null"]


PYTHON = """
import json
data = [{"id": i, "name": "object %d" % i, "tags": ["a", "b", str(i)], "price": i / 7,
         "inner": {"left": i - 1, "right": None}} for i in range(100000)]
text = json.dumps(data)
assert len(json.loads(text)) == 100000
"""


def prepare_python(folder, arguments):
    return [first_of("/usr/bin/python3") or sys.executable, "-S", write(folder, "b.py", PYTHON)]


SQL = """
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
CREATE INDEX i ON t(name);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 250000)
INSERT INTO t SELECT x, 'name ' || (x * 7919 % 250000), x / 3.0 FROM n;
SELECT count(*), sum(value), max(name) FROM t;
"""


def prepare_sqlite(folder, arguments):
    program = shutil.which("sqlite3")
    return program and [program, "-batch", "-init", write(folder, "b.sql", SQL), ":memory:",
                        "SELECT 1;"]


def prepare_git(folder, arguments):
    """A repository of 400 commits to 40 files, the same every time."""
    if not shutil.which("git"):
        return None
    pick = random.Random(1)
    files = [[f"line {i} of file {j}" for i in range(400)] for j in range(40)]
    stream = []
    for commit in range(400):
        message = f"change {commit}"
        stream.append(f"commit refs/heads/main\ncommitter A <a@example> {1600000000 + commit} +0000\n"
                      f"data {len(message)}\n{message}\n")
        for number in (range(40) if not commit else pick.sample(range(40), 3)):
            lines = files[number]
            for _ in range(12):
                lines[pick.randrange(len(lines))] = f"changed {pick.random()} by {commit}"
            text = "\n".join(lines) + "\n"
            stream.append(f"M 100644 inline dir{number % 5}/file{number}.txt\n"
                          f"data {len(text)}\n{text}\n")
    repository = os.path.join(folder, "repository")
    subprocess.run(["git", "init", "-q", "--bare", repository], check=True)
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], check=True,
                   input="".join(stream).encode())
    return ["git", "-C", repository, "--no-pager", "log", "-p", "main"]


PERL = """
my (%count, @lines);
for my $i (1 .. 120000) {
  my $key = "key" . ($i * 7919 % 50021);
  $count{$key}++;
  push @lines, { name => $key, words => [split / /, "some words of line $i"] };
}
my $text = join "\\n", map { "$_ $count{$_}" } sort keys %count;
$text =~ s/(\\d+)/<$1>/g;
print length($text), scalar(@lines), "\\n";
"""


def prepare_perl(folder, arguments):
    program = first_of("/usr/bin/perl")
    return program and [program, write(folder, "b.pl", PERL)]


NODE = """
const objects = [];
for (let i = 0; i < 60000; i++)
  objects.push({id: i, name: 'object ' + i, tags: ['a', 'b', String(i)], buffer: Buffer.alloc(64)});
let total = 0;
for (let round = 0; round < 3; round++) {
  const copy = JSON.parse(JSON.stringify(objects.slice(0, 20000)));
  total += copy.length;
}
const zlib = require('zlib');
for (let i = 0; i < 400; i++)
  total += zlib.deflateSync(JSON.stringify(objects.slice(i, i + 20))).length;
console.log(total, new Map(objects.map(o => [o.name, o])).size);
"""


def prepare_node(folder, arguments):
    program = shutil.which("node")
    return program and [program, write(folder, "b.js", NODE)]


def all_workloads():
    """In the order of the table."""
    return [
        Program("list", "std::list, 16 threads x 10^6, glibc", bench_list(16, 1000000)),
        Program("list-jemalloc", "std::list, 16 threads x 10^6, jemalloc", bench_list(16, 1000000),
                allocator=JEMALLOC),
        Program("cc1plus", "cc1plus -O2, 34,000 preprocessed lines", prepare_cc1plus),
        Program("python", "python3 PYTHONMALLOC=malloc, json of 100,000 objects", prepare_python,
                environment={"PYTHONMALLOC": "malloc"}),
        Program("sqlite", "sqlite3, recursive CTE, 250,000 inserts", prepare_sqlite),
        Program("git", "git log -p, 400 commits", prepare_git),
        Program("perl", "perl, hashes, lists and strings", prepare_perl),
        Redis(),
        Program("node", "node, objects, JSON, zlib", prepare_node),
        Program("full", "1,000,000 stacks of 100 frames, max_table=16M", prepare_full, options="max_table=16M"),
    ]


def thread_workloads():
    """The list again: 8 million nodes, made by more and more threads."""
    return [Program(f"threads-{name}-{threads}", f"{threads} threads, {name}",
                    bench_list(threads, 8000000 // threads), allocator=allocator)
            for name, allocator in (("glibc", None), ("jemalloc", JEMALLOC))
            for threads in (1, 2, 4, 16, 64)]
