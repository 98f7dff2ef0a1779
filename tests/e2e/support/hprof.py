# SPDX-License-Identifier: Apache-2.0
"""An HPROF file taken apart and checked, and what VisualVM's own heap walker makes of one."""

import collections
import os
import shutil
import struct

from support import hawk

WALKER = "/usr/share/visualvm/visualvm/modules/org-graalvm-visualvm-lib-jfluid-heap.jar"
MAGIC = b"JAVA PROFILE 1.0.2\0"
TYPES = {2: "Q", 4: "?"}  # of fields: object, boolean
# Behind the object's id: thread and stack trace, or thread and frame, or the id of the reference.
ROOTS = {0x01: (">Q", "JNI global"), 0x03: (">II", "Java frame"), 0x08: (">II", "thread object"), 0xff: (">", "unknown")}

Class = collections.namedtuple("Class", "name size fields layout super")
Object = collections.namedtuple("Object", "trace class_id refs")
Root = collections.namedtuple("Root", "kind object facts")
Frame = collections.namedtuple("Frame", "module function file line")


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values if len(values) != 1 else values[0]

    def more(self):
        return self.at < len(self.data)


class Dump:
    """classes: {id: Class}, objects: {id: Object}, roots: [Root], traces: {serial: (thread, [Frame])}. References of an object
    are [(field, id)]; ids of blocks are addresses."""

    def __init__(self, path):
        data = hawk.read(path)
        hawk.expect(data.startswith(MAGIC), f"begins with {data[:20]}")
        cursor = Cursor(data)
        cursor.at = len(MAGIC)
        hawk.expect_equal(cursor.take(">I"), 8, "size of ids")
        cursor.take(">Q")
        self.strings, self.classes, self.objects, self.traces, self.roots = {}, {}, {}, {}, []
        self._names, self._serials, self._frames, last = {}, {}, {}, None
        read = {0x01: self._string, 0x02: self._load_class, 0x04: self._frame, 0x05: self._trace, 0x1c: self._segment,
                0x2c: lambda body: hawk.expect(not body, "the end is empty")}
        while cursor.more():
            last, _, size = cursor.take(">BII")
            body = data[cursor.at:cursor.at + size]
            hawk.expect_equal(len(body), size, f"a whole record {last:#x}")
            read[last](body)
            cursor.at += size
        hawk.expect_equal(last, 0x2c, "the last record")
        self._check_references()
        self.blocks = {number: one for number, one in self.objects.items() if number < 1 << 47}
        self.total = sum(self.size(number) for number in self.objects)

    def _add(self, where, key, value):
        hawk.expect(key and key not in where, "an id is there once")
        where[key] = value

    def _string(self, body):
        self._add(self.strings, struct.unpack_from(">Q", body)[0], body[8:].decode())

    def _load_class(self, body):
        serial, number, trace, name = struct.unpack(">IQIQ", body)
        hawk.expect_equal(trace, 1, "the trace of a class")
        self._add(self._serials, serial, self.strings[name])
        self._add(self._names, number, self.strings[name])

    def _frame(self, body):
        number, method, signature, source, serial, line = struct.unpack(">QQQQII", body)
        hawk.expect_equal(self.strings[signature], "", "signature")
        self._add(self._frames, number, Frame(self._serials[serial], self.strings[method], self.strings[source], line))

    def _trace(self, body):
        serial, thread, count = struct.unpack_from(">III", body)
        self._add(self.traces, serial, (thread, [self._frames[i] for i in struct.unpack(f">{count}Q", body[12:])]))

    def _segment(self, body):
        cursor = Cursor(body)
        while cursor.more():
            tag, number = cursor.take(">BQ")
            if tag == 0x20:
                self._class(cursor, number)
            elif tag == 0x21:
                self._object(cursor, number)
            else:
                layout, kind = ROOTS[tag]
                self.roots.append(Root(kind, number, cursor.take(layout)))

    def _class(self, cursor, number):
        trace, parent = cursor.take(">IQ")
        rest = cursor.take(">5Q")
        size, constants, statics, count = cursor.take(">IHHH")
        hawk.expect_equal((trace, rest, constants, statics), (1, (0,) * 5, 0, 0), "what native classes have not")
        hawk.expect(count < 1 << 15 and size < 1 << 31, f"{count} fields, {size} bytes: VisualVM has signs")
        fields = [cursor.take(">QB") for _ in range(count)]
        layout = ">" + "".join(TYPES[kind] for _, kind in fields)
        names = [self.strings[name] for name, _ in fields]
        self._add(self.classes, number, Class(self._names[number], size, names, layout, parent))

    def _object(self, cursor, number):
        trace, class_id, size = cursor.take(">IQI")
        fields, layout = self.classes[class_id].fields, self.classes[class_id].layout
        hawk.expect(size == struct.calcsize(layout), "values of all fields")
        values = struct.unpack_from(layout, cursor.data, cursor.at)
        cursor.at += size
        refs = [pair for pair in zip(fields, values) if pair[1] and pair[0] != "name"]
        self._add(self.objects, number, Object(trace, class_id, refs))

    def _check_references(self):
        known = set(self.objects)
        for one in self.objects.values():
            hawk.expect(known.issuperset(target for _, target in one.refs) and one.trace in self.traces,
                        "objects refer to what is there")
        for one in self.classes.values():
            hawk.expect(one.super in self.classes or one.name == "java/lang/Object", f"super class of {one.name}")
        hawk.expect_equal(set(self.classes), set(self._names), "classes with a name")
        hawk.expect(self.roots and {root.object for root in self.roots} <= known, "roots are objects")
        threads = {root.facts[0] for root in self.roots if root.kind == "thread object"}
        for root in self.roots:
            if root.kind == "thread object":
                hawk.expect_equal(self.classes[self.objects[root.object].class_id].fields[:2], ["name", "daemon"], "a thread")
                hawk.expect_equal(self.traces[root.facts[1]][0], root.facts[0], "the thread of a trace")
            if root.kind == "Java frame":
                hawk.expect(root.facts[0] in threads, f"the thread of {root}")

    def name(self, number):
        return self.classes[self.objects[number].class_id].name

    def size(self, number):
        return self.classes[self.objects[number].class_id].size

    def named(self, text):
        """Objects whose class's name begins so."""
        return [number for number in self.objects if self.name(number).startswith(text)]

    def pointers(self, number):
        """[(field, block)] of an object, with those of its lists; the field of these is None."""
        found = []
        for field, target in self.objects[number].refs:
            if field == "(more)":
                found += [(None, block) for _, block in self.pointers(target)]
            else:
                found.append((field, target))
        return found

    def reached(self, starts):
        seen, stack = set(starts), list(starts)
        while stack:
            for _, target in self.objects[stack.pop()].refs:
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return seen

    def frames(self, block):
        return self.traces[self.objects[block].trace][1]


def export(core, path, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL)):
    hawk.text_of("export", "--format=hprof", "--force", "-o", path, core, codes=codes)
    return path


def walk(path, nodes):
    """Lines of tests/readers/HeapWalker.java by their first word; None without VisualVM."""
    if not shutil.which("javac") or not os.path.exists(WALKER):
        print("without VisualVM")
        return None
    script = os.path.join(hawk.SOURCE, "tests", "readers", "HeapWalker.java")
    done = hawk.run([hawk.need("java"), "-Xmx1g", "-cp", WALKER, script, path, str(nodes)])
    if not hawk.expect_equal((done.returncode, done.stderr), (0, ""), "VisualVM's heap walker"):
        return None
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        word, *rest = line.split("\t")
        found[word].append(rest)
    return found
