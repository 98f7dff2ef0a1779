# SPDX-License-Identifier: Apache-2.0
"""Commands of gdb that ask hawk-core about the core or the process being debugged:

    (gdb) source /usr/share/hawk-core/gdb.py
    (gdb) hawk whatis session->deadline
    (gdb) hawk leaks --top=3

Runs the command hawk-core: $HAWK_CORE, else the one installed with this file, else the one in PATH. gdb traces a
stopped process, so that nobody else can read its registers: it is asked for a core file, which is kept until the
process runs on."""

import os
import shlex
import shutil
import subprocess
import tempfile

import gdb

# gdb defines __file__ only while it reads this file.
_beside = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bin", "hawk-core")
_made = None  # core file of the stopped process


def _forget(_event=None):
    global _made
    if _made:
        os.unlink(_made)
        _made = None


def _command():
    found = os.environ.get("HAWK_CORE") or (_beside if os.access(_beside, os.X_OK) else shutil.which("hawk-core"))
    if not found:
        raise gdb.GdbError("hawk-core is neither beside this script nor in PATH; set HAWK_CORE to its path")
    return found


def _opened_core():
    """Returns the path of the core file that gdb has opened."""
    lines = iter(gdb.execute("info files", to_string=True).splitlines())
    for line in lines:
        if line.startswith("Local core dump file:"):
            return next(lines).strip()[1:].rsplit("', file type", 1)[0]
    raise gdb.GdbError("gdb does not say which core file it has opened")


def _core():
    global _made
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        raise gdb.GdbError("no core file is open, and no process runs")
    if inferior.connection.type == "core":
        return _opened_core()
    if not _made:
        handle, _made = tempfile.mkstemp(prefix="hawk-core.")
        os.close(handle)
        try:
            gdb.execute(f"generate-core-file {_made}", to_string=True)
        except gdb.error:
            _forget()
            raise
    return _made


def _address(expression):
    """Returns the address that a pointer or number has, or that anything else lies at."""
    value = gdb.parse_and_eval(expression)
    kind = value.type.strip_typedefs().code
    if kind in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
        kind = value.type.strip_typedefs().code
    if kind not in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_INT):
        value = value.address
        if value is None:
            raise gdb.GdbError(f"{expression}: has no address")
    return f"{int(value) & (1 << 64) - 1:#x}"


def _split(argument):
    """Returns the leading options, and the rest."""
    options, rest = [], argument.strip()
    while rest.startswith("-"):
        word, _, rest = rest.partition(" ")
        options += shlex.split(word)
        rest = rest.strip()
    return options, rest


def _ask(verb, options, operands):
    program = gdb.current_progspace().filename
    arguments = [_command(), verb, *options, *([f"--exe={program}"] if program else []), _core(), *operands]
    width = gdb.parameter("width")
    environment = dict(os.environ, **({"COLUMNS": str(width)} if width else {}))
    done = subprocess.run(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    gdb.write(done.stdout.partition("\nNext: ")[0])  # commands for a shell, of a core that may be temporary


class _Hawk(gdb.Command):
    """Ask hawk-core about the heap of this core or process."""

    def __init__(self):
        super().__init__("hawk", gdb.COMMAND_DATA, gdb.COMPLETE_COMMAND, True)


class _Verb(gdb.Command):
    def __init__(self, name, summary, takes_address):
        self.verb = name
        self.takes_address = takes_address
        usage = f"hawk {name} [OPTION]..." + (" EXPRESSION" if takes_address else "")
        self.__doc__ = f"{summary}\nUsage: {usage}\nSee also: hawk-core help {name}"
        complete = gdb.COMPLETE_EXPRESSION if takes_address else gdb.COMPLETE_NONE
        super().__init__(f"hawk {name}", gdb.COMMAND_DATA, complete)

    def invoke(self, argument, from_tty):
        options, rest = _split(argument)
        if self.takes_address and not rest:
            raise gdb.GdbError(f"hawk {self.verb} needs an expression: a pointer, or something in memory")
        if rest and not self.takes_address:
            raise gdb.GdbError(f"hawk {self.verb} takes options only")
        _ask(self.verb, options, [_address(rest)] if rest else [])


_Hawk()
_Verb("whatis", "Say what lies at an address: block, type, allocation site.", True)
_Verb("refs", "Say who points at a block.", True)
_Verb("path", "Say why a block is alive: the shortest path from a root.", True)
_Verb("leaks", "Say which blocks are lost, and who allocated them.", False)
_Verb("analyze", "Say who owns the memory.", False)
gdb.events.cont.connect(_forget)
gdb.events.exited.connect(_forget)
if hasattr(gdb.events, "gdb_exiting"):
    gdb.events.gdb_exiting.connect(_forget)
