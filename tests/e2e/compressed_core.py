# SPDX-License-Identifier: Apache-2.0
"""Cores that were stored compressed are read as they are: the same answer as of the plain core, what
is left of one that was cut off, and a clear sentence where there is no room to unpack."""

import base64
import gzip
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import zlib

from support import hawk

TOOLS = {"zstd": ["zstd", "-qc"], "lz4": ["lz4", "-qc"], "xz": ["xz", "-1c"],
         "gzip": ["gzip", "-c"]}


def ask(path, verb, *arguments, **options):
    return hawk.run([hawk.CORE, verb, *arguments, path], **options)


def answer(done):
    """The JSON without the name of the file, what to ask of it next (standard input cannot be asked again), and how
    much was read: unpacked, a page of zeros is a hole."""
    parsed = hawk.parse(done.stdout)
    for key in "source", "next", "next_shown", "next_total":
        parsed.pop(key, None)
    text = re.sub(r'"scanned_bytes": \d+', "", json.dumps(parsed))
    for name in names:
        text = text.replace(name, "CORE")
    return text.replace(' -"', ' CORE"')


def compress(tool):
    path = f"{core}.{tool}"
    with open(path, "wb") as packed:
        subprocess.run([*TOOLS[tool], core], stdout=packed, check=True)
    shutil.copystat(core, path)  # how long the process lived is also known by the file's time
    names.insert(0, path)
    return path


def check_same(packed, what, verbs=("analyze", "leaks", "growth")):
    for verb in verbs:
        plain, unpacked = ask(core, verb, "--json"), ask(packed, verb, "--json")
        hawk.expect_equal(unpacked.returncode, plain.returncode, f"{verb} of {what}")
        hawk.expect(answer(unpacked) == answer(plain), f"{verb} of {what} differs")


def report_of_apport():
    """As problem_report.py writes it: gzip in pieces, each piece a line of base64 with its own padding."""
    path = os.path.join(folder, "orderd.crash")
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    data = hawk.read(core)
    with open(path, "wb") as report:
        report.write(b"ProblemType: Crash\nDate: Sat Nov 28 13:00:00 2026\nSignal: 11\nCoreDump: base64\n")
        for at in range(0, len(data), 1 << 20):
            report.write(b" " + base64.b64encode(packer.compress(data[at:at + (1 << 20)])) + b"\n")
        report.write(b" " + base64.b64encode(packer.flush()) + b"\nUname: Linux\n")
    shutil.copystat(core, path)
    names.insert(0, path)
    return path


def check_cut(packed, what, lacks=8):
    """A file that lacks its end: its blocks are read, and the report says that some are missing."""
    done = ask(hawk.cut(packed, os.path.getsize(packed) - lacks), "analyze", "--json")
    hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{what}, cut off")
    keys = [item["key"] for item in hawk.parse(done.stdout)["missing"]]
    hawk.expect("core-unpack" in keys, f"{what}, cut off: {keys}")
    if what == "apport":
        done = ask(hawk.cut(packed, 60), "analyze")
        hawk.expect("is an Apport report without a core" in done.stderr, f"{done.stderr!r}")
        return
    done = ask(hawk.cut(packed, 12), "analyze")
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, f"12 bytes of {what}")
    hawk.expect(what in done.stderr and done.stderr.count("\n") == 1, f"{what}: {done.stderr!r}")


def check_folder(packed):
    """$TMPDIR says where to unpack; nothing stays there."""
    place = os.path.join(folder, "place")
    os.mkdir(place)
    done = ask(packed, "analyze", env={**os.environ, "TMPDIR": place})
    hawk.expect_equal(done.returncode, hawk.EXIT_OK, f"with TMPDIR: {done.stderr!r}")
    hawk.expect_equal(os.listdir(place), [], "left in TMPDIR")
    done = ask(packed, "analyze", env={**os.environ, "TMPDIR": os.path.join(folder, "nowhere")})
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "TMPDIR that is not there")
    hawk.expect("TMPDIR" in done.stderr and "nowhere" in done.stderr, f"{done.stderr!r}")


def check_bomb():
    """Refuses data unlike any core before it fills the disk, and leaves no file."""
    bomb = os.path.join(folder, "bomb.gz")
    chunk = b"\x5a" * (1 << 20)
    with open(core, "rb") as plain, gzip.open(bomb, "wb", compresslevel=6) as packed:
        packed.write(plain.read(4096))
        for _ in range(300):
            packed.write(chunk)
    place = os.path.join(folder, "place")
    done = ask(bomb, "analyze", env={**os.environ, "TMPDIR": place})
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "300 MiB of the same letter")
    limit = os.path.getsize(bomb)
    hawk.expect(limit * 256 < 256 << 20, f"{limit} bytes are no bomb")
    hawk.expect(re.search(r"KiB unpack into more than 2[56]\d MiB of data", done.stderr) and
                "gzip -d" in done.stderr, f"{done.stderr!r}")
    hawk.expect_equal(os.listdir(place), [], "left in TMPDIR")
    with gzip.open(bomb, "wb", compresslevel=6) as packed:
        for _ in range(4):
            packed.write(chunk)
    done = ask(bomb, "analyze", env={**os.environ, "TMPDIR": place})
    hawk.expect("is a text file" in done.stderr, f"{done.stderr!r}")
    os.unlink(bomb)


def check_zeros():
    """Pages of zeros are holes and count for nothing: 400 MiB of them behind a core is no bomb."""
    large = os.path.join(folder, "large")
    shutil.copy(core, large)
    os.truncate(large, os.path.getsize(core) + (400 << 20))
    with open(large, "rb") as plain, open(large + ".gz", "wb") as packed:
        subprocess.run(["gzip", "-6c"], stdin=plain, stdout=packed, check=True)
    hawk.expect(os.path.getsize(large + ".gz") * 256 < 400 << 20 or os.path.getsize(core) > 4 << 20,
                "the ratio is above the limit")
    done = ask(large + ".gz", "analyze")
    hawk.expect(done.returncode in (hawk.EXIT_OK, hawk.EXIT_PARTIAL), f"zeros: {done.stderr!r}")
    os.unlink(large)
    os.unlink(large + ".gz")


def piped(path, *arguments, **options):
    """Returns the answer for a pipe with the bytes of a file."""
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as source:
        done = ask("-", "analyze", *arguments, stdin=source.stdout, **options)
        source.stdout.close()
    return done


def check_pipe(packed):
    """- is standard input: a pipe, a compressed core in a pipe, a file."""
    place = os.path.join(folder, "place")
    environment = {**os.environ, "TMPDIR": place}
    asked = ask(core, "analyze", "--json")
    plain = answer(asked)
    for path in (core, packed):
        done = piped(path, "--json", env=environment)
        hawk.expect_equal(done.returncode, asked.returncode, f"a pipe from {path}: {done.stderr!r}")
        hawk.expect(answer(done) == plain, f"a pipe from {path}: another answer")
    with open(core, "rb") as file:
        done = ask("-", "growth", "--json", stdin=file, env=environment)
    hawk.expect(answer(done) == answer(ask(core, "growth", "--json")), f"a file: {done.stderr!r}")
    with open(core, "rb") as file:
        done = hawk.run([hawk.CORE, "-n", "1", "--no-suspects", "-"], stdin=file)
    hawk.expect_equal(done.stdout, ask(core, "analyze", "-n", "1", "--no-suspects").stdout, "no verb")
    hawk.expect_equal(os.listdir(place), [], "left in TMPDIR")


def check_pipe_limits():
    place = os.path.join(folder, "place")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    for done, words in ((piped("/dev/zero"), "standard input: is a file of unknown format"),
                        (piped("/dev/null"), "standard input: is empty (0 bytes)"),
                        (piped(__file__), "standard input: is a text file"),
                        (piped(core, preexec_fn=limit), "has more than 1024 KiB, the largest file allowed here (ulimit"),
                        (piped(core, env={**os.environ, "TMPDIR": os.path.join(folder, "nowhere")}), "TMPDIR")):
        hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, words)
        hawk.expect(words in done.stderr and done.stderr.count("\n") == 1, f"{words}: {done.stderr!r}")
    process = subprocess.Popen([hawk.CORE, "analyze", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": place})
    process.stdin.write(hawk.read(core)[:3 << 20])
    process.stdin.flush()
    process.kill()
    process.wait(timeout=60)
    process.stdin.close()
    hawk.expect_equal(os.listdir(place), [], "left in TMPDIR by a command that was killed")
    with open(core, "rb") as file:
        done = hawk.run([hawk.CORE, "shell", "-"], stdin=file)
    hawk.expect("needs the name of a core" in done.stderr, f"shell: {done.stderr!r}")
    main, terminal = pty.openpty()
    done = hawk.run([hawk.CORE, "-"], stdin=terminal)
    os.close(terminal)
    os.close(main)
    hawk.expect("standard input: is a terminal" in done.stderr, f"a terminal: {done.stderr!r}")


def check_table_file():
    table = os.path.join(folder, "table.hawk")
    hawk.run([program, "--requests", "1000"], env=hawk.tracer_environment(options=f"table={table}"),
             cwd=folder)
    if not hawk.expect(os.path.exists(table), "no table file"):
        return
    with open(table, "rb") as plain, open(table + ".gz", "wb") as packed:
        subprocess.run(["gzip", "-c"], stdin=plain, stdout=packed, check=True)
    names.insert(0, table)
    names.insert(0, table + ".gz")
    plain, unpacked = ask(table, "analyze", "--json"), ask(table + ".gz", "analyze", "--json")
    hawk.expect(plain.returncode == unpacked.returncode and answer(plain) == answer(unpacked),
                f"a table file: {unpacked.stderr!r}")


folder = hawk.temporary_folder()
program = os.path.join(hawk.SAMPLES, "orderd")
core, _ = hawk.crash([program, "--requests", "5000", "--crash", "segv"],
                     hawk.tracer_environment(), folder, signals=(signal.SIGSEGV,))
names = [core]
linked = hawk.run(["ldd", hawk.CORE]).stdout
libraries = {"zstd": "libzstd", "lz4": "liblz4", "xz": "liblzma", "gzip": "libz."}
tried = []
for tool in TOOLS:
    if not shutil.which(tool) or libraries[tool] not in linked:
        print(f"no {tool}, or built without it")
        continue
    path = compress(tool)
    check_same(path, tool)
    check_cut(path, tool)
    tried.append(path)
if not tried:
    hawk.skip("built without any of the libraries")
report = report_of_apport()
check_same(report, "apport", ("analyze",))
check_cut(report, "apport", 80)
check_folder(tried[0])
check_pipe(tried[0])
check_pipe_limits()
if "gzip" in "".join(tried):
    check_table_file()
    check_bomb()
    check_zeros()
hawk.finish()
