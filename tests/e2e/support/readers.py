# SPDX-License-Identifier: Apache-2.0
"""Programs that read what export writes: npm packages, and scripts of tests/readers that drive them."""

import fcntl
import json
import os
import shutil
import subprocess

from support import hawk

SCRIPTS = os.path.join(hawk.SOURCE, "tests", "readers")


def packages(lists=SCRIPTS, name="readers"):
    """The folder of the npm packages that the package.json in the folder `lists` names, fetched once for a build folder;
    or a skip. HAWK_READERS is a folder that has those of tests/readers."""
    given = os.environ.get("HAWK_READERS")
    if given and lists == SCRIPTS:
        return os.path.join(given, "node_modules")
    folder = os.path.join(hawk.BUILD, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(lists, folder)
    return os.path.join(folder, "node_modules")


def _install(lists, folder):
    files = [name for name in ("package.json", "package-lock.json") if os.path.exists(os.path.join(lists, name))]
    wanted = b"".join(hawk.read(os.path.join(lists, name)) for name in files)
    stamp = os.path.join(folder, "installed")
    if os.path.exists(stamp) and hawk.read(stamp) == wanted:
        return
    npm = hawk.need("npm")
    for name in files:
        shutil.copyfile(os.path.join(lists, name), os.path.join(folder, name))
    try:
        done = subprocess.run([npm, "ci" if len(files) > 1 else "install", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
                               "--fetch-timeout=20000"], cwd=folder, capture_output=True, text=True, timeout=150)
    except subprocess.TimeoutExpired:
        hawk.skip("npm did not end: no network?")
    if done.returncode:
        hawk.skip(f"npm found no packages: {done.stderr[-400:]}")
    hawk.write(stamp, wanted)


def need_browser():
    """(Chromium, packages), or a skip."""
    return hawk.need("chromium"), packages()


def read_with(script, *arguments):
    """Returns the output of a script of tests/readers; {} if it fails."""
    done = hawk.run([hawk.need("node"), os.path.join(SCRIPTS, script), *arguments])
    if not hawk.expect_equal(done.returncode, 0, f"{script}: {done.stderr[-2000:]}"):
        return {}
    return json.loads(done.stdout)
