# SPDX-License-Identifier: Apache-2.0
# ctest: serial
# ctest: long
"""handler, fed by the kernel itself: as a program of core_pattern, and by the coredump socket."""

import json
import os
import platform
import signal
import subprocess
import sys

from support import hawk

PATTERN = "/proc/sys/kernel/core_pattern"
WAITING = "/proc/sys/kernel/core_pipe_limit"
NOBODY = 65534


def set_system(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def crash(pattern):
    """Lets a process of root and one of another user die under `pattern`. Returns their PIDs."""
    old = [(path, hawk.read(path).decode()) for path in (PATTERN, WAITING)]
    sleepers = [subprocess.Popen(["sleep", "100"], user=user) for user in (0, NOBODY)]
    for sleeper in sleepers:
        hawk.wait_for(lambda sleeper=sleeper: hawk.read(f"/proc/{sleeper.pid}/cmdline") == b"sleep\x00100\x00", 60, "sleep")
    try:
        set_system(WAITING, "4")
        set_system(PATTERN, pattern)
        for sleeper in sleepers:
            sleeper.send_signal(signal.SIGSEGV)
            hawk.expect_equal(sleeper.wait(timeout=120), -signal.SIGSEGV, "end")
    finally:
        for path, text in old:
            set_system(path, text)
    return [sleeper.pid for sleeper in sleepers]


def check_crashes(pids):
    for pid, owner in zip(pids, (0, NOBODY)):
        name = [name for name in os.listdir(place) if name.startswith(f"sleep.{pid}.")]
        hawk.expect_equal(len(name), 1, f"directories of {pid}")
        path = os.path.join(place, name[0])
        hawk.expect_equal(os.stat(path).st_uid, owner, "owner")
        with open(os.path.join(path, "report.json"), encoding="utf-8") as file:
            process = json.load(file)["process"]
        hawk.expect_equal((process["pid"], process["signal"]), (pid, signal.SIGSEGV), "report.json")
        hawk.expect("== maps ==" in hawk.read(os.path.join(path, "process.txt")).decode(), "process.txt")


def check_program():
    check_crashes(crash(f"|{hawk.CORE} handler --to={place} --min-free=1 %P %s %t %e"))


def check_socket():
    release = [int(part) for part in platform.release().split(".")[:2]]
    marks = [mark for mark, since in (("@", [6, 16]), ("@@", [6, 17])) if release >= since]
    path = os.path.join(place, "socket")
    hawk.spawn([hawk.CORE, "handler", f"--to={place}", "--min-free=1", f"--socket={path}"])
    hawk.wait_for(lambda: hawk.listens(path), 60, "the server listens")
    for mark in marks:
        check_crashes(crash(mark + path))


if os.geteuid() or not os.access(PATTERN, os.W_OK):
    sys.exit(77)
place = hawk.temporary_folder()
os.chmod(place, 0o711)
hawk.run_checks(globals())
