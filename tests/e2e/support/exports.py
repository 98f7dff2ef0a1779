# SPDX-License-Identifier: Apache-2.0
"""Exported files taken apart. Each reader here returns {stack: bytes}, a stack being names, the outermost first."""

import collections
import gzip
import json
import re

from support import hawk

FRAME = re.compile(r"^0x[0-9A-F]+: (.*) \((?:in .*|[^()]*:\d+)\)$", re.S)


def text_of(format_, core, *options, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL)):
    return hawk.text_of("export", f"--format={format_}", *options, core, codes=codes)


def _frame(text):
    match = FRAME.match(text)
    hawk.expect(match, f"no frame of Valgrind's: {text!r}")
    return match.group(1) if match else text


def read_folded(text):
    """Names may have blanks; `;` in them is `:`."""
    found = collections.Counter()
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(value)
    return found


def read_speedscope(text, column="inuse_space"):
    document = json.loads(text)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    shown = document["profiles"][document["activeProfileIndex"]]
    hawk.expect_equal((shown["name"], shown["unit"], shown["endValue"]), (column, "bytes", sum(shown["weights"])),
                      "speedscope: profile shown first")
    found = collections.Counter()
    for stack, weight in zip(shown["samples"], shown["weights"]):
        found[tuple(names[number] for number in stack)] += weight
    return found


def read_dhat(text):
    document = json.loads(text)
    points = document["pps"]
    hawk.expect_equal(len({tuple(point["fs"]) for point in points}), len(points), "dhat: each stack is there once")
    frames = [_frame(frame) for frame in document["ftbl"][1:]]
    found = collections.Counter()
    for point in points:
        if point["eb"]:
            found[tuple(frames[number - 1] for number in reversed(point["fs"]))] += point["eb"]
    return found


def read_massif(text):
    """A node stands for a stack of its own if it has more than its children."""
    tree = [re.match(r"^( *)n(\d+): (\d+) (.*)$", line).groups() for line in text.split("heap_tree=peak\n")[1].splitlines()]
    total = int(re.search(r"^mem_heap_B=(\d+)$", text, re.M).group(1))
    found, path, at = collections.Counter(), [], iter(tree)

    def read():
        indent, children, size, frame = next(at)
        hawk.expect_equal(len(indent), len(path), "massif: depth")
        path.append(_frame(frame) if path else None)
        rest = int(size) - sum(read() for _ in range(int(children)))
        if rest:
            found[tuple(reversed(path[1:]))] += rest
        path.pop()
        return int(size)

    hawk.expect_equal(read(), total, "massif: the tree's total")
    hawk.expect_equal(list(at), [], "massif: lines behind the tree")
    return found


def read_heaptrack(text):
    strings, places, stacks, allocations = [""], [()], [()], []
    found = collections.Counter()
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        words = rest.split(" ")
        if kind == "s":
            size, _, string = rest.partition(" ")
            hawk.expect_equal(len(string.encode()), int(size, 16), "heaptrack: length of a string")
            strings.append(string)
        elif kind == "i":
            places.append(tuple(strings[int(word, 16)] for word in words[2::3]))
        elif kind == "t":
            place, parent = (int(word, 16) for word in words)
            stacks.append(stacks[parent] + places[place][::-1])
        elif kind == "a":
            allocations.append((int(words[0], 16), int(words[1], 16)))
        elif kind == "+":
            size, stack = allocations[int(words[0], 16)]
            found[stacks[stack]] += size
    return collections.Counter({stack: size for stack, size in found.items() if size})


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def read_ndjson(text):
    found = collections.Counter()
    for row in rows_of(text):
        found[tuple(row["stack"])] += row["inuse_bytes"]
    return collections.Counter({stack: size for stack, size in found.items() if size})


def _varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def _fields(data):
    """(number, value) of a protobuf message of integers and bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def _integers(data):
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def read_pprof(packed):
    strings, functions, locations, samples, types, shown = [], {}, {}, [], [], 0
    for number, value in _fields(gzip.decompress(packed)):
        if number == 6:
            strings.append(value.decode())
        elif number == 1:
            types.append(dict(_fields(value))[1])
        elif number == 2:
            parts = dict(_fields(value))
            samples.append((list(_integers(parts[1])), list(_integers(parts[2]))))
        elif number == 4:
            parts = list(_fields(value))
            locations[dict(parts)[1]] = [dict(_fields(line))[1] for key, line in parts if key == 4]
        elif number == 5:
            parts = dict(_fields(value))
            functions[parts[1]] = parts[2]
        elif number == 14:
            shown = types.index(value)
    found = collections.Counter()
    for stack, values in samples:
        names = [strings[functions[function]] for location in stack for function in locations[location]]
        found[tuple(reversed(names))] += values[shown]
    return collections.Counter({stack: size for stack, size in found.items() if size})


READERS = {"folded": read_folded, "speedscope": read_speedscope, "dhat": read_dhat, "massif": read_massif,
           "heaptrack": read_heaptrack, "ndjson": read_ndjson}
