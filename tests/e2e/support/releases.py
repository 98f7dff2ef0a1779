# SPDX-License-Identifier: Apache-2.0
"""C libraries and allocators of Debian 11, 12, 13 and unstable, unpacked beside each other: programs that are linked
with the oldest run with each by its own loader. Nothing is installed."""

import glob
import os
import shutil
import sys

from support import archive, hawk

OLDEST = "bullseye"
NAMES = (OLDEST, "bookworm", "trixie", "sid")
LIBRARIES = os.path.join("lib", "x86_64-linux-gnu")
_COMMON = ["libc6", "libstdc++6", "libgcc-s1", "libjemalloc2"]
_PACKAGES = {
    "bullseye": [*_COMMON, "libc6-dev", "libtcmalloc-minimal4"],
    "bookworm": [*_COMMON, "libtcmalloc-minimal4", "libmimalloc2.0"],
    "trixie": [*_COMMON, "libtcmalloc-minimal4t64", "libmimalloc3"],
    "sid": [*_COMMON, "libtcmalloc-minimal4t64", "libmimalloc3"],
}


def _unpack(name, target):
    """The libraries, and what is needed to link with them, in a folder that looks like /."""
    os.makedirs(target)
    archive.fetch(target, "deb", ["download", *_PACKAGES[name]], suite=name)
    for package in glob.glob(os.path.join(target, "*.deb")):
        hawk.run(["dpkg-deb", "-x", package, target])
        os.unlink(package)
    shutil.rmtree(os.path.join(target, "apt"))
    for folder, _, files in os.walk(target):
        for link_path in (os.path.join(folder, file) for file in files):
            if os.path.islink(link_path) and os.readlink(link_path).startswith("/"):
                to = os.path.relpath(target + os.readlink(link_path), folder)
                os.unlink(link_path)
                os.symlink(to, link_path)


def get(name):
    """The folder of a release's libraries, which is kept in the build folder; None = there is none."""
    hawk.need("dpkg-deb")
    kept = os.path.join(hawk.BUILD, "tests", "e2e", "releases", name)
    if not os.path.isdir(kept):
        made = f"{kept}.{os.getpid()}"
        try:
            _unpack(name, made)
            os.rename(made, kept)
        except archive.Unavailable as reason:
            print(f"without {name}: {reason}", flush=True)
            return None
        except OSError: # another test was quicker
            if not os.path.isdir(kept):
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return kept


def libraries_of(root):
    """Returns the folder of the libraries in a package, made before or after / and /usr were merged."""
    folders = [os.path.join(root, LIBRARIES), os.path.join(root, "usr", LIBRARIES)]
    return next(path for path in folders if os.path.exists(os.path.join(path, "libc.so.6")))


def link(root, output, arguments):
    """Links, or compiles and links, with the C library of a release that has its headers."""
    development = os.path.join(root, "usr", LIBRARIES)
    done = hawk.run([hawk.need("gcc"), f"--sysroot={root}", f"-B{development}/", "-o", output, *arguments,
                     f"-L{development}", f"-L{libraries_of(root)}", "-lpthread", "-ldl"])
    if done.returncode:
        print(done.stderr)
        sys.exit(1)
    return output


def command(root, preload, program, *arguments):
    """Runs a program with a release's libraries. `preload`: a path, the name of one of them, or None."""
    libraries = libraries_of(root)
    others = os.path.join(root, "usr", LIBRARIES)
    if preload and "/" not in preload:
        preload = os.path.join(others, preload)
    return [os.path.join(libraries, "ld-linux-x86-64.so.2"), "--library-path", f"{libraries}:{others}",
            *(["--preload", preload] if preload else []), program, *arguments]
