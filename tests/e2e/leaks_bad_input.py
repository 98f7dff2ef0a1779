# SPDX-License-Identifier: Apache-2.0
"""Cores that lack something: cut off at every sixteenth, without stacks, without .data, without
threads. What cannot be known is not claimed: nothing is called lost when a pointer to
it may be in what is missing, the reason is said, and nothing crashes."""

import os
import struct

from support import hawk, leaks
from support.core_surgery import (PT_LOAD, WRITE, drop_segments, leave_out_segment, program_headers,
                                  stack_pointers, thread_notes)


def write(data):
    return hawk.write(os.path.join(folder, "broken"), data)


def expect_downgraded(data, what, whole):
    """Expects exit code 4, no lost blocks, and the reason. Returns the document."""
    document = leaks.ask(write(data), codes=(hawk.EXIT_PARTIAL,))
    if not document:
        return None
    none = None if document["unknown"] else {"objects": 0, "bytes": 0}
    hawk.expect_equal(document["definitely_lost"], none, f"{what}: lost")
    hawk.expect_equal(document["indirectly_lost"], none, f"{what}: indirect")
    if whole:
        hawk.expect(document["downgraded"]["objects"] >= whole["definitely_lost"]["objects"],
                    f"{what}: {document['downgraded']} downgraded")
        keys = [item["key"] for item in document["missing"]]
        hawk.expect("leaks-downgraded" in keys, f"{what}: {keys}")
        done = hawk.run([hawk.CORE, "leaks", os.path.join(folder, "broken")])
        hawk.expect("NOT CERTAIN" in done.stdout, f"{what}: the text warns")
    return document


def check_truncated(original):
    blocks = []
    for part in range(1, 16):
        document = expect_downgraded(original[:len(original) * part // 16], f"{part}/16", None)
        if document:
            blocks.append(0 if document["unknown"] else sum(document[kind]["objects"] for kind in leaks.KINDS))
    hawk.expect(blocks and blocks == sorted(blocks), f"blocks found: {blocks}")
    hawk.expect(max(blocks, default=0) > 0, "some blocks are found in cut cores")


def check_without_stacks(original, whole):
    data = bytearray(original)
    pointers = stack_pointers(data)
    hawk.expect_equal(len(pointers), 3, "threads")
    hawk.expect(drop_segments(data, pointers) >= 2, "stacks are in segments of their own")
    document = expect_downgraded(data, "no stacks", whole)
    hawk.expect("stack-missing" in [item["key"] for item in document["missing"]], "no stacks: why")
    unreached = [record["example"] for record in document["records"] if record["kind"] == "possibly_lost"][:2]
    done = hawk.run([hawk.CORE, "path", write(data), *unreached])
    hawk.expect_equal((done.stdout.count("Missing or damaged"), "incomplete" in done.stderr), (1, False),
                      f"path says what is missing once: {done.stdout} {done.stderr}")
    found = leaks.by_site(write(data))
    hawk.expect_equal(found["site_other_stack"], {"possibly_lost": (1, 136)}, "held by a stack")
    hawk.expect_equal(found["site_static"], {"still_reachable": (1, 40)}, "held by a global")


def check_without_data(original, whole):
    data = bytearray(original)
    static = next(record for record in whole["records"]
                  if "site_static" in [frame["function"] for frame in record["frames"]])
    hawk.expect_equal(drop_segments(data, [int(static["first_root"]["address"], 16)]), 1, ".data")
    document = expect_downgraded(data, "no .data", whole)
    hawk.expect("roots-missing" in [item["key"] for item in document["missing"]], "no .data: why")
    found = leaks.by_site(write(data))
    hawk.expect_equal(found["site_static"], {"possibly_lost": (1, 40)}, "held by a global")
    hawk.expect_equal(found["site_other_stack"], {"still_reachable": (1, 136)}, "held by a stack")


def check_without_threads(original, whole):
    data = bytearray(original)
    for at, _ in thread_notes(data):
        struct.pack_into("<I", data, at + 8, 0x7777)
    document = expect_downgraded(data, "no threads", whole)
    hawk.expect("threads-missing" in [item["key"] for item in document["missing"]],
                "no threads: why")


def check_damaged_notes(original, whole):
    """Some threads are there, others are not: what only their registers hold is not called lost."""
    for number, (at, _) in enumerate(thread_notes(original)):
        for place, word, key in (at + 4, 0x7fffffff, "notes-damaged"), (at + 8, 0x7777, "threads-unread"):
            data = bytearray(original)
            struct.pack_into("<I", data, place, word)
            document = expect_downgraded(data, f"notes of thread {number}", whole)
            hawk.expect(key in [item["key"] for item in document["damage"]], f"{number}: {key}")
            lost = leaks.by_site(write(data))["site_register"]
            hawk.expect(set(lost) <= {"possibly_lost", "still_reachable"}, f"{number}: held by a register: {lost}")


def check_damaged_headers(original, whole):
    """One program header is damaged, whichever: what its memory held is not called lost. Each header is damaged in two
    of five ways, each way damages two in five headers."""
    segments = [at for at, kind, flags, *_ in program_headers(original) if kind == PT_LOAD and flags & WRITE]
    ways = ((0, 0x7777, "segments-unclaimed"), (8, 4096, "segments-twice"), (16, 0x7ffffffff123, "segments-strange"),
            (16, 0x7ffffffff000, "segments-strange"), (32, 0, "segments-unclaimed"))
    for number, at in enumerate(segments):
        for place, word, key in (ways[number % 5], ways[(number + 2) % 5]):
            data = bytearray(original)
            struct.pack_into("<I" if not place else "<Q", data, at + place, word)
            what = f"segment {number} of {len(segments)}, {place} is {word:#x}"
            document = expect_downgraded(data, what, None)
            if word == 0x7ffffffff000 and at == segments[-1]:
                continue  # where it was, nearly: it is still behind all others
            hawk.expect(document and key in [item["key"] for item in document["damage"]], f"{what}: {key}")
    for at in segments[::2]:  # rights alone: data of a module is known by the module's own headers
        data = bytearray(original)
        struct.pack_into("<I", data, at + 4, 4)
        document = leaks.ask(write(data), codes=(1, hawk.EXIT_PARTIAL))
        hawk.expect(document and document["definitely_lost"]["objects"] <= whole["definitely_lost"]["objects"],
                    f"rights of segment {segments.index(at)}: {document and document['definitely_lost']}")
    data = bytearray(original)  # its first page is zeros: what is claimed twice is the last segment
    start, = struct.unpack_from("<Q", data, segments[-1] + 8)
    struct.pack_into("<Q", data, segments[-1] + 8, start + 4096)
    document = expect_downgraded(data, "the stack's bytes a page away", None)
    hawk.expect("segments-twice" in [item["key"] for item in document["damage"]], "the stack's bytes a page away: why")
    stack = segments[-1]
    for pages in (-1, -2, -4):
        data = bytearray(original)
        address, = struct.unpack_from("<Q", data, stack + 16)
        struct.pack_into("<Q", data, stack + 16, address + pages * 4096)
        document = expect_downgraded(data, f"the stack {pages} pages away", None)
        keys = {item["key"] for item in document["damage"] + document["missing"]}
        hawk.expect(keys & {"auxv-strange", "stack-missing"}, f"the stack {pages} pages away: {keys}")
    examples = [int(record["example"], 16) for record in whole["records"]]
    _, heap = max((sum(address <= example < address + size for example in examples), at)
                  for at, kind, _, _, address, size in program_headers(original) if kind == PT_LOAD)
    data = bytearray(original)
    address, = struct.unpack_from("<Q", data, heap + 16)
    struct.pack_into("<Q", data, heap + 16, address - 4096)
    document = expect_downgraded(data, "the heap a page away", None)
    hawk.expect("block-missing" in [item["key"] for item in document["missing"]], "the heap a page away: why")
    hawk.expect(not any(item["key"].startswith(("segments-", "auxv-")) for item in whole["damage"]), "not of a sound core")


def check_certain(data, what, certain):
    """No block is lost: that is certain where more roots could be there, and not where blocks could."""
    path = write(data)
    document = leaks.ask(path)
    if not document:
        return
    code = hawk.EXIT_OK if certain else hawk.EXIT_PARTIAL
    hawk.expect_equal((document["exit_code"], document["partial"]), (code, not certain), f"{what}: {document}")
    hawk.expect_equal([document[kind]["objects"] for kind in leaks.KINDS[:3]], [0, 0, 0], f"{what}: kinds")
    text = hawk.run([hawk.CORE, "leaks", path]).stdout
    hawk.expect(("not certain" in text) != certain and ("is incomplete" in text) != certain, f"{what}: {text}")
    screen = hawk.run([hawk.CORE, "analyze", path]).stdout
    analysis = hawk.analyze(path)
    for finding in analysis["missing"] + analysis["damage"]:
        hawk.expect_equal(" ".join(screen.split()).count(finding["text"]), 1, f"{what}: said once: {screen}")
    hawk.expect(not analysis["missing"] or "Nothing was missing" not in screen, f"{what}: {screen}")


def check_nothing_lost():
    program = hawk.compile_program(os.path.join(folder, "overrun"), ["overrun.c"], flags=["-O0"])
    path, _ = hawk.crash([program, "keep", "0"], hawk.tracer_environment(), folder)
    original = hawk.read(path)
    stack, = stack_pointers(original)
    check_certain(original, "whole", True)
    check_certain(leave_out_segment(original, stack), "no stack", True)
    _, _, _, start, _, size = max(program_headers(original), key=lambda segment: segment[3])
    check_certain(original[:start + size // 2], "half of a stack", True)
    heap = int(next(record for record in leaks.ask(path)["records"]
                    if "main" in [frame["function"] for frame in record["frames"]])["example"], 16)
    document = leaks.ask(write(leave_out_segment(original, heap)))
    hawk.expect_equal((document["exit_code"], document["unknown"], document["definitely_lost"]),
                      (hawk.EXIT_PARTIAL, "the memory of all blocks is missing", None), "no heap")
    path, _ = hawk.crash([program, "keep", "1"], hawk.tracer_environment(), folder)
    check_certain(hawk.read(path), "an overwritten header", False)


hawk.small_stacks()
(_, _, folder, core), = leaks.programs(("c",))
contents = hawk.read(core)
complete = leaks.ask(core, codes=(1,))
check_truncated(contents)
check_without_stacks(contents, complete)
check_without_data(contents, complete)
check_without_threads(contents, complete)
check_damaged_notes(contents, complete)
check_damaged_headers(contents, complete)
check_nothing_lost()
hawk.finish()
