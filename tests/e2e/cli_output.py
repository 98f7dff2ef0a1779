# SPDX-License-Identifier: Apache-2.0
"""Output that fails or could do harm: closed pipes, full disks, terminals, and names with control sequences."""

import csv
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess

from support import cli_world, hawk

VERBS = (["analyze"], ["analyze", "--json"], ["analyze", "--full"], ["blocks"],
         ["blocks", "--json"])


def check_closed_pipe():
    """`| head` ends the command without a word, whether SIGPIPE kills it or EPIPE comes."""
    for verb in VERBS:
        for disposition in (signal.SIG_DFL, signal.SIG_IGN):
            reading, writing = os.pipe()
            os.close(reading)
            done = subprocess.run(
                [hawk.CORE, *verb, core], stdout=writing, stderr=subprocess.PIPE, timeout=60,
                preexec_fn=lambda how=disposition: signal.signal(signal.SIGPIPE, how),
                restore_signals=False)
            os.close(writing)
            hawk.expect_equal(done.stderr, b"", f"{verb}: messages")
            hawk.expect(done.returncode in (-signal.SIGPIPE, 141), f"{verb}: {done.returncode}")


def check_full_disk():
    if not os.path.exists("/dev/full"):
        return
    for verb in VERBS + (["help"], ["--version"], ["analyze", "--help"]):
        arguments = [hawk.CORE, *verb, *([core] if verb in VERBS else [])]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, timeout=60)
        hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, f"{verb} to a full disk")
        hawk.expect(b"cannot write" in done.stderr, f"{verb}: {done.stderr!r}")
    done = subprocess.run([hawk.CORE, "analyze", core], stderr=subprocess.PIPE, timeout=60,
                          preexec_fn=lambda: os.close(1))
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "standard output closed")


def on_terminal(arguments, environment):
    """Returns a command's output on a terminal of 80 columns."""
    import fcntl
    import struct
    import termios
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = subprocess.Popen(arguments, stdout=terminal, stderr=terminal,
                               stdin=subprocess.DEVNULL, env=environment)
    os.close(terminal)
    output = b""
    while select.select([controller], [], [], 60)[0]:
        try:
            part = os.read(controller, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    process.wait(timeout=60)
    os.close(controller)
    return output.decode(errors="replace")


def check_terminal():
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    environment.pop("NO_COLOR", None)
    text = on_terminal([hawk.CORE, "analyze", core], environment)
    hawk.expect("\033[1m" in text, "colour on a terminal")
    hawk.expect_columns(re.sub(r"\033\[[0-9;]*m", "", text), "wider than the terminal")
    for extra in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text = on_terminal([hawk.CORE, "analyze", core], {**environment, **extra})
        text = re.sub(r"\r[^\r\n]*\033\[K", "", text)  # a bar, where it takes seconds
        hawk.expect("\033" not in text, f"escape sequences with {extra}")


def check_binary_on_terminal():
    for verb, what in ((["snapshot"], "a snapshot"), (["html"], "a page"), (["export", "-F", "sqlite"], "a database")):
        text = on_terminal([hawk.CORE, *verb, core], dict(os.environ))
        hawk.expect_equal(text.strip(), f"hawk-core: refusing to write {what} to a terminal; use -o FILE", verb)


STEERING = "\x1b[31m \x9b31m \x07 \u202e \u2066 \u200f \x7f"
KEPT = 'ä "quoted"'


def check_sql_on_terminal():
    """Strings that steer a terminal reach none; in a file JSON has them as data."""
    query = "SELECT " + " || ".join(
        f"char({ord(letter)})" for letter in STEERING + KEPT) + " AS \"name\u202e\""
    environment = {**os.environ, "TERM": "xterm-256color"}
    for form in ("table", "csv", "json"):
        arguments = [hawk.CORE, "sql", f"--format={form}", core, query]
        text = re.sub(r"\r[^\r\n]*\033\[K", "", on_terminal(arguments, environment))
        hawk.expect(not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]",
                                  text), f"{form} on a terminal: {text!r}")
        hawk.expect("\u00e4" in text and "31m" in text, f"{form} on a terminal: {text!r}")
        plain = subprocess.run(arguments, capture_output=True, timeout=60).stdout.decode()
        if form == "csv":
            hawk.expect_equal(list(csv.reader(io.StringIO(plain, newline=""))),
                              [[word.replace("\r", "") for word in line] for line in
                               csv.reader(io.StringIO(text, newline=""))], "CSV in a pipe")
        if form == "json":
            hawk.expect_equal(json.loads(plain), [{"name\u202e": STEERING + KEPT}], "JSON in a pipe")
            hawk.expect_equal(json.loads(text), json.loads(plain), "JSON on a terminal")


def check_hostile_names():
    """A program whose path, arguments and thread hold escape sequences and broken UTF-8."""
    name = b"w\033[31m\xff\xc3\x28\xe2\x80\xae\xc3\xa4"
    program = os.path.join(os.fsencode(folder), name)
    shutil.copy(cli_world.build(folder, "plain"), program)
    evil, _ = cli_world.crash(folder, program=os.fsdecode(program))
    for verb in VERBS + (["analyze", "--by", "module"], ["analyze", "--color=never"]):
        done = subprocess.run([hawk.CORE, *verb, evil], capture_output=True, timeout=60)
        hawk.expect_equal(done.returncode, 0, f"{verb} of hostile names")
        data = done.stdout + done.stderr
        hawk.expect(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data), f"{verb}: control characters")
        hawk.expect(b"\xe2\x80\xae" not in data, f"{verb}: right-to-left mark")
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            hawk.expect(False, f"{verb}: no UTF-8: {error}")
            continue
        if verb == ["analyze"]:
            hawk.expect("\\x1b[31m\\xff" in text and "ä" in text, "escaped, and ä kept")
        if verb == ["analyze", "--json"]:
            path = json.loads(text)["process"]["program"]
            hawk.expect(path.endswith("w\033[31m��(\u202eä"), f"program: {path!r}")
    missing = os.path.join(folder, "a\033[2J\nb")
    done = hawk.run([hawk.CORE, "analyze", missing])
    hawk.expect("\033" not in done.stderr and done.stderr.count("\n") == 1,
                f"message: {done.stderr!r}")


folder = hawk.temporary_folder()
core, _ = cli_world.crash(folder)
hawk.run_checks(globals())
