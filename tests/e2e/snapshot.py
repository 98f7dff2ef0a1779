# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""A snapshot answers as the core does, on a machine without the program's files, and holds nothing of what the program
held. It is there whole or not at all; what is damaged or cut off is refused or read as far as checksums hold."""

import os
import re
import resource
import secrets
import shutil
import signal
import struct
import subprocess

from support import hawk, holder_world, real

NO_TYPES = ("-g1",)  # a snapshot does not keep the types that paths take from debug information

# {site}, {other}: of the core's first sites; {address}, {inside}: of a block of the first.
QUESTIONS = [
    "analyze", "analyze --by=function", "analyze --json", "analyze --by=module --json", "analyze --sort=total --no-suspects",
    "leaks", "leaks --full --kinds=all", "leaks --json", "leaks --heuristics=none", "leaks --size=8-64",
    "retained", "retained --by=root", "retained --by=tree", "retained --by=block --json --top=20",
    "growth --full", "growth --json", "sites", "sites --json", "path {address}", "path --json {address}",
    "path --site={other}", "refs {address}", "refs --json {address} {inside}", "merge-paths", "merge-paths --json --top=20",
    "whatis {address} {inside} {header} 0x10", "whatis --json {inside}", "blocks --json", "blocks --top=20",
    "blocks --site={other} --top=20", "export --format=folded", "export --format=folded --what=total",
    "export --format=speedscope", "export --format=heapsnapshot", "export --format=dot", "heap", "heap --full",
    "heap --json",
]
# These give all that a snapshot holds; the verbs make their answers of that.
FEW = ["analyze", "analyze --json", "leaks --json", "retained --by=tree", "growth --json", "blocks --json", "heap --json"]
QUERIES = [
    "SELECT * FROM blocks ORDER BY address LIMIT 2000", "SELECT * FROM edges ORDER BY 1, 2, 3, 4 LIMIT 2000",
    "SELECT * FROM roots ORDER BY address, target LIMIT 2000", "SELECT * FROM sites ORDER BY 1",
    "SELECT kind, count(*) FROM leaks GROUP BY 1 ORDER BY 1", "SELECT type, count(*) FROM blocks GROUP BY 1 ORDER BY 1",
    "SELECT * FROM pins", "SELECT * FROM threads", "SELECT * FROM mappings", "SELECT * FROM modules",
]
PIECE = 6  # bytes of a secret in a row that must not be found
FRAME = struct.Struct("<IHHQQQQQQQ")  # formats/hawk_snapshot.h


def snapshot(source, to, *options, codes=(hawk.EXIT_OK,), **more):
    done = hawk.run([hawk.CORE, "snapshot", "-q", "-o", to, *options, *source], **more)
    hawk.expect(done.returncode in codes, f"snapshot {source}: {done.returncode} {done.stderr[-500:]}")
    return done


def frame_places(data):
    """Start and end of each frame with its contents."""
    at = 64
    while at < len(data):
        start, stored = at, FRAME.unpack_from(data, at)[6]
        at += FRAME.size + stored
        yield start, at


def frames(data):
    """Section, first, items and contents of each frame."""
    for start, end in frame_places(data):
        _, section, encoding, first, items, raw, *_ = FRAME.unpack_from(data, start)
        contents = data[start + FRAME.size:end]
        if encoding:
            contents = subprocess.run(["zstd", "-dc"], input=contents, stdout=subprocess.PIPE, check=True).stdout
        hawk.expect_equal(len(contents), raw, "bytes of a frame")
        yield section, first, items, contents


def unpacked(path):
    return b"".join(contents for *_, contents in frames(hawk.read(path)))


def normal(text):
    """Without arguments, which no snapshot has."""
    return re.sub(r'^("arguments":).*\n|^  (command|program) .*\n(            .*\n)*', "", text, flags=re.M)


def places_of(core):
    sites = [site["site"] for site in hawk.analyze(core)["sites"]]
    address = int(hawk.blocks(core, f"--site={sites[0]}")[0]["address"], 16)
    return {"site": sites[0], "other": sites[min(1, len(sites) - 1)], "address": hex(address), "inside": hex(address + 8),
            "header": hex(address - 8)}


def answer(folder_name, name, words):
    done = subprocess.run([hawk.CORE, words[0], name, *words[1:]], cwd=os.path.join(folder, folder_name), check=False,
                          capture_output=True, timeout=240)
    text = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    return done.returncode, normal(text)


def check_answers(name, questions=tuple(QUESTIONS), queries=tuple(QUERIES), other="copy"):
    """The file has the same name in two folders, so that answers must be the same bytes."""
    places = places_of(os.path.join(folder, "orig", name))
    asked = [question.format(**places).split() for question in questions] + [["sql", query] for query in queries]
    for words in asked:
        found, wanted = answer(other, name, words), answer("orig", name, words)
        if found != wanted:
            lines = [pair for pair in zip(found[1].splitlines(), wanted[1].splitlines()) if pair[0] != pair[1]]
            hawk.expect(False, f"{name}: {words} differs: {found[0]} {wanted[0]} {lines[:2]}")


def check_contents_are_named(name):
    places = places_of(os.path.join(folder, "orig", name))
    done = hawk.run([hawk.CORE, "schema", copy_of(name), places["site"]])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "schema")
    hawk.expect("a snapshot holds no contents of blocks" in done.stderr, f"schema: {done.stderr!r}")
    hawk.expect("a snapshot holds no contents" in hawk.text_of("analyze", "--full", copy_of(name)), "analyze --full")
    done = hawk.run([hawk.CORE, "redact", "-o", copy_of(name) + ".redacted", copy_of(name)])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "redact")


def copy_of(name):
    return os.path.join(folder, "copy", name)


def keep(core, name, codes=(hawk.EXIT_OK,), *options):
    path = shutil.move(core, os.path.join(folder, "orig", name))
    snapshot([path], copy_of(name), *options, codes=codes)
    hawk.expect_equal(os.stat(copy_of(name)).st_mode & 0o777, 0o600, f"{name}: rights")
    return path


def pieces(form):
    return {form[i:i + PIECE] for i in range(len(form) - PIECE + 1)}


def make_secret():
    """Text, and words that look like no address."""
    return [secrets.token_hex(24).encode(), secrets.token_hex(24).encode("utf-16-le"),
            struct.pack("<8Q", *(4 * 10**15 + secrets.randbelow(10**15) for _ in range(8)))]


def check_secrets():
    """In blocks, stacks, registers, the environment and arguments: tests/e2e/programs/secrets.c."""
    forms = make_secret()
    file = hawk.write(os.path.join(folder, "secret-file"), forms[0] * 20)
    program = hawk.compile_program(os.path.join(folder, "secrets"), ["secrets.c"], flags=("-O1", *NO_TYPES))
    form_file = hawk.write(os.path.join(folder, "forms"), "".join(form.hex() + "\n" for form in forms))
    before = set(os.listdir(folder))
    with open(form_file, "rb") as stdin:
        subprocess.run([program, file, forms[0].decode()], stdin=stdin, cwd=folder, check=False,
                       env=hawk.tracer_environment(extra={"SECRET": forms[0].decode()}), preexec_fn=hawk.allow_cores)
    cores = [name for name in set(os.listdir(folder)) - before if "core" in name]
    if not cores:
        hawk.skip("the kernel writes no core files here")
    core = keep(os.path.join(folder, cores[0]), "secrets")
    contents = unpacked(copy_of("secrets"))
    for form in forms:
        hawk.expect(hawk.read(core).count(form) > 3, f"{form!r} was not planted")
        left = [piece for piece in pieces(form) if piece in contents]
        hawk.expect(not left, f"{form!r}: {left[:5]} are left")
    host = os.uname().nodename.encode()
    hawk.expect(len(host) < 4 or host not in contents, "the name of the host")
    check_answers("secrets")
    return core


def check_elsewhere(core):
    """The program is gone, and nothing of this system is looked at."""
    name = "elsewhere"
    os.link(core, os.path.join(folder, "orig", name))  # a copy would have other holes
    shutil.copy(copy_of("secrets"), copy_of(name))
    places = places_of(core)
    wanted = [answer("orig", name, question.format(**places).split()) for question in QUESTIONS[:12]]
    os.rename(os.path.join(folder, "secrets"), os.path.join(folder, "moved"))
    empty = os.path.join(folder, "empty")
    os.makedirs(empty, exist_ok=True)
    for question, known in zip(QUESTIONS, wanted):
        found = answer("copy", name, question.format(**places).split())
        lines = [pair for pair in zip(found[1].splitlines(), known[1].splitlines()) if pair[0] != pair[1]]
        hawk.expect(found == known, f"without the program: {question}: {lines[:2]}")
    hawk.expect_equal(hawk.analyze(copy_of(name), f"--sysroot={empty}")["sites"], hawk.analyze(copy_of(name))["sites"],
                      "with --sysroot")
    os.rename(os.path.join(folder, "moved"), os.path.join(folder, "secrets"))


def check_base_paths(core):
    path = os.path.join(folder, "base")
    snapshot([core], path, "--paths=base")
    contents = unpacked(path)
    hawk.expect(folder.encode() not in contents, "a folder is left")
    hawk.expect(b"/usr/" not in contents, "a folder of the system is left")
    sites, whole = hawk.analyze(path)["sites"], hawk.analyze(core)["sites"]
    hawk.expect_equal([site["site"] for site in sites], [site["site"] for site in whole], "--paths=base: sites")
    hawk.expect_equal([hawk.functions_of(site) for site in sites], [hawk.functions_of(site) for site in whole],
                      "--paths=base: functions")


def check_sites_only(core):
    path = os.path.join(folder, "sites")
    snapshot([core], path, "--sites-only")
    hawk.expect(os.path.getsize(path) < os.path.getsize(copy_of("secrets")), "sites alone are smaller")
    for arguments in (["--no-suspects"], ["--no-suspects", "--by=function"]):
        hawk.expect_equal(normal(hawk.text_of("analyze", *arguments, path).replace(path, "")),
                          normal(hawk.text_of("analyze", *arguments, core).replace(core, "")), f"sites only: {arguments}")
    hawk.expect("holds sites and no blocks" in hawk.text_of("analyze", path), "why no suspects")
    done = hawk.run([hawk.CORE, "leaks", path])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "leaks of sites only")
    hawk.expect("--sites-only" in done.stderr, f"{done.stderr!r}")


def check_heuristics(name):
    """A snapshot says which pointers are explained, and not by which heuristic."""
    for heuristics, missing in (("all", False), ("none", False), ("endpointer", False), ("valgrind", True)):
        document = hawk.document("leaks", "--heuristics=" + heuristics, copy_of(name),
                                 codes=(hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_PARTIAL))
        hawk.expect_equal("heuristics-unread" in [item["key"] for item in document["missing"]], missing,
                          heuristics)


def check_cut(core):
    """Checks truncated or damaged cores, and truncated or damaged snapshots."""
    for share in (4, 7, 9):
        name = f"cut-{share}"
        cut = hawk.cut(core, os.path.getsize(core) * share // 10)
        keep(cut, name, (hawk.EXIT_PARTIAL,))
        check_answers(name, [q for q in FEW if "{" not in q], QUERIES[:4])
    data = bytearray(hawk.read(core))
    table = data.find(b"HAWKTBL1")
    for at in range(table + 8192 + 64 * 20, table + 8192 + 64 * 30):
        data[at] ^= 0x5a
    damaged = hawk.write(os.path.join(folder, "damaged"), data)
    keep(damaged, "damaged", (hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    check_answers("damaged", [q for q in FEW if "{" not in q], QUERIES[:4])


def flipped(data, at, bit=6):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]


def check_told(path, data, what, *questions):
    """Whatever is asked, damage is refused or told."""
    hawk.write(path, data)
    for words in (["analyze", "--no-suspects"], *questions):
        done = hawk.run([hawk.CORE, words[0], path, *words[1:]])
        hawk.expect(done.returncode in (hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL), f"{what}: {words} {done.returncode}")
        hawk.expect("Nothing was missing" not in done.stdout, f"{what}: {words} misses nothing")


def check_damaged_snapshots():
    whole = hawk.read(copy_of("secrets"))
    path = os.path.join(folder, "hurt")
    codes = (hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL)
    for size in range(1, len(whole) - 64, len(whole) // 20):
        hawk.write(path, whole[:size])
        done = hawk.run([hawk.CORE, "analyze", "--json", path])
        hawk.expect(done.returncode in codes, f"cut at {size}: {done.returncode} {done.stderr[-300:]}")
    for at in range(0, len(whole), len(whole) // 12):
        check_told(path, flipped(whole, at), f"changed at {at}", ["blocks"], ["sql", "SELECT count(*) FROM edges"])
    fields = (0, 4, 6, 8, 16, 24, 32, 40, 56)
    for number, (start, end) in enumerate(frame_places(whole)):
        field = fields[number % len(fields)]
        check_told(path, flipped(whole, start + field), f"frame at {start}, field {field}")
        check_told(path, whole[:start] + whole[end:], f"without the frame at {start}")
    newer = bytearray(whole)
    newer[8] = 9
    hawk.write(path, newer)
    done = hawk.run([hawk.CORE, "analyze", path])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "a newer version")
    hawk.expect("is a snapshot of version 9" in done.stderr, f"{done.stderr!r}")


def check_refusals(core):
    place = os.path.join(folder, "place")
    os.mkdir(place)
    command = [hawk.CORE, "snapshot", "-q", "-o", os.path.join(place, "file"), core]
    done = hawk.run(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    hawk.expect_equal((done.returncode, os.listdir(place)), (hawk.EXIT_UNREADABLE, []), f"disk full: {done.stderr!r}")
    done = hawk.run([*command[:4], os.path.join(place, "nowhere", "file"), core])
    hawk.expect_equal((done.returncode, os.listdir(place)), (hawk.EXIT_UNREADABLE, []), f"no folder: {done.stderr!r}")
    hawk.write(command[4], "another file")
    hawk.expect_equal(hawk.run(command).returncode, hawk.EXIT_UNREADABLE, "overwriting")
    hawk.expect_equal(hawk.read(command[4]), b"another file", "overwritten")
    hawk.expect_equal(hawk.run([*command, "--force"]).returncode, hawk.EXIT_OK, "--force")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([hawk.CORE, "snapshot", "-q", core], stdout=full, stderr=subprocess.PIPE, check=False)
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "to a full device")


def check_process():
    program = hawk.need("python3")
    process = subprocess.Popen([program, "-c", "import time\nkept = [str(i) for i in range(20000)]\nprint('', flush=True)\n"
                                "time.sleep(600)"], env=hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}),
                               stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        hawk.wait_for_state(process.pid, "S", "the program to sleep")
        path = os.path.join(folder, "process")
        snapshot(["--pid", str(process.pid)], path)
        live = hawk.parse(hawk.text_of("analyze", "--json", f"--pid={process.pid}"))
        kept = hawk.analyze(path)
        hawk.expect_equal(kept["heap"]["inuse_objects"], live["heap"]["inuse_objects"], "blocks of a process")
        hawk.expect_equal([(s["site"], s["inuse_bytes"]) for s in kept["sites"]],
                          [(s["site"], s["inuse_bytes"]) for s in live["sites"]], "sites of a process")
        hawk.text_of("retained", path)
        hawk.text_of("path", path, hawk.blocks(path)[0]["address"])
    finally:
        process.kill()
        process.wait()


def check_sizes(name):
    """At most 4 bytes a block, and 2.5 a pointer with its place."""
    sizes, items = {}, {}
    data = hawk.read(copy_of(name))
    for start, end in frame_places(data):
        _, section, _, _, count, *_ = FRAME.unpack_from(data, start)
        sizes[section] = sizes.get(section, 0) + end - start
        items[section] = items.get(section, 0) + count
    block = (sizes[6] + sizes[8]) / items[6]
    pointer = (sizes[9] + sizes[10]) / items[9]
    print(f"{name}: {len(data)} bytes, {block:.2f} a block, {pointer:.2f} a pointer")
    hawk.expect(block < 4 and pointer < 2.5, f"{name}: {block:.2f} bytes a block, {pointer:.2f} a pointer")


def check_programs():
    program = holder_world.build(folder, flags=NO_TYPES)
    core, _ = hawk.crash([program, "abort"], hawk.tracer_environment(), folder)
    keep(core, "holders")
    orderd = [os.path.join(hawk.SAMPLES, "orderd"), "--crash", "segv"]
    core, _ = hawk.crash(orderd, hawk.tracer_environment(), folder, (signal.SIGSEGV,))
    keep(core, "orderd")
    script = "import os\nkept = {i: ['text %d' % i, (i, i / 7)] for i in range(3000)}\nos.abort()"
    core, _ = hawk.crash([hawk.need("python3"), "-c", script],
                         hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}), folder)
    keep(core, "python")
    core, _ = hawk.crash(orderd, hawk.tracer_environment(options="sample=8k"), folder, (signal.SIGSEGV,))
    keep(core, "sampled")
    program = hawk.compile_program(os.path.join(folder, "pools"), ["pools.c"],
                                   flags=["-O1", "-pthread", "-I", os.path.join(hawk.SOURCE, "tracer")])
    core, _ = hawk.crash([program, "abort"], hawk.tracer_environment(), folder)
    keep(core, "pools")
    core, _ = hawk.crash([program, "abort"], hawk.plain_environment(), folder)
    keep(core, "untraced")
    script = "t = {} for i = 1, 3000 do t[i] = {id = i, name = 'n' .. i} end os.execute('kill -ABRT $PPID')"
    core, _ = hawk.crash([hawk.need("lua5.4"), "-e", script], hawk.plain_environment(), folder)
    keep(core, "lua")
    check_answers("holders")
    for name in ("orderd", "python", "sampled", "pools", "lua"):
        check_answers(name, FEW)
    check_answers("untraced", [q + " --type=." if q.startswith("leaks") else q for q in FEW]) # types, as a snapshot has them
    check_types("lua")
    check_contents_are_named("orderd")
    check_sizes("python")
    check_table_file(orderd)


def check_types(name):
    found, wanted = (hawk.document("types", os.path.join(folder, place, name)) for place in ("copy", "orig"))
    hawk.expect_equal(found["types"], wanted["types"], f"{name}: types")
    hawk.expect("Lua table {id,name}" in [item["type"] for item in found["types"]], f"{name}: {found['types'][:5]}")
    traced = hawk.document("types", os.path.join(folder, "copy", "orderd"))
    hawk.expect("types-unread" in [item["key"] for item in traced["missing"]], "orderd: types that flow")


def check_table_file(orderd):
    """A table file beside a core that lacks it, and by itself."""
    table = os.path.join(folder, "table.hawk")
    core, _ = hawk.crash(orderd, hawk.tracer_environment(options=f"table={table}"), folder, (signal.SIGSEGV,))
    path = os.path.join(folder, "with-table")
    snapshot([core], path, f"--table={table}", codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    hawk.expect_equal(hawk.analyze(path)["sites"], hawk.analyze(core, f"--table={table}")["sites"], "with a table file")
    snapshot([table], path, "--force", codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    hawk.expect_equal(hawk.analyze(path)["sites"], hawk.analyze(table)["sites"], "of a table file")


def check_redis():
    with real.redis(folder, hawk.tracer_environment()) as (process, command):
        command("eval", "for i = 1, 3000 do redis.call('set', 'k' .. i, 'a value ' .. i) "
                "redis.call('hset', 'h' .. i % 100, i, i) end", "0")
        real.wait_until_idle(process.pid, "redis")
        keep(real.kill_to_core(process, folder, signal.SIGABRT, "redis"), "redis")
    check_answers("redis", FEW)
    check_sizes("redis")


folder = hawk.temporary_folder()
os.mkdir(os.path.join(folder, "orig"))
os.mkdir(os.path.join(folder, "copy"))
hawk.need("zstd")
secret_core = check_secrets()
check_elsewhere(secret_core)
check_base_paths(secret_core)
check_sites_only(secret_core)
check_heuristics("secrets")
check_cut(secret_core)
check_damaged_snapshots()
check_refusals(secret_core)
check_process()
check_programs()
check_redis()
hawk.finish()
