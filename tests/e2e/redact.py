# SPDX-License-Identifier: Apache-2.0
"""A redacted core answers as the original does and shows gdb the same backtraces, and nothing that the
program held is left in it. The file is there whole or not at all."""

import base64
import json
import os
import pty
import re
import resource
import secrets
import shutil
import signal
import struct
import subprocess

from support import core_surgery, hawk, real

PIECE = 6  # bytes of the secret in a row that must not be found
EXTENTS_OFFSET = 704  # in the header of the trace table: of 32 bytes, the length behind the address

# {site}, {address}: of the core's first site, and of one of its blocks.
QUESTIONS = [
    "analyze", "analyze --by=function", "analyze --json", "leaks --full --kinds=all", "leaks --json",
    "retained", "retained --by=root", "retained --by=block --json --top=20", "growth --full", "growth --json",
    "sites", "sites --dot", "path {address}", "path --json {address}", "refs {address}", "refs --json {address}",
    "merge-paths", "whatis {address} {inside} 0x10", "whatis --json {inside}", "blocks --json",
]
QUERIES = [
    "SELECT kind, count(*), sum(size) FROM blocks GROUP BY kind ORDER BY 1",
    "SELECT * FROM roots ORDER BY address, target LIMIT 300", "SELECT * FROM threads", "SELECT * FROM mappings",
    "SELECT type, count(*) FROM blocks GROUP BY 1 ORDER BY 1",
]


def redact(core, to, *options, codes=(hawk.EXIT_OK,), **more):
    done = hawk.run([hawk.CORE, "redact", "-q", "-o", to, *options, core], **more)
    hawk.expect(done.returncode in codes, f"redact {core}: {done.returncode} {done.stderr[-500:]}")
    return done


def unpacked(path):
    if not path.endswith(".zst"):
        return hawk.read(path)
    return subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout


def normal(text, core):
    """Without the file's name, the arguments, and how much was looked at in a file with other holes."""
    text = text.replace(core, "CORE")
    text = re.sub(r'^("arguments":).*\n|^  (command|program) .*\n(            .*\n)*', "", text, flags=re.M)
    return text


def places_of(core):
    site = hawk.analyze(core)["sites"][0]["site"]
    address = int(hawk.blocks(core, f"--site={site}")[0]["address"], 16)
    return {"address": hex(address), "inside": hex(address + 8)}


def check_answers(core, copy, what, questions):
    """All verbs, of the plain copy to the letter."""
    places = places_of(core)
    check_questions(core, copy, what, [question.format(**places) for question in questions])
    for query in QUERIES:
        hawk.expect_equal(hawk.sql(copy, query, "--guest=none"), hawk.sql(core, query, "--guest=none"), f"{what}: {query}")


def check_questions(core, copy, what, questions):
    for question in questions:
        answers = []
        for path in (core, copy):
            verb, *words = question.split()
            done = hawk.run([hawk.CORE, verb, path, "--guest=none", *words])  # a copy has no guests
            text = normal(done.stdout, path) + normal(done.stderr, path)
            if copy.endswith(".zst"):
                text = re.sub(r'"(scanned|overhead|never_used)_bytes": ?\d+', "", text)
            answers.append((done.returncode, text))
        hawk.expect(answers[0] == answers[1], f"{what}: {question} differs")


def backtraces(program, core):
    """Threads, and of each frame its address and function."""
    done = hawk.run(["gdb", "-batch", "-nx", "-ex", "set print frame-arguments none", "-ex", "set print entry-values no",
                     "-ex", "thread apply all bt", "-ex", "info sharedlibrary", program, core])
    lines = [line for line in done.stdout.splitlines() if line.startswith(("Thread", "#", "0x", "From"))]
    hawk.expect(len([line for line in lines if line.startswith("#")]) > 2, f"gdb: {done.stdout[-500:]}")
    # The first frame is shown once more when the core is opened, with its arguments.
    return [re.sub(r" \(.*\)", "", line) for line in lines]


def check_gdb(program, core, copy, what):
    if not shutil.which("gdb"):
        return
    hawk.expect_equal(backtraces(program, copy), backtraces(program, core), f"{what}: gdb")


def check_same(program, core, questions=tuple(QUESTIONS)):
    """A copy of the same name in another folder, and a compressed one, whose text says less was looked at."""
    name = os.path.basename(core)
    for copy in (copy_of(core), copy_of(core) + ".zst"):
        redact(core, copy)
        hawk.expect_equal(os.stat(copy).st_mode & 0o777, 0o600, f"{copy}: rights")
        packed = copy.endswith(".zst")
        check_answers(core, copy, os.path.basename(copy), [q for q in questions if not packed or "json" in q])
    check_gdb(program, core, copy_of(core), name)


def copy_of(core):
    """Its path is as long: text is wrapped in the same places."""
    return core.replace("/orig/", "/copy/")


def put_in_place(core, name):
    return shutil.move(core, os.path.join(folder, "orig", name))


def pieces(form):
    return {form[i:i + PIECE] for i in range(len(form) - PIECE + 1)}


def make_secret():
    """The forms of one secret, all 8-byte words of which look like no address."""
    text = base64.b85encode(secrets.token_bytes(24)).decode()
    return [text.encode(), text.encode("utf-16-le"), base64.b64encode(secrets.token_bytes(30)),
            struct.pack("<8Q", *(4 * 10**15 + secrets.randbelow(10**15) for _ in range(8)))]


def make_secrets_core():
    forms = make_secret()
    file = hawk.write(os.path.join(folder, "secret-file"), forms[0] * 20)
    program = hawk.compile_program(os.path.join(folder, "secrets"), ["secrets.c"], flags=("-O1",))
    form_file = hawk.write(os.path.join(folder, "forms"), "".join(form.hex() + "\n" for form in forms))
    with open(form_file, "rb") as stdin:
        before = set(os.listdir(folder))
        done = subprocess.run([program, file, forms[0].decode()], stdin=stdin, cwd=folder, check=False,
                              env=hawk.tracer_environment(extra={"SECRET": forms[0].decode()}),
                              preexec_fn=hawk.allow_cores)
    hawk.expect_equal(done.returncode, -signal.SIGSEGV, "secrets")
    cores = [name for name in set(os.listdir(folder)) - before if "core" in name]
    if not cores:
        hawk.skip("the kernel writes no core files here")
    return program, put_in_place(os.path.join(folder, cores[0]), "secrets"), forms


def expect_no_secrets(forms, data, copy):
    data = re.sub(rb"\0{64,}", bytes(64), data)
    for form in forms:
        left = [piece for piece in pieces(form) if piece in data]
        hawk.expect(not left, f"{form!r}: {left[:5]} are left in {copy}")


def check_damaged_table(core, forms):
    """A length of the tracer's memory that reaches over all other memory keeps nothing of that."""
    data = bytearray(hawk.read(core))
    header = data.find(b"HAWKTBL1")
    struct.pack_into("<Q", data, header + EXTENTS_OFFSET + 8, 1 << 56)
    damaged = hawk.write(os.path.join(folder, "damaged-table"), data)
    redact(damaged, damaged + ".copy", codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    expect_no_secrets(forms, hawk.read(damaged + ".copy"), damaged)


def check_secrets():
    program, core, forms = make_secrets_core()
    whole = hawk.read(core)
    for form in forms:
        hawk.expect(whole.count(form) > 3, f"{form!r} was not planted")
    check_same(program, core)
    for copy in (copy_of(core), copy_of(core) + ".zst"):
        data = unpacked(copy)
        hawk.expect(len(data) >= len(whole), f"{len(data)} bytes of {len(whole)}")
        expect_no_secrets(forms, data, copy)
    check_damaged_table(core, forms)
    schema = hawk.text_of("schema", copy_of(core), hawk.analyze(core)["sites"][0]["site"])
    hawk.expect("The core was redacted" in schema, f"schema: {schema[-300:]}")
    return core


def check_cut(core):
    """A truncated core and its redacted copy give the same answers."""
    for share in (3, 6, 9):
        cut = hawk.cut(core, os.path.getsize(core) * share // 10)
        redact(cut, cut + ".copy", "--force", codes=(hawk.EXIT_PARTIAL,))
        check_questions(cut, cut + ".copy", f"cut at {share}/10", ("analyze --json", "leaks --json"))
    for size in (64 + 56 * 5, 64 + 56 * 5 + 20):
        cut = hawk.cut(core, size)
        redact(cut, cut + ".copy", "--force", codes=(hawk.EXIT_PARTIAL,))
    cut = hawk.cut(core, 50)
    redact(cut, cut + ".none", codes=(hawk.EXIT_UNREADABLE,))
    hawk.expect(not os.path.exists(cut + ".none"), "a copy of no core")


def check_damaged(core):
    """Headers that contradict each other are copied as they are."""
    data = bytearray(hawk.read(core))
    loads = [at for at, kind, *_ in core_surgery.program_headers(data) if kind == core_surgery.PT_LOAD]
    struct.pack_into("<Q", data, loads[3] + 8, 1 << 63)      # offset
    struct.pack_into("<Q", data, loads[5] + 16, 0x400000)     # address
    struct.pack_into("<Q", data, loads[7] + 32, (1 << 64) - 1)  # size
    damaged = hawk.write(os.path.join(folder, "damaged"), data)
    redact(damaged, damaged + ".copy", codes=(hawk.EXIT_PARTIAL,))
    junk = hawk.write(os.path.join(folder, "junk"), secrets.token_bytes(5000))
    redact(junk, junk + ".copy", codes=(hawk.EXIT_UNREADABLE,))


def expect_nothing(place, done, what, code=hawk.EXIT_UNREADABLE):
    hawk.expect_equal(done.returncode, code, f"{what}: {done.stderr!r}")
    hawk.expect_equal(os.listdir(place), [], f"{what}: left behind")


def check_refusals(core):
    place = os.path.join(folder, "place")
    os.mkdir(place)
    target = os.path.join(place, "copy")
    command = [hawk.CORE, "redact", "-q", "-o", target, core]

    def limit(size):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    for name in ("copy", "copy.zst"):
        done = hawk.run([*command[:4], os.path.join(place, name), core], preexec_fn=limit(1000))
        expect_nothing(place, done, f"no room for {name}")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    expect_nothing(place, done, "a summary that cannot be written")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*command[:4], "-", core], stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "TMPDIR": place})
    expect_nothing(place, done, "a closed pipe")
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    expect_nothing(place, done, "a closed pipe for the summary")
    done = hawk.run([*command[:4], os.path.join(place, "nowhere", "copy"), core])
    expect_nothing(place, done, "no such folder")
    hawk.expect_equal(hawk.run([hawk.CORE, "redact", core]).returncode, hawk.EXIT_USAGE, "without -o")
    hawk.expect_equal(hawk.run([*command[:4], "/dev/full", "--force", core]).returncode, hawk.EXIT_UNREADABLE, "device")
    check_overwriting(command, place, target)
    check_terminal(command)


def check_overwriting(command, place, target):
    hawk.write(target, "another file")
    done = hawk.run(command)
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "overwriting")
    hawk.expect("--force" in done.stderr, f"{done.stderr!r}")
    hawk.expect_equal(hawk.read(target), b"another file", "overwritten")
    hawk.expect_equal(hawk.run([*command, "--force"]).returncode, hawk.EXIT_OK, "--force")
    hawk.expect(hawk.read(target).startswith(b"\x7fELF"), "not replaced")
    hawk.expect_equal(os.listdir(place), ["copy"], "temporary files")


def check_terminal(command):
    main, terminal = pty.openpty()
    done = subprocess.run([*command[:4], "-", command[-1]], stdout=terminal, stderr=subprocess.PIPE, text=True,
                          check=False)
    os.close(terminal)
    os.close(main)
    hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, f"to a terminal: {done.stderr!r}")


def check_stdout(core):
    copy = os.path.join(folder, "piped.zst")
    with open(copy, "wb") as file:
        done = subprocess.run([hawk.CORE, "redact", "-q", "-o", "-", core], stdout=file, stderr=subprocess.PIPE,
                              text=True, check=False)
    hawk.expect_equal(done.returncode, hawk.EXIT_OK, f"to a pipe: {done.stderr!r}")
    hawk.expect("words of memory are kept" in done.stderr, f"to a pipe: {done.stderr!r}")
    hawk.expect_equal(hawk.analyze(copy)["heap"]["inuse_objects"], hawk.analyze(core)["heap"]["inuse_objects"], "piped")


def check_twice(core):
    """A redacted core is a core: redacting it changes nothing any more, and loses no time of death."""
    once, twice = copy_of(core), copy_of(core).replace("secrets", "another")
    redact(once, twice)
    hawk.expect(normal(hawk.text_of("growth", twice), twice) == normal(hawk.text_of("growth", core), core), "twice")
    hawk.expect_equal(json.dumps(hawk.blocks(twice)), json.dumps(hawk.blocks(core)), "blocks, twice")


def check_python():
    """Objects behind a header of the collector's: interior pointers, and lists by which they are explained."""
    program = os.path.realpath(hawk.need("python3"))
    secret = secrets.token_hex(12)
    script = f"""import os
secret = "{secret}"
held = {{i: [secret + str(i), (4 * 10**15 + i, i / 7)] for i in range(500)}}
os.abort()
"""
    core, _ = hawk.crash([program, "-c", script], hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}), folder)
    core = put_in_place(core, "python")
    hawk.expect(hawk.read(core).count(secret.encode()) > 500, "python holds no secret")
    copy = copy_of(core)
    redact(core, copy)
    check_gdb(program, core, copy, "python")
    check_answers(core, copy, "python", ("analyze --json", "leaks --json", "leaks --kinds=all", "path {address}", "merge-paths"))
    expect_no_secrets([secret.encode()], hawk.read(copy), copy)


def check_redis():
    program = hawk.need("redis-server")
    with real.redis(folder, hawk.tracer_environment()) as (process, command):
        secret = secrets.token_hex(12)
        command("eval", "for i = 1, 3000 do redis.call('set', 'k' .. i, ARGV[1] .. i) "
                "redis.call('hset', 'h' .. i % 100, i, ARGV[1]) end", "0", secret)
        real.wait_until_idle(process.pid, "redis")
        core = put_in_place(real.kill_to_core(process, folder, signal.SIGABRT, "redis"), "redis")
    hawk.expect(hawk.read(core).count(secret.encode()) > 3000, "redis holds no secret")
    check_same(program, core, ("analyze", "analyze --json", "leaks --json", "retained", "path {address}"))
    expect_no_secrets([secret.encode()], unpacked(copy_of(core) + ".zst"), "redis")


folder = hawk.temporary_folder()
os.mkdir(os.path.join(folder, "orig"))
os.mkdir(os.path.join(folder, "copy"))
hawk.need("zstd")
secret_core = check_secrets()
check_twice(secret_core)
check_cut(secret_core)
check_damaged(secret_core)
check_refusals(secret_core)
check_stdout(secret_core)
check_python()
check_redis()
hawk.finish()
