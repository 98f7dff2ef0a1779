# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal: every stage of a long question has a bar that moves, and nothing of it is left
behind, whatever ends it. A clock that jumps whenever it is read makes any core a large one."""

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

from support import hawk

NODES = 20000
COLUMNS = 80
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BAR = re.compile(r"(.+?) \[(#* *)\] +(\d+) %(?: of [\d.]+ \w+)? ")
UNKNOWN = re.compile(r"answering \.\.\. \d+ s ")  # how much there is to do


def heed_signals():
    """A shell that starts this script in the background lets it ignore SIGINT, and nohup SIGHUP."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_DFL)


class Command:
    """A command whose standard error is a terminal. If it steps, it stands still each time before it may draw."""

    def __init__(self, arguments, columns=COLUMNS, terminal=True, commands="", steps=False):
        self.source, end = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.output = tempfile.TemporaryFile(dir=folder)
        asked = tempfile.TemporaryFile("w+", encoding="ascii", dir=folder)
        asked.write(commands)
        asked.seek(0)
        environment = dict(os.environ, LD_PRELOAD=clock, **({"STOP_FROM": "1"} if steps else {}))
        self.process = hawk.spawn([hawk.CORE, *arguments], stdin=asked, stdout=self.output, stderr=end,
                                  env=environment, start_new_session=True, preexec_fn=heed_signals)
        os.close(end)
        asked.close()
        self.text = ""
        if steps:
            self.wait()

    def read(self):
        """Returns false if there will be nothing more."""
        try:
            part = os.read(self.source, 65536)
        except OSError:
            return False
        self.text += part.decode()
        return bool(part)

    def wait(self):
        """Returns true once it stands still, false if it has ended."""
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            return True
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return False

    def advance(self, number=signal.SIGCONT):
        """Sends a signal and lets it go on to where it may draw next; returns false if it has ended."""
        os.kill(self.process.pid, number)
        os.kill(self.process.pid, signal.SIGCONT)
        is_there = self.wait()
        while select.select([self.source], [], [], 0)[0] and self.read():
            pass
        return is_there

    def ends(self, number):
        """Sends a signal. Other threads may come to stand still before it ends the command."""
        return not self.advance(number) or any(not self.advance() for _ in range(3))

    def shows(self, what):
        while what not in screen(self.text) and self.advance():
            pass
        return what in screen(self.text)

    def end(self):
        """Returns its exit code; all that it wrote to standard error is in `text`."""
        while self.read():
            pass
        return self.process.wait(timeout=240)

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


def check_drawn(arguments, command, code):
    """The answer is the same, nothing is left, and all lines are bars; shares by stage."""
    plain = subprocess.run([hawk.CORE, *arguments], capture_output=True)
    hawk.expect_equal(code, plain.returncode, f"{arguments}: exit code")
    hawk.expect_equal(command.answer(), plain.stdout, f"{arguments}: the answer")
    hawk.expect_equal(screen(command.text), "", f"{arguments}: left on the terminal")
    seen = {}
    for line in drawn(command.text):
        match = BAR.fullmatch(line)
        if "sql" in arguments and UNKNOWN.fullmatch(line):
            continue
        if not hawk.expect(match, f"{arguments}: no bar: {line!r}"):
            continue
        stage, bar, share = match.group(1), match.group(2), int(match.group(3))
        hawk.expect(len(bar) == 20 and abs(bar.count("#") - share / 5) <= 1 and
                    len(line) < COLUMNS, f"{arguments}: {line!r}")
        seen.setdefault(stage, set()).add(share)
    return seen


def check_bars(arguments, stages):
    command = Command(arguments)
    seen = check_drawn(arguments, command, command.end())
    for stage in stages:
        hawk.expect(len(seen.get(stage, ())) > 4, f"{arguments}: {stage} moves little: {seen}")


def check_signal(number):
    command = Command(["retained", core], steps=True)
    hawk.expect(command.shows("%"), f"{number!r}: shown before")
    hawk.expect(command.ends(number), f"{number!r}: goes on")
    hawk.expect_equal(command.end(), -number, f"{number!r}: how it ended")
    hawk.expect_equal(screen(command.text), "", f"{number!r}: left on the terminal")


def check_shell():
    """The first Ctrl-C interrupts the answer; the second one ends the program at once."""
    command = Command(["shell", core], commands="retained\n", steps=True)
    hawk.expect(command.shows("pointers"), "shown before")
    hawk.expect(command.advance(signal.SIGINT) and screen(command.text), "after the first Ctrl-C it is there still")
    hawk.expect(command.ends(signal.SIGINT), "after the second Ctrl-C it goes on")
    hawk.expect_equal(command.end(), 130, "the second Ctrl-C")
    hawk.expect_equal(screen(command.text), "", "left on the terminal by the shell")


def check_silence():
    for arguments, terminal in ((["retained", "--quiet", core], True),
                                (["retained", core], False)):
        command = Command(arguments, terminal=terminal)
        hawk.expect_equal(command.end(), 0, f"{arguments}: exit code")
        hawk.expect_equal(command.text, "", f"{arguments}: standard error")


def check_narrow_terminal():
    command = Command(["retained", core], columns=24)
    hawk.expect_equal(command.end(), 0, "on a narrow terminal")
    lines = drawn(command.text)
    hawk.expect(lines and all(len(line) < 24 for line in lines), f"wider than the terminal: {lines}")


folder = hawk.temporary_folder()
clock = hawk.compile_program(os.path.join(folder, "jumping_clock.so"), ["jumping_clock.c"], flags=["-shared", "-fPIC"])
program = hawk.compile_program(os.path.join(folder, "many_lists"), ["many_lists.c"])
core, _ = hawk.crash([program, str(NODES)], hawk.tracer_environment(), folder)
check_bars(["retained", core], ["reading pointers", "following pointers"])
check_bars(["leaks", core], ["reading pointers"])
check_bars(["sql", core, "SELECT site, sum(age) FROM blocks GROUP BY site"], ["looking through rows"])
for signal_number in ENDINGS:
    check_signal(signal_number)
check_shell()
check_silence()
check_narrow_terminal()
hawk.finish()
