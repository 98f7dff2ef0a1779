# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian, also of other releases, from the archive that the machine has its own packages from. Nothing is
installed: apt gets lists and a cache of its own, and checks signatures."""

import os
import re
import subprocess

from support import hawk

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """Why there are no packages."""


def release():
    """The machine's, by its code name."""
    try:
        with open("/etc/os-release", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("VERSION_CODENAME="):
                    return line.split("=")[1].strip().strip('"')
    except OSError:
        pass
    return "bookworm"


def _address(apt):
    """Returns the archive's URL, and its name of the machine's release."""
    known = hawk.run([apt, "-o", "Debug::NoLocking=1", "--print-uris", "update"]).stdout
    found = re.search(rf"^'(\w+://\S+?)/dists/({release()}|stable)/", known, re.M)
    if not found:
        raise Unavailable(f"no archive of {release()} is set up here")
    return found.groups()


def fetch(folder, kind, arguments, suite=None, timeout=120):
    """apt-get with `arguments`, in `folder`, as if only `suite` (None: the machine's) were set up here. `kind` is deb
    or deb-src. Unavailable says what went wrong."""
    apt = hawk.need("apt-get")
    address, own = _address(apt)
    state = os.path.join(folder, "apt")
    os.makedirs(os.path.join(state, "lists", "partial"))
    os.makedirs(os.path.join(state, "archives", "partial"))
    with open(os.path.join(state, "status"), "w", encoding="ascii"):
        pass
    with open(os.path.join(state, "one.sources"), "w", encoding="ascii") as file:
        file.write(f"Types: {kind}\nURIs: {address}\nSuites: {suite or own}\n"
                   f"Components: main\nSigned-By: {KEYRING}\n")
    options = [word for setting in (
        f"Dir::Etc::sourcelist={state}/one.sources", "Dir::Etc::sourceparts=/dev/null",
        f"Dir::State::lists={state}/lists", f"Dir::State::status={state}/status", f"Dir::Cache={state}",
        "Acquire::Languages=none", "APT::Sandbox::User=root", "Acquire::Retries=1", "Acquire::http::Timeout=20",
        "Debug::NoLocking=1") for word in ("-o", setting)]
    for words in (["update"], arguments):
        try:
            done = hawk.run([apt, "-qq", *options, *words], cwd=folder, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"apt-get {words[0]} takes too long") from None
        if done.returncode:
            raise Unavailable(f"apt-get {words[0]}: {done.stderr.strip()[-200:]}")
