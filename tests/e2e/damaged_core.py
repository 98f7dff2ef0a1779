# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Damage inside a core: random bytes in its headers, its notes, its trace table and its memory; a
named file that is a FIFO, gone, or another binary. Never a crash or a hang, always an exit code."""

import os
import random
import resource
import shutil
import struct

from support import hawk
from support.core_surgery import PT_NOTE, damage, program_headers, segment_at

CODES = (hawk.EXIT_OK, hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL)
ROUNDS = 6


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def check(path, what, codes=CODES):
    for verb in (["analyze", "--json"], ["analyze", "--full"], ["blocks"]):
        done = hawk.run([hawk.CORE, *verb, path], timeout=60, preexec_fn=limit_memory)
        if not hawk.expect(done.returncode in codes,
                           f"{verb[0]} of {what}: exit code {done.returncode}: {done.stderr[-300:]!r}"):
            if os.environ.get("HAWK_KEEP_DAMAGED"):
                shutil.copy(path, os.path.join(os.environ["HAWK_KEEP_DAMAGED"], what.replace(" ", "-")))


def write(data):
    return hawk.write(os.path.join(folder, "damaged"), data)


def find_table(data):
    """Offset of the table's header in the file: its magic, on a page."""
    at = data.find(b"HAWKTBL1")
    while at >= 0 and at % 8:
        at = data.find(b"HAWKTBL1", at + 1)
    return at


def check_random_damage(core):
    whole = bytearray(hawk.read(core))
    table = find_table(whole)
    hawk.expect(table > 0, "the core holds a table")
    program_headers_end = 64 + 56 * struct.unpack_from("<H", whole, 56)[0]
    regions = {
        "the ELF header": (16, 64, 1),
        "the program headers": (64, program_headers_end, 3),
        "the notes": (program_headers_end, min(table, program_headers_end + 20000), 20),
        "the table's header": (table + 72, table + 4096, 3),
        "the table's directories": (table + 112, table + 900, 5),
        "the table's records": (table + 8192, table + (2 << 20), 4000),
        "all of the memory": (program_headers_end, len(whole), 20000),
    }
    for what, (start, end, count) in regions.items():
        for number in range(ROUNDS if count < 1000 else 3):
            data = bytearray(whole)
            damage(data, start, min(end, len(data)), count)
            check(write(data), f"{what} damaged {number}")


def check_random_table(core):
    """Every field of the table random, but for what it is recognised by."""
    whole = bytearray(hawk.read(core))
    table = find_table(whole)
    for number in range(3):
        data = bytearray(whole)
        data[table + 112:table + 8192] = random.randbytes(8192 - 112)
        check(write(data), f"a random table {number}")


def check_traces_without_stacks(core):
    """Traces in the table that were never published: every verb counts the same blocks as those without a stack."""
    data = bytearray(hawk.read(core))
    header = find_table(data)
    address, = struct.unpack_from("<Q", data, header + 240)
    start, base, _ = segment_at(data, address)
    records = start + address - base
    for trace in range(1, struct.unpack_from("<I", data, header + 120)[0]):
        struct.pack_into("<Q", data, records + 64 * trace, 0)
    path = write(data)
    said = set()
    for words in (["blocks", path], ["blocks", path, "--top=1"], ["sql", path, "SELECT count(*) FROM blocks"]):
        done = hawk.run([hawk.CORE, *words])
        hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{words}: {done.stderr}")
        said |= {line for line in done.stderr.splitlines() if "stack" in line and "cannot be read" in line}
    hawk.expect_equal(len(said), 1, f"lost stacks: {said}")


def check_replaced_program():
    """A binary that is a FIFO, another binary, a text or gone is named and not used."""
    program = os.path.join(folder, "program")
    for what in ("fifo", "another binary", "text", "gone", "directory", "link to a device"):
        shutil.copyfile(os.path.join(hawk.SAMPLES, "leak"), program)
        os.chmod(program, 0o755)
        core, _ = hawk.crash([program, "abort"], hawk.tracer_environment(), folder)
        os.unlink(program)
        if what == "fifo":
            os.mkfifo(program)
        elif what == "another binary":
            shutil.copyfile(os.path.join(hawk.SAMPLES, "dead"), program)
        elif what == "text":
            shutil.copyfile(os.path.abspath(__file__), program)
        elif what == "directory":
            os.mkdir(program)
        elif what == "link to a device":
            os.symlink("/dev/zero", program)
        analysis = core and hawk.analyze(core, codes=(hawk.EXIT_PARTIAL, hawk.EXIT_OK))
        if os.path.isdir(program):
            os.rmdir(program)
        elif os.path.lexists(program):
            os.unlink(program)
        if not analysis:
            continue
        hawk.check_counters(analysis, what)
        names = [name for site in analysis["sites"] for name in hawk.functions_of(site)]
        hawk.expect("forget_block" not in names and "make_doomed" not in names,
                    f"{what}: names from a file that does not match")
        hawk.expect(any("program" in str(item) for item in analysis["missing"]),
                    f"{what}: the program's file is not in {analysis['missing']}")
        restored = os.path.join(hawk.SAMPLES, "leak")
        analysis = hawk.analyze(core, "--exe", restored)
        names = [name for site in analysis["sites"] for name in hawk.functions_of(site)]
        hawk.expect("forget_block" in names, f"{what}: --exe gives no names")
        os.unlink(core)


def check_cut_off(core):
    """Shares are of the present data, and missing data is not reported as zero."""
    whole = bytearray(hawk.read(core))
    counted = 0
    for size in (60000, 200000, 1 << 20, len(whole) // 2, len(whole) * 3 // 4, len(whole) * 15 // 16):
        path = write(whole[:size])
        done = hawk.run([hawk.CORE, "analyze", path])
        hawk.expect("by 0 threads" not in done.stdout, f"cut to {size}: {done.stdout[:900]}")
        analysis = hawk.analyze(path, codes=(hawk.EXIT_PARTIAL,))
        heap = analysis["heap"] if analysis else {}
        counted += bool(heap.get("alloc_objects"))
        if heap.get("traced"):
            hawk.expect(heap["tracer_bytes"] <= heap["writable_bytes"], f"cut to {size}: {heap}")
    hawk.expect(counted > 1, "a table is found in cut cores")


def check_without_notes(core):
    data = bytearray(hawk.read(core))
    for at, kind, *_ in program_headers(data):
        if kind == PT_NOTE:
            struct.pack_into("<I", data, at, 0)
    done = hawk.run([hawk.CORE, "analyze", write(data)])
    hawk.expect("how it ended is not in the core" in done.stdout, f"no notes: {done.stdout[:300]}")


random.seed(20260101)
folder = hawk.temporary_folder()
sample, _ = hawk.crash([os.path.join(hawk.SAMPLES, "leak"), "abort"], hawk.tracer_environment(),
                       folder)
check_random_damage(sample)
check_random_table(sample)
check_traces_without_stacks(sample)
check_replaced_program()
check_cut_off(sample)
check_without_notes(sample)
hawk.finish()
