# SPDX-License-Identifier: Apache-2.0
"""CPython: its allocator's blocks, and as many objects of each type as the program itself counts."""

import json
import re
import sys
import sysconfig

from support import hawk

# Says what it has, and dies. Nothing that it counts goes away in between.
PROGRAM = """
import gc, json, os, sys, threading, weakref

class Session:
    def __init__(self, number):
        self.user, self.number = "user %d" % number, number

class Leaf:
    pass

class Owner:
    def __init__(self):
        self.number, self.leaf = 0, Leaf()

class Slotted:
    __slots__ = ("a", "__weakref__")

class Meta(type):
    pass

sessions = {"key %d" % i: Session(i) for i in range(3000)}
slotted = [Slotted() for i in range(1000)]
slotted[7].a = Leaf()
owners = [Owner() for i in range(50)]
weak = [weakref.ref(one) for one in slotted[:500]]
classes = [Meta("Made%d" % i, (), {}) for i in range(20)]
texts = [str(i) * 5 for i in range(2000)] + ["x" * 5000]
untracked = [(str(i), i) for i in range(700)]
freed = [str(i) * 4 for i in range(4000)]
del freed[::2]
try:
    import sqlite3
    connection = sqlite3.connect(":memory:")
except ImportError:
    pass
gc.collect()
gc.disable()
for i in range(100):
    garbage = [1]
    garbage.append(garbage)
some = texts[::100] + untracked[::50] + slotted[::50] + [2.5, 1 << 900, b"bytes" * 30]
sizes = [[id(one), sys.getsizeof(one), type(one).__name__] for one in some]
def wait(lock):
    lock.acquire()

class Dying:
    def method(self):
        for depth in [1]:
            values = [0,
                      1]
            os.abort()

lock = threading.Lock()
lock.acquire()
waiting = threading.Thread(target=wait, args=(lock,), daemon=True)
waiting.start()
while True:
    frame = sys._current_frames()[waiting.ident]
    if frame.f_code is wait.__code__ and frame.f_lineno != wait.__code__.co_firstlineno:
        break
del frame
blocks = sys.getallocatedblocks()
counts = {}
for one in gc.get_objects():
    name = type(one).__module__ + "." + type(one).__qualname__
    counts[name] = counts.get(name, 0) + 1
os.write(1, json.dumps([blocks, sizes, counts]).encode())
Dying().method()
"""
MADE = {"__main__.Session": 3000, "__main__.Slotted": 1000, "__main__.Meta": 20}
HEADS = (0, 16, 32)  # bytes of a block before its object


def types_of(core, *options):
    rows = hawk.sql(core, "SELECT type, count(*) AS n FROM blocks WHERE type IS NOT NULL GROUP BY 1", *options)
    return {row["type"]: row["n"] for row in rows}


def check_pools(core, counted):
    """Python counts the blocks of malloc() that are its own as well."""
    pymalloc, = (row for row in hawk.document("heap", core)["allocators"] if row["name"] == "pymalloc")
    hawk.expect_equal(pymalloc["checksum"], "agrees", "counts of pools")
    live = pymalloc["outside_arenas"]["live"]["objects"]
    hawk.expect(counted * 0.9 < live <= counted, f"{live} blocks in pools, {counted} by Python's count")


def check_counts(core, counts):
    """The collector shows no tuple or dict of atoms; the program makes a few objects while it counts."""
    found = types_of(core)
    for name, count in counts.items():
        name = name.removeprefix("builtins.")
        most = count + 60 if name not in ("dict", "tuple") else 10**6
        hawk.expect(count <= found.get(name, 0) <= most, f"{name}: {count} objects, {found.get(name)} blocks")
    for name, count in MADE.items():
        hawk.expect_equal(found.get(name), count, f"blocks of {name}")
    hawk.expect(found["tuple"] >= counts["builtins.tuple"] + 700, "untracked tuples")


def check_sizes(core, sizes):
    rows = {row["address"]: row for row in hawk.sql(core, "SELECT address, size, type FROM blocks")}
    for address, size, name in sizes:
        row = next((rows[address - head] for head in HEADS if address - head in rows), None)
        type_name = row and (row["type"] or "").split(".")[-1]
        hawk.expect(type_name == name and size <= row["size"] < size + 16, f"{name} of {size} bytes at {address:#x}: {row}")


def check_frames(core):
    """Functions of Python with the lines of the program."""
    lines = PROGRAM.splitlines()
    line_of = {name: 1 + next(i for i, line in enumerate(lines) if line.strip() == text)
               for name, text in (("method", "os.abort()"), ("<module>", "Dying().method()"), ("wait", "lock.acquire()"))}
    found = [[(frame["function"].split(".")[-1], frame["line"]) for frame in thread["guest_frames"]
              if frame["file"].endswith("made.py")] for thread in hawk.document("threads", core)["threads"]]
    hawk.expect_equal(found, [[(name, line_of[name]) for name in names] for names in (("method", "<module>"), ("wait",))],
                      "functions of threads")
    hawk.expect(re.search(r"\n  Python\n    (Dying\.)?method +made.py:\d+\n", hawk.text_of("threads", core)), "a function")


def check_traced(core):
    """Blocks with and without stacks are of one heap, whose pointers lead from these to those."""
    for name, count in MADE.items():
        hawk.expect_equal(types_of(core).get(name), count, f"traced: blocks of {name}")
    hawk.expect("Leaks: none" in hawk.text_of("leaks", core), "traced: blocks are called lost")
    large, = hawk.sql(core, "SELECT count(*) AS n FROM blocks WHERE type = 'list items' AND kind = 'malloc'")
    hawk.expect(large["n"] > 0, "traced: no block has both a stack and a type")
    hawk.text_of("snapshot", "-o", f"{folder}/saved", core)
    hawk.expect_equal(types_of(f"{folder}/saved"), types_of(core), "a snapshot of the traced process")


if not (3, 9) <= sys.version_info < (3, 14):
    hawk.skip(f"the layout of Python {sys.version_info[0]}.{sys.version_info[1]} is not known")
if sysconfig.get_config_var("Py_DEBUG") or sysconfig.get_config_var("Py_GIL_DISABLED"):
    hawk.skip("the layout of this build of Python is not known")
folder = hawk.temporary_folder()
hawk.write(f"{folder}/made.py", PROGRAM)
EXTRA = {"PYTHONMALLOC": "pymalloc"}
made, done = hawk.crash([sys.executable, "made.py"], hawk.plain_environment(extra=EXTRA), folder)
program_blocks, program_sizes, program_counts = json.loads(done.stdout)
check_pools(made, program_blocks)
check_counts(made, program_counts)
check_sizes(made, program_sizes)
check_frames(made)
guest, = hawk.document("heap", made)["guests"]
hawk.expect_equal((guest["name"], guest["states"]), ("CPython %d.%d" % sys.version_info[:2], 1), "the guest")
hawk.expect("Leaks: none" in hawk.text_of("leaks", made), "objects are called lost")
found = hawk.text_of("path", "--type", "^__main__.Session$", "--top=1", made)
hawk.expect(re.search(r"dict keys\n +\['key \d+'\] +0x\w+ .*__main__.Session", found), f"a session's path: {found}")
found = hawk.text_of("path", "--type", "^__main__.Leaf$", "--top=51", made)
for attribute in ("leaf", "a"):
    hawk.expect(re.search(rf"\n +\.{attribute} +0x\w+ .*__main__.Leaf", found), f"a path by .{attribute}: {found}")
hawk.expect_equal(hawk.document("heap", "--guest=lua", made)["guests"], [], "--guest=lua")
made, _ = hawk.crash([sys.executable, "made.py"], hawk.tracer_environment(extra=EXTRA), folder)
check_traced(made)
hawk.finish()
