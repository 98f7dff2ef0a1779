# SPDX-License-Identifier: Apache-2.0
"""The C library's debug information, unpacked once for a build folder: who asks hawk-core a thousand
questions need not wait a thousand times until it has unpacked that, which takes longer than the answers."""

import os
import shutil
import struct
import subprocess

INSTALLED = "/usr/lib/debug"
NAMES = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2")
NOTE = struct.pack("<III4s", 4, 20, 3, b"GNU")  # a build ID


def _build_id(path):
    with open(path, "rb") as file:
        head = file.read(4096)
    at = head.find(NOTE)
    return head[at + len(NOTE):at + len(NOTE) + 20].hex() if at >= 0 else None


def _loaded():
    """Paths of the libraries, as this very process has them."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.split(None, 5)[5].rstrip("\n") for line in maps if "/" in line}
    return [path for path in paths if os.path.basename(path) in NAMES]


def unpacked(build):
    """A folder for --debug-dir, or None where there is nothing to unpack. Scripts that run at the same
    time may all make it: each file appears whole."""
    folder = os.path.join(build, "tests", "debug-files")
    objcopy = shutil.which("objcopy")
    found = False
    for path in _loaded() if objcopy else []:
        name = _build_id(path)
        below = name and os.path.join(".build-id", name[:2], name[2:] + ".debug")
        if not below or not os.path.exists(os.path.join(INSTALLED, below)):
            continue
        target = os.path.join(folder, below)
        found = found or os.path.exists(target)
        if os.path.exists(target):
            continue
        part = f"{target}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            subprocess.run([objcopy, "--decompress-debug-sections", os.path.join(INSTALLED, below), part],
                           check=True)
            os.rename(part, target)
            found = True
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{path}: its debug information stays packed: {error}")
    return folder if found else None
