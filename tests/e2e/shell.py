# SPDX-License-Identifier: Apache-2.0
"""hawk-core shell: the same answers as the verbs, numbers of the last answer, pipes and files, mistakes,
and on a terminal completion, history and the pager."""

import os
import pty
import re
import select
import time

from support import hawk, holder_world

PLAIN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\r\a]")


def shell(commands, code=0):
    done = hawk.run([hawk.CORE, "shell", core], input=commands)
    hawk.expect_equal(done.returncode, code, f"{commands!r}: {done.stderr[-300:]}")
    return done


def verb(*arguments):
    return hawk.run([hawk.CORE, arguments[0], core, *arguments[1:]]).stdout


def check_answers():
    for command in (["retained", "-n", "4"], ["refs", hex(truth["third_payload"])],
                    ["path", hex(truth["name"]), "--json"], ["sites"], ["whatis", hex(truth["hub"])],
                    ["blocks", "--type", "^Connection$"], ["analyze", "--json"],
                    ["retained", "--by", "tree"], ["sql", "SELECT count(*) FROM blocks"]):
        line = " ".join(f"'{word}'" for word in command)
        alone = verb(*command)
        hawk.expect_equal(shell(line + "\n").stdout, alone, f"{command}")
        hawk.expect_equal(shell(f"{line}\n{line}\n").stdout, 2 * alone, f"{command}, twice")


def check_findings():
    """Gaps in one answer do not affect the next."""
    part = os.path.join(folder, "part")
    with open(core, "rb") as whole, open(part, "wb") as cut:
        cut.write(whole.read(os.path.getsize(core) * 11 // 16))
    leaks = hawk.run([hawk.CORE, "leaks", "--json", part]).stdout
    hawk.expect("leaks-downgraded" in leaks, "verdicts are not certain")
    done = hawk.run([hawk.CORE, "shell", part], input="leaks > /dev/null\nleaks --json\ngrowth --json\n").stdout
    hawk.expect_equal(done.count("leaks-downgraded"), leaks.count("leaks-downgraded"), "said of leaks only")


def check_numbers():
    out = shell(f"retained --by block -n 2 -j | cat\nrefs $1\n").stdout
    hawk.expect(out.endswith(verb("refs", hex(truth["hub"]))), "$1 of a JSON answer")
    site = re.search(r'"site":"([0-9a-f]{16})"', verb("path", "-j", hex(truth["hub"]))).group(1)
    out = shell(f"path {hex(truth['hub'])} -j > {folder}/path\nblocks --site %1\n").stdout
    hawk.expect_equal(out, verb("blocks", "--site", site), "%1 of an answer in a file")
    short = shell(f"sql \"SELECT '{site[:9]}', '123456789', '{site[:2]}'\"\n$\nblocks --site %1\n").stdout
    hawk.expect(short.endswith(verb("blocks", "--site", site)), "%1 of a site's first digits")
    hawk.expect(re.search(rf"^%1 +{site[:9]}$", short, re.M) and "%2" not in short,
                f"other digits are no sites: {short}")
    listed = shell(f"blocks --site {site}\n$\n").stdout.splitlines()
    hawk.expect(f"$1    {re.sub('^0x0*', '0x', hex(truth['hub']))}" in
                [re.sub("0x0+", "0x", line) for line in listed], "$ lists them")
    out = shell("sql \"SELECT 'libc.so.6+0x1234, rsp-0x10', addr(4096)\"\n$\n").stdout
    hawk.expect(re.search(r"^\$1 +0x0*1000$", out, re.M) and "$2" not in out,
                f"offsets are no addresses: {out}")
    out = shell("sql \"SELECT 'at mapping 0x7f0000001000+0x10', 'mapping  0x7f0000002000', addr(4096)\"\n$\n").stdout
    hawk.expect(re.search(r"^\$1 +0x0*1000$", out, re.M) and "$2" not in out, f"mappings are no addresses: {out}")
    hawk.expect("no address number 7" in shell("refs $7\n").stderr, "a number that is not there")


def check_sinks():
    count = shell("blocks | wc -l\n").stdout.strip()
    hawk.expect_equal(int(count), len(verb("blocks").splitlines()), "a pipe")
    path = os.path.join(folder, "a file")
    shell(f"blocks > '{path}'\nsites >> '{path}'\n")
    with open(path, encoding="utf-8") as file:
        hawk.expect_equal(file.read(), verb("blocks") + verb("sites"), "> and >>")
    shell(f"help blocks > '{path}'\nsites --help | head -1 >> '{path}'\n")
    with open(path, encoding="utf-8") as file:
        hawk.expect_equal(file.read(), hawk.run([hawk.CORE, "help", "blocks"]).stdout +
                          hawk.run([hawk.CORE, "help", "sites"]).stdout.splitlines(True)[0],
                          "help goes there, too")
    listed = shell("retained --by=block -n 3\n$\n").stdout
    hawk.expect_equal(shell("retained --by=block -n 3\n$ | tail -n 1\n").stdout.splitlines()[-1],
                      listed.splitlines()[-1], "numbers go there, too")
    done = shell("blocks | head -1\nsites\n")
    hawk.expect(done.stdout.endswith(verb("sites")), "a reader that goes away ends one answer only")


def check_mistakes():
    for line, said in (("blcks", "unknown command 'blcks' (did you mean blocks?)"), ("nonsense", "unknown command"),
                       ("refs", "refs needs"), ("refs zz", "not a hexadecimal address"),
                       ("blocks 'x", "quote"), ("blocks >", "file name"), ("blocks |", "read the output"),
                       ("blocks --sysroot /", "open already"), ("blocks --bad", "unknown option --bad"),
                       ("shell x", "unknown command 'shell'; help"), ("run true", "unknown command"),
                       ("sql SELECT 1", "in quotes"),
                       ("blocks > /no/such/place", "cannot open")):
        done = hawk.run([hawk.CORE, "shell", core], input=f"{line}\nwhatis {hex(truth['hub'])}\n")
        hawk.expect(said in done.stderr, f"{line}: {done.stderr!r}")
        hawk.expect_equal(done.stdout, verb("whatis", hex(truth["hub"])), f"goes on after {line}")
    hawk.expect_equal(shell("blcks\n", code=2).stdout, "", "the last command's exit code")
    hawk.expect_equal(shell("# nothing\n\nquit\nblocks\n").stdout, "", "comments, and quit")
    hawk.expect("Usage: hawk-core blocks" in shell("help blocks\n").stdout, "help VERB")
    hawk.expect("analyze " in shell("help\n").stdout and
                "\n  shell" not in shell("help\n").stdout, "help")


class Terminal:
    """hawk-core shell on a terminal of 80 columns."""

    def __init__(self, core):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm", XDG_STATE_HOME=folder, PAGER='sed "s/^/page:$LESS:/"',
                              EDITRC="/dev/null")
            os.environ.pop("LESS", None)
            os.execv(hawk.CORE, [hawk.CORE, "shell", core])
        self.seen = ""

    def expect(self, text, what):
        """Reads until `text` has come; forgets all up to there."""
        deadline = time.monotonic() + 120
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            try:
                data = os.read(self.fd, 65536) if ready else b""
            except OSError:
                data = b""
            if not data:
                hawk.expect(False, f"{what}: {text!r} did not come, but {self.seen[-500:]!r}")
                return
            self.seen = PLAIN.sub("", self.seen + data.decode(errors="replace"))
        self.seen = self.seen.split(text, 1)[1]

    def send(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def check_terminal():
    terminal = Terminal(core)
    terminal.expect("hawk> ", "a prompt")
    terminal.send("mer\t")
    terminal.expect("merge-paths ", "a verb is completed")
    terminal.send("--fun\t")
    terminal.expect("--function ", "an option is completed")
    terminal.send("make_payload\n")
    terminal.expect("page:FRX:", "the pager gets the answer, less its options")
    terminal.expect("`g_hub` in ", "the answer")
    terminal.expect("hawk> ", "a prompt again")
    terminal.send(f"blocks --type=Connection > {folder}/hawk-co\t")
    terminal.expect("hawk-core", "a file is completed")
    terminal.send("\x15blocks -Z\n")
    terminal.expect("unknown option", "a mistake")
    terminal.expect("hawk> ", "a prompt after a mistake")
    terminal.send("nonsense")
    terminal.expect("nonsense", "an echo")
    time.sleep(0.2)
    terminal.send("\x03")
    terminal.expect("hawk> ", "a prompt when a line was given up")
    terminal.send("ref\t\x15r\t\t")
    terminal.expect("retained", "what there is to choose from")
    terminal.send("\x15quit\n")
    terminal.end()
    path = os.path.join(folder, "hawk-core", "history")
    with open(path, encoding="utf-8") as file:
        hawk.expect("merge-paths" in file.read(), "history is kept")
    hawk.expect_equal(os.stat(path).st_mode & 0o777, 0o600, "for this user only")
    terminal = Terminal(core)
    terminal.expect("hawk> ", "a prompt")
    terminal.send("\x1b[A\x1b[A")
    terminal.expect("blocks -Z", "the line before the last")
    terminal.send("\x15\x04")
    terminal.end()


folder = hawk.temporary_folder()
core, truth = holder_world.crash(folder)
hawk.run_checks(globals())
