# SPDX-License-Identifier: Apache-2.0
"""list finds cores as the kernel, systemd-coredump and ABRT leave them, and says what each is; --last
takes the newest, or that of a program or process."""

import gzip
import json
import os
import signal

from support import hawk, json_schema

YEAR_2100 = 4102444800
BOOT = "0123456789abcdef" * 2


def place(name, second, data):
    """The core, or what is left of it, under another name, last changed so many seconds behind the year 2100."""
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    hawk.write(path, data)
    os.utime(path, (YEAR_2100 + second, YEAR_2100 + second))
    return path


def listed(*arguments, **options):
    done = hawk.run([hawk.CORE, "list", "--json", *arguments], **options)
    document = json.loads(done.stdout)
    hawk.expect_equal(json_schema.validate(document, json_schema.load("list-3.json")), [], "schema")
    return done.returncode, {entry["path"]: entry for entry in document["cores"]}


def check_list():
    systemd = f"core.orderd.1000.{BOOT}.4711.{YEAR_2100}000000"
    noteless = bytearray(data)
    noteless[64:68] = bytes(4)  # the type of the first segment, which is the notes'
    plain = place("d/core.77", 5, data)
    short = place("d/orderd.core", 4, data[:200000])
    abrt = place("d/ccpp-2026/coredump", 3, data)
    packed = place("d/" + systemd + ".gz", 2, gzip.compress(data, 1))
    notes = place("d/" + systemd.replace("4711", "4712"), 1, noteless)
    hawk.write(os.path.join(folder, "d", "core.c"), "int main(void) { return 0; }\n")
    code, cores = listed(os.path.join(folder, "d"))
    hawk.expect_equal(code, 0, "exit code")
    hawk.expect_equal(list(cores), [plain, short, abrt, packed, notes], "the newest first, and core.c not")
    for path, whole in ((plain, True), (short, False), (abrt, True), (packed, None)):
        entry = cores.get(path, {})
        hawk.expect_equal((entry.get("whole"), entry.get("traced"), entry.get("signal_name"), entry.get("pid"),
                           os.path.basename(entry.get("program") or "")),
                          (whole, True, "SIGSEGV", pid, "orderd"), path)
    hawk.expect_equal((cores[notes]["pid"], cores[notes]["program"]), (4712, "orderd"), "by the name alone")
    text = hawk.text_of("list", os.path.join(folder, "d"))
    hawk.expect_columns("\n".join(line for line in text.splitlines() if folder not in line), "list")
    hawk.expect("whole" in text and "cut off" in text, text)


def check_nothing():
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    hawk.expect_equal(listed(empty)[0], hawk.EXIT_CONDITION, "no cores")
    done = hawk.run([hawk.CORE, "list", os.path.join(folder, "nowhere")])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, done.stderr)


def check_last():
    """The current directory is looked through; the newest file of all is there."""
    newest = os.path.basename(place("last/core.new", 200, data))
    place("last/core.old", 100, data)
    here = os.path.join(folder, "last")
    plain = hawk.run([hawk.CORE, "analyze", newest], cwd=here)
    for last in ("--last", "--last=orderd", f"--last={pid}"):
        done = hawk.run([hawk.CORE, "analyze", last], cwd=here)
        hawk.expect_equal(done.stdout, plain.stdout, last)
        hawk.expect_equal(done.stderr, f"hawk-core: the last core is {newest}\n", last)
    done = hawk.run([hawk.CORE, "whatis", "--last", "-q", "0x1000"], cwd=here)
    hawk.expect_equal(done.stderr, "", "whatis, with an operand")
    for arguments, words in ((["--last=no-such-program"], "no core of no-such-program was found"),
                             (["--last", "--pid", str(os.getpid())], "exclude each other")):
        done = hawk.run([hawk.CORE, "analyze", *arguments], cwd=here)
        hawk.expect(words in done.stderr and done.returncode in (hawk.EXIT_USAGE, hawk.EXIT_UNREADABLE),
                    f"{arguments}: {done.stderr!r}")


folder = hawk.temporary_folder()
core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "200", "--crash", "segv"],
                       hawk.tracer_environment(), folder, signals=(signal.SIGSEGV,))
data = hawk.read(core)
pid = hawk.analyze(core)["process"]["pid"]
hawk.run_checks(globals())
