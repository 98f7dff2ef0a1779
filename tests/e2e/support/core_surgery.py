# SPDX-License-Identifier: Apache-2.0
"""Taking parts out of core files: program headers, notes of threads, segments."""

import random
import struct

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, REGISTERS_OFFSET, RSP = 1, 112, 19
NT_FILE = 0x46494c45
WRITE = 2


def program_headers(data):
    """(offset of the header, type, flags, offset, address, file size) of each."""
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        at = offset + i * size
        kind, flags, start, address, _, file_size = struct.unpack_from("<IIQQQQ", data, at)
        yield at, kind, flags, start, address, file_size


def notes(data, wanted):
    """Offsets of the headers of notes of the type wanted, and of their contents."""
    for _, kind, _, start, _, size in program_headers(data):
        at = start
        while kind == PT_NOTE and at < start + size:
            name, length, note = struct.unpack_from("<III", data, at)
            contents = at + 12 + (name + 3 & ~3)
            if note == wanted:
                yield at, contents
            at = contents + (length + 3 & ~3)


def thread_notes(data):
    return notes(data, NT_PRSTATUS)


def without_file_note(data):
    """A core that does not say which files were mapped."""
    data = bytearray(data)
    for at, _ in notes(data, NT_FILE):
        struct.pack_into("<I", data, at + 8, 0x7fffffff)
    return data


def drop_segments(data, addresses):
    """The segments that hold the addresses are no longer in the file; returns how many."""
    dropped = 0
    for at, kind, _, _, address, size in program_headers(data):
        if kind == PT_LOAD and any(address <= wanted < address + size for wanted in addresses):
            struct.pack_into("<Q", data, at + 32, 0)
            dropped += 1
    return dropped


def leave_out_segment(data, address):
    """A core that was written without the bytes of the segment that holds the address."""
    data = bytearray(data)
    headers = list(program_headers(data))
    at, start, size = next((at, start, size) for at, kind, _, start, base, size in headers
                           if kind == PT_LOAD and base <= address < base + size)
    for other, _, _, offset, _, _ in headers:
        if offset > start:
            struct.pack_into("<Q", data, other + 8, offset - size)
    struct.pack_into("<Q", data, at + 32, 0)
    del data[start:start + size]
    return data


def stack_pointers(data):
    """Returns the stack pointer of each thread."""
    return [struct.unpack_from("<Q", data, contents + REGISTERS_OFFSET + 8 * RSP)[0] for _, contents in thread_notes(data)]


def segment_at(data, address):
    """(offset in the file, address, size) of the segment that holds the address."""
    return next((start, base, size) for _, kind, _, start, base, size in program_headers(data)
                if kind == PT_LOAD and base <= address < base + size)


def damage(data, start, end, count):
    """Overwrites `count` places with values that hurt: random, all ones, small, off by a page, one bit."""
    for _ in range(count):
        at = random.randrange(start, max(start + 1, end - 8))
        old, = struct.unpack_from("<Q", data, at)
        value = random.choice((random.getrandbits(64), (1 << 64) - 1, 0, 1, old + 4096, old - 1,
                               old ^ (1 << random.randrange(64)), 1 << random.randrange(64)))
        struct.pack_into("<Q", data, at, value % (1 << 64))
