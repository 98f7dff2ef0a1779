# SPDX-License-Identifier: Apache-2.0
"""contain.py SECONDS COMMAND...: runs a command, and kills whatever it has started, daemons as well, when it
has ended or its time is up. Exits with the command's code, 128 + N if signal N killed it."""

import ctypes
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def children():
    path = f"/proc/self/task/{os.getpid()}/children"
    with open(path, encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def kill_all():
    """Orphans come to us as their parents die, until there are none."""
    while children():
        for pid in children():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def wait_for(child, deadline):
    while time.monotonic() < deadline:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        if not pid:
            time.sleep(0.01)
    return -signal.SIGKILL


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    child = os.fork()
    if not child:
        os.setsid()
        os.execvp(sys.argv[2], sys.argv[2:])
    try:
        code = wait_for(child, time.monotonic() + float(sys.argv[1]))
    finally:
        kill_all()
    sys.exit(code if code >= 0 else 128 - code)


main()
