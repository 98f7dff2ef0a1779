# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Input that is no core, or only part of one: a clear sentence and the right exit code, never a
crash, a hang, or more memory than the bound."""

import os
import resource
import struct

from support import hawk
from support.core_surgery import PT_LOAD, program_headers

MEMORY_BOUND = 2 << 30  # address space; the mapped core counts too
VERBS = (["analyze"], ["analyze", "--json"], ["blocks"], ["blocks", "--json"])


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BOUND, MEMORY_BOUND))


def tool(verb, path, *rest):
    return hawk.run([hawk.CORE, *verb, path, *rest], preexec_fn=limit_memory, timeout=60,
                    cwd=folder)


def check(path, codes, what, words=()):
    """Every verb on one file: the exit code is one of `codes`, errors are one clear line."""
    for verb in VERBS + (["whatis"],):
        done = tool(verb, path, *(["0x1000"] if verb == ["whatis"] else []))
        label = f"{' '.join(verb)} of {what}"
        hawk.expect(done.returncode in codes, f"{label}: exit code {done.returncode}, "
                    f"{done.stderr[-300:]!r}")
        if done.returncode == hawk.EXIT_UNREADABLE:
            hawk.expect(done.stderr.startswith("hawk-core") and done.stderr.count("\n") <= 2,
                        f"{label}: message {done.stderr!r}")
            hawk.expect(not done.stdout, f"{label}: output {done.stdout[:100]!r}")
            for word in words:
                hawk.expect(word in done.stderr.lower(), f"{label}: no {word!r} in "
                            f"{done.stderr!r}")


def write(name, data):
    return hawk.write(os.path.join(folder, name), data)


def elf_header(bits=64, order="little", machine=62, kind=4, segments=0, entry_size=56, offset=64):
    """An ELF header; `kind` 4 is a core."""
    mark = "<" if order == "little" else ">"
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1 if order == "little" else 2, 1]) + b"\0" * 9
    word = "Q" if bits == 64 else "I"
    return ident + struct.pack(mark + "HHI" + 3 * word + "IHHHHHH", kind, machine, 1, 0, offset, 0,
                               0, 64 if bits == 64 else 52, entry_size, segments, 0, 0, 0)


def segment(kind, offset, address, file_size, memory_size, flags=6):
    return struct.pack("<IIQQQQQQ", kind, flags, offset, address, 0, file_size, memory_size, 4096)


def check_no_cores():
    unreadable = (hawk.EXIT_UNREADABLE,)
    check(os.path.join(folder, "nowhere"), unreadable, "a missing file", ["no such file"])
    check(folder, unreadable, "a directory", ["directory"])
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    check(fifo, unreadable, "a FIFO")
    check("/dev/zero", unreadable, "a device")
    check(write("empty", b""), unreadable, "an empty file")
    check(write("text", b"core dumped, they said\n" * 1000), unreadable, "a text file")
    check(write("short", b"\x7fELF"), unreadable, "four bytes of ELF")
    check(hawk.CORE, unreadable, "an ELF executable")
    check(hawk.TRACER, unreadable, "a shared library")
    check(write("core32", elf_header(32, machine=3, entry_size=32, offset=52) + b"\0" * 4096),
          unreadable, "a 32-bit core")
    check(write("riscv", elf_header(machine=243) + b"\0" * 4096), unreadable, "a RISC-V core")
    check(write("s390", elf_header(order="big", machine=22) + b"\0" * 4096), unreadable,
          "a big-endian core")


def check_hostile_headers():
    any_answer = (hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL)
    huge = (1 << 64) - 1
    hostile = {
        "no segments": elf_header(segments=0),
        "segments beyond the end": elf_header(segments=0xfffe),
        "extended numbering without a section": elf_header(segments=0xffff),
        "headers at 2^64": elf_header(segments=3, offset=huge - 8),
        "tiny entries": elf_header(segments=3, entry_size=1) + b"\0" * 200,
        "a note of 2^64 bytes": elf_header(segments=1) + segment(4, 120, 0, huge, 0),
        "a segment of 2^64 bytes": elf_header(segments=1) + segment(1, 120, 0x1000, huge, huge),
        "a segment around the end of memory":
            elf_header(segments=1) + segment(1, 120, huge - 4096, 0x2000, 0x4000) + b"x" * 9000,
        "overlapping segments": elf_header(segments=2) + segment(1, 176, 0x1000, 0x3000, 0x3000) +
            segment(1, 176, 0x2000, 0x3000, 0x3000) + b"x" * 0x3000,
        "a segment over its own header": elf_header(segments=1) + segment(1, 0, 0x1000, 120, 120),
    }
    note = struct.pack("<III", 0xffffffff, 0xffffffff, 1) + b"CORE\0\0\0\0" + b"\xff" * 500
    hostile["a note with sizes of 2^32"] = \
        elf_header(segments=1) + segment(4, 120, 0, len(note), 0) + note
    files = struct.pack("<IIIqq", 5, 16 + 24, 0x46494c45, -1, 4096)[:12] + b"CORE\0\0\0\0" + \
        struct.pack("<QQ", huge, 0) + b"\xff" * 24
    hostile["a file note that counts 2^64"] = \
        elf_header(segments=1) + segment(4, 120, 0, len(files), 0) + files
    for what, data in hostile.items():
        check(write("hostile", data), any_answer, what)


def segments_of(core):
    """(address, file offset, file size) of every PT_LOAD."""
    return [(address, start, size) for _, kind, _, start, address, size in program_headers(hawk.read(core))
            if kind == PT_LOAD]


def end_of_header(text, loads):
    """Offset in the core of the first byte behind a block's header."""
    header = int(text, 16) - 16
    for address, offset, size in loads:
        if address <= header < address + size:
            return offset + header - address + 16
    raise ValueError(f"{text} is not in the core")


def blocks_before(blocks, loads, size):
    """Returns the entries whose header lies in the first `size` bytes of the file."""
    return {block["address"]: block["site"] for block in blocks
            if end_of_header(block["address"], loads) <= size}


def check_cuts():
    """A core cut off anywhere does not crash the analyzer; if the table is complete, every remaining block is found."""
    core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "4000", "--crash",
                          "abort"], hawk.tracer_environment(), folder)
    if not core:
        return
    all_blocks = hawk.blocks(core)
    loads = segments_of(core)
    whole = hawk.analyze(core)
    if not hawk.expect(whole and len(all_blocks) > 1000, "the whole core"):
        return
    names = {site["site"]: hawk.functions_of(site) for site in whole["sites"]}
    size = os.path.getsize(core)
    for part in (0.5, 0.75, 0.99):
        check_half(core, int(size * part), all_blocks, loads, names, f"{part} of the core")
    ends = sorted(end_of_header(block["address"], loads) for block in all_blocks)
    for part in (0.02, 0.3, 0.5, 0.7, 0.98):
        check_half(core, ends[int(len(ends) * part)], all_blocks, loads, names,
                   f"cut behind {part} of the blocks")
    for step in range(9):
        at = size * step // 9 + step * 977 % 4096
        path = hawk.cut(core, at)
        codes = (hawk.EXIT_UNREADABLE,) if at < 64 else (hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL)
        check(path, codes, f"a core of {size} bytes cut at {at}")
    memory_end = max(offset + there for _, offset, there in loads)  # gdb puts a section table last
    for at in (0, 1, 63, 64, 120, 4097, memory_end - 1):
        check(hawk.cut(core, at), (hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL), f"cut at {at}")


def check_half(core, size, all_blocks, loads, names, what):
    path = hawk.cut(core, size)
    analysis = hawk.analyze(path, codes=(hawk.EXIT_PARTIAL,))
    if not analysis:
        return
    wanted = blocks_before(all_blocks, loads, size)
    found = {block["address"]: block["site"] for block in hawk.blocks(path)}
    missed = wanted.keys() - found.keys()
    hawk.expect(not missed, f"{what}: {len(missed)} of {len(wanted)} blocks missed")
    hawk.expect(found.keys() <= wanted.keys(), f"{what}: {len(found.keys() - wanted.keys())} false")
    hawk.expect(analysis["missing"], f"{what}: nothing is said to be missing")
    hawk.expect_equal(analysis["heap"]["inuse_objects"], len(wanted), f"{what}: blocks")
    wrong = sum(1 for address in wanted.keys() & found.keys()
                if wanted[address] != found[address])
    hawk.expect(not wrong, f"{what}: {wrong} blocks have another site")
    for site in analysis["sites"]:
        hawk.expect(hawk.functions_of(site) == names.get(site["site"]),
                    f"{what}: stack of site {site['site']}")
    print(f"{what}: {len(found)} of {len(all_blocks)} blocks", flush=True)


folder = hawk.temporary_folder()
hawk.run_checks(globals())
