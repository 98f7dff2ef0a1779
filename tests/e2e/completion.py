# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells: zsh on a pseudoterminal, fish by its own `complete`. The test is made once for each.

bash is tested with the help (cli_help.py)."""
# ctest: for=zsh fish

import os
import pty
import re
import select
import sys
import time

from support import hawk

PROMPT = "READY> "


def read_until(terminal, is_done):
    """Returns the shell's output until is_done(text), which is called whenever it pauses."""
    text, end = "", time.monotonic() + 30
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
        elif is_done(text):
            break
    return text


def type_into_zsh(line):
    """Returns zsh's output after `line`, Tab and the command that lists choices."""
    setup = (f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; PROMPT='{PROMPT[:2]}''{PROMPT[2:]}'; "
             "LISTMAX=1000; unsetopt ALWAYS_LAST_PROMPT; zstyle ':completion:*' list-colors ''\n")
    environment = dict(os.environ, TERM="dumb", COLUMNS="200", LINES="100",
                       PATH=os.path.dirname(hawk.CORE) + ":" + os.environ["PATH"])
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execve(shell, [shell, "-f", "-i"], environment)
    os.write(terminal, setup.encode())
    read_until(terminal, lambda text: PROMPT in text)
    os.write(terminal, line.encode() + b"\t")
    text = read_until(terminal, lambda text: len(text.replace("\a", "")) > len(line))
    os.close(terminal)
    os.waitpid(child, 0)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\a", "", text)


def type_into_fish(line):
    environment = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
    done = hawk.run([shell, "--no-config", "-c", f"source {script}; complete -C '{line}'"], env=environment,
                    cwd=folder)
    hawk.expect_equal(done.stderr, "", f"completion of {line}")
    return done.stdout


def expect_words(line, wanted, unwanted=()):
    text = complete(line)
    for word in wanted:
        hawk.expect(word in text, f"{line}<Tab> lacks {word!r}: {text!r}")
    for word in unwanted:
        hawk.expect(word not in text, f"{line}<Tab> has {word!r}: {text!r}")


folder = os.path.realpath(hawk.temporary_folder())
shell = hawk.need(sys.argv[1])
complete = {"zsh": type_into_zsh, "fish": type_into_fish}[sys.argv[1]]
script = hawk.write(os.path.join(folder, "_hawk-core" if sys.argv[1] == "zsh" else "hawk-core.fish"),
                    hawk.run([hawk.CORE, "help", "completion", sys.argv[1]]).stdout)
hawk.write(os.path.join(folder, "core.4711"), "")
# A unique word is completed, several are listed.
expect_words("hawk-core an", ["analyze"])
expect_words("hawk-core re", ["refs", "retained"], ["analyze "])
expect_words("hawk-core analyze --so", ["--sort"])
expect_words("hawk-core analyze --sort=", ["size", "count", "total", "cum"], ["core.4711"])
expect_words("hawk-core analyze --mi", ["--min-bytes"])
expect_words("hawk-core analyze --ta", ["--table"], ["--sort"])
expect_words("hawk-core leaks --", ["--suppressions", "--exit-code", "suppress"], ["--min-bytes"])
expect_words("hawk-core analyze core", ["core.4711"])
expect_words("hawk-core help wha", ["whatis"])
hawk.finish()
