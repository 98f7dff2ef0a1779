# SPDX-License-Identifier: Apache-2.0
"""Other people's tests, with and without the tracer: the same outcome.

Some come with Debian's packages, some with its source packages, which are fetched when a test runs,
by apt and into a temporary folder, and thrown away afterwards. HAWK_SUITES=1 runs the long
selections.
"""

import glob
import os
import subprocess
import tarfile

from support import archive, hawk

LONG = os.environ.get("HAWK_SUITES") == "1"


def sources(folder, *packages):
    """Unpacks Debian's source packages, from where the machine has its binary ones; returns {package: folder}. Skips
    without the network."""
    try:
        archive.fetch(folder, "deb-src", ["--download-only", "source", *packages])
    except archive.Unavailable as reason:
        hawk.skip(str(reason))
    return {package: _unpack(folder, package) for package in packages}


def _unpack(folder, package):
    archives = glob.glob(os.path.join(folder, f"{package}_*.orig.tar.*"))
    if not archives:
        hawk.skip(f"no source of {package}")
    target = os.path.join(folder, package)
    with tarfile.open(min(archives, key=len)) as packed:
        packed.extractall(target)
    inside = os.listdir(target)
    return os.path.join(target, inside[0]) if len(inside) == 1 else target


def same(command, what, folder, library=None, extra=None, outcome=None, code=None, timeout=200):
    """Runs it without and with the tracer. `outcome` makes of the output what has to be equal. Tests of other people
    that go by the clock may differ on a machine that has much to do: they differ three times, or it was not us. A
    crash is one at once."""
    for again in range(3):
        results = []
        for environment in (hawk.plain_environment(library, extra), hawk.tracer_environment(library, extra=extra)):
            try:
                done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      errors="replace", timeout=timeout)
            except subprocess.TimeoutExpired:
                hawk.expect(False, f"{what}: not ready after {timeout} s")
                return
            text = outcome(done.stdout) if outcome else done.stdout
            results.append((done.returncode, text, done.stdout))
        alone, traced = results
        if alone[:2] == traced[:2] and code in (None, alone[0]):
            print(f"{what}: the same", flush=True)
            return
        print(f"{what}, {again + 1}: exit code {traced[0]}, alone {alone[0]}; {_difference(traced[1], alone[1])}")
        if traced[0] < 0:
            break
    if code is not None:
        hawk.expect(alone[0] == code, f"{what}, alone: exit code {alone[0]}, {alone[2][-400:]}")
    hawk.expect(traced[0] == alone[0],
                f"{what}: exit code {traced[0]}, alone {alone[0]}: {traced[2][-600:]}")
    hawk.expect(traced[1] == alone[1], f"{what}: {_difference(traced[1], alone[1])}")


def _difference(traced, alone):
    traced, alone = (text.splitlines() if isinstance(text, str) else list(text)
                     for text in (traced, alone))
    return (f"only traced {[line for line in traced if line not in alone][:5]}, "
            f"only alone {[line for line in alone if line not in traced][:5]}")
