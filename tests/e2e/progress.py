# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal: every stage of a long question has a bar that moves, and nothing of it is left
behind, whatever ends it. The command is stopped most of the time, so that any core is a large one."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

from support import hawk

NODES = 400000
COLUMNS = 80
START = 0.005         # seconds; until it has begun
BEFORE_FIRST = 1.02   # nothing is shown sooner
BEFORE_NEXT = 0.102
SLICES = 25           # then it may run to its end
ROUNDS = 6
BAR = re.compile(r"(.+?) \[(#* *)\] +(\d+) %(?: of [\d.]+ \w+)? ")
UNKNOWN = re.compile(r"answering \.\.\. \d+ s ")  # how much there is to do


class Slow:
    """A command that runs for a few milliseconds and stands still for so long that it shows each time
    what it is at. Its standard error is a terminal."""

    def __init__(self, arguments, columns=COLUMNS, terminal=True, commands=""):
        self.controller, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        reading, writing = os.pipe()
        self.output = tempfile.TemporaryFile(dir=folder)
        asked = tempfile.TemporaryFile("w+", encoding="ascii", dir=folder)
        asked.write(commands)
        asked.seek(0)
        self.process = subprocess.Popen(
            hawk.question([hawk.CORE, *arguments]), stdin=asked, stdout=self.output,
            stderr=end if terminal else writing, start_new_session=True)
        time.sleep(START)
        os.kill(self.process.pid, signal.SIGSTOP)
        self.source = self.controller if terminal else reading
        os.close(end)
        os.close(writing)
        asked.close()
        self.text = ""
        time.sleep(BEFORE_FIRST)

    def read(self, patience=0.0):
        while select.select([self.source], [], [], patience)[0]:
            try:
                part = os.read(self.source, 65536)
            except OSError:
                return
            if not part:
                return
            self.text += part.decode()

    def advance(self, seconds=0.003):
        """False: it has ended."""
        if self.process.poll() is not None:
            return False
        os.kill(self.process.pid, signal.SIGCONT)
        time.sleep(seconds)
        if self.process.poll() is not None:
            return False
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(BEFORE_NEXT)
        self.read()
        return True

    def end(self, number=None):
        """Its exit code, after a signal, and all that it wrote to standard error is in `text`."""
        for each in (number, signal.SIGCONT):
            if each and self.process.poll() is None:
                os.kill(self.process.pid, each)
        code = self.process.wait(timeout=240)
        self.read(0.2)
        return code

    def answer(self):
        self.output.seek(0)
        return self.output.read()


def screen(text):
    """Returns a terminal's final contents."""
    line, at, lines = "", 0, []
    for token in re.findall(r"\033\[K|\r|\n|[^\r\n\033]+|.", text, re.S):
        if token == "\033[K":
            line = line[:at]
        elif token == "\r":
            at = 0
        elif token == "\n":
            lines.append(line)
            line, at = "", 0
        else:
            line = line[:at].ljust(at) + token + line[at + len(token):]
            at += len(token)
    return "\n".join([*lines, line])


def drawn(text):
    return [part.replace("\033[K", "") for part in text.split("\r") if part not in ("", "\033[K")]


def check_drawn(arguments, slow, code):
    """The answer is the same, nothing is left, and all lines are bars; shares by stage."""
    plain = subprocess.run(hawk.question([hawk.CORE, *arguments]), capture_output=True)
    hawk.expect_equal(code, plain.returncode, f"{arguments}: exit code")
    hawk.expect_equal(slow.answer(), plain.stdout, f"{arguments}: the answer")
    hawk.expect_equal(screen(slow.text), "", f"{arguments}: left on the terminal")
    seen = {}
    for line in drawn(slow.text):
        match = BAR.fullmatch(line)
        if "sql" in arguments and UNKNOWN.fullmatch(line):
            continue
        if not hawk.expect(match, f"{arguments}: no bar: {line!r}"):
            continue
        stage, bar, share = match.group(1), match.group(2), int(match.group(3))
        hawk.expect(len(bar) == 20 and abs(bar.count("#") - share / 5) <= 1 and
                    len(line) < COLUMNS, f"{arguments}: {line!r}")
        seen.setdefault(stage, []).append(share)
    return seen


def check_bars(arguments, stages):
    """Judges all rounds together: the machine decides how much is done before the stop."""
    moved, missing = False, set(stages)
    for _ in range(ROUNDS):
        slow = Slow(arguments)
        for _ in range(SLICES):
            if not slow.advance():
                break
        seen = check_drawn(arguments, slow, slow.end())
        missing -= set(seen)
        moved |= any(len(set(shares)) > 1 for stage, shares in seen.items()
                     if stage != "reading memory")
        if moved and not missing:
            return
    hawk.expect(moved and not missing, f"{arguments}: not shown {missing}; the last: {seen}")


def check_signal(number):
    for _ in range(ROUNDS):
        slow = Slow(["retained", core])
        if shows(slow):
            break
        slow.end()
    hawk.expect(screen(slow.text), f"{number!r}: shown before")
    hawk.expect_equal(slow.end(number), -number, f"{number!r}: how it ended")
    hawk.expect_equal(screen(slow.text), "", f"{number!r}: left on the terminal")


def shows(slow, what="%"):
    while what not in slow.text and slow.advance():
        pass
    return what in slow.text and screen(slow.text)


def check_shell():
    """The first Ctrl-C interrupts the answer; the second one ends the program at once."""
    for _ in range(ROUNDS):
        slow = Slow(["shell", core], commands="retained\n")
        if shows(slow, "pointers"):
            os.kill(slow.process.pid, signal.SIGINT)
            if slow.advance() and screen(slow.text):
                break
        slow.end()
    else:  # in one of them it was not done at once
        hawk.expect(False, "after the first Ctrl-C it is there still")
        return
    hawk.expect_equal(slow.end(signal.SIGINT), 130, "the second Ctrl-C")
    hawk.expect_equal(screen(slow.text), "", "left on the terminal by the shell")


def check_silence():
    for arguments, terminal in ((["retained", "--quiet", core], True),
                                (["retained", core], False)):
        slow = Slow(arguments, terminal=terminal)
        for _ in range(6):
            slow.advance()
        hawk.expect_equal(slow.end(), 0, f"{arguments}: exit code")
        hawk.expect_equal(slow.text, "", f"{arguments}: standard error")


def check_narrow_terminal():
    for _ in range(ROUNDS):
        slow = Slow(["retained", core], columns=24)
        if shows(slow):
            break
        slow.end()
    hawk.expect_equal(slow.end(), 0, "on a narrow terminal")
    lines = drawn(slow.text)
    hawk.expect(lines and all(len(line) < 24 for line in lines), f"wider than the terminal: {lines}")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "many_lists"), ["many_lists.c"])
core, _ = hawk.crash([program, str(NODES)], hawk.tracer_environment(), folder)
# Nearly all of the time is spent standing still: each check in a process of its own.
hawk.side_by_side(
    lambda: check_bars(["retained", core], ["reading pointers", "following pointers"]),
    lambda: check_bars(["leaks", core], ["reading pointers"]),
    lambda: check_bars(["sql", core, "SELECT site, sum(age) FROM blocks GROUP BY site"],
                       ["looking through rows"]),
    *(lambda number=number: check_signal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    check_shell, check_silence, check_narrow_terminal)
hawk.finish()
