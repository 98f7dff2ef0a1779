# SPDX-License-Identifier: Apache-2.0
"""`cmake --install`: everything a user needs arrives, links between the pages hold, the headers compile,
and the tree works from wherever it is put or moved."""

import glob
import os
import re
import shutil

from support import hawk


def cached(name):
    with open(os.path.join(hawk.BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.M)
    return found[1] if found else ""


def names_in(pattern):
    return [os.path.basename(path) for path in glob.glob(os.path.join(hawk.SOURCE, pattern))]


def wanted_files():
    doc = "share/doc/hawk-core"
    files = {"bin/hawk-core", f"{libdir}/hawk-core/libhawk_tracer.so", "include/hawk_annotate.h",
             "share/hawk-core/gdb.py", "share/hawk-core/hawk-core-collect.service",
             "share/bash-completion/completions/hawk-core",
             "share/zsh/site-functions/_hawk-core", "share/fish/vendor_completions.d/hawk-core.fish",
             f"{doc}/README.md", f"{doc}/CHANGELOG.md", f"{doc}/LICENSE", f"{doc}/SKILL.md",
             f"{doc}/samples/pool.c", f"{doc}/samples/scopes.c"}
    files |= {f"include/hawk-core/{name}" for name in names_in("formats/*.h")}
    files |= {f"{doc}/docs/{name}" for name in names_in("docs/*.md")}
    files |= {f"{doc}/docs/schema/{name}" for name in names_in("docs/schema/*.json")}
    if cached("SCDOC") and "NOTFOUND" not in cached("SCDOC"):
        files |= {f"share/man/man1/{name[:-4]}" for name in names_in("docs/man/*.scd")}
    return files


def files_below(root):
    return {os.path.relpath(os.path.join(folder, name), root)
            for folder, _, names in os.walk(root) for name in names}


def install(prefix, destination=""):
    environment = dict(os.environ, DESTDIR=destination)
    done = hawk.run(["cmake", "--install", hawk.BUILD, "--prefix", prefix], env=environment)
    if not hawk.expect_equal(done.returncode, 0, f"cmake --install: {done.stderr}"):
        hawk.finish()
    hawk.expect_equal(files_below(destination + prefix), wanted_files(), "the installed files")


def check_links(folder):
    for page in glob.glob(os.path.join(folder, "**", "*.md"), recursive=True):
        with open(page, encoding="utf-8") as file:
            text = re.sub(r"```.*?```|`[^`\n]*`", "", file.read(), flags=re.S)
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            hawk.expect(os.path.exists(os.path.join(os.path.dirname(page), link)), f"{page}: no {link}")


def check_headers(root):
    include = os.path.join(root, "include")
    for header in names_in("formats/*.h"):
        done = hawk.run(["gcc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c",
                         os.path.join(include, "hawk-core", header), "-Wno-pragma-once-outside-header"])
        hawk.expect_equal(done.returncode, 0, f"{header}: {done.stderr}")
    pool = hawk.compile_program(os.path.join(root, "pool"), [
        os.path.join(root, "share", "doc", "hawk-core", "samples", "pool.c")], flags=["-I", include])
    os.remove(pool)


def check_command(root):
    """The command finds the tracer that was installed with it."""
    command = os.path.join(root, "bin", "hawk-core")
    done = hawk.run([command, "run", "--", "/bin/cat", "/proc/self/maps"])
    hawk.expect(os.path.join(root, libdir, "hawk-core", "libhawk_tracer.so") in done.stdout,
                f"hawk-core run in {root}: {done.stderr}")


if not shutil.which("cmake"):
    hawk.skip("cmake is not installed")
libdir = cached("CMAKE_INSTALL_LIBDIR")
scratch = os.path.realpath(hawk.temporary_folder())
install("/usr", os.path.join(scratch, "image"))
first = os.path.join(scratch, "first")
install(first)
check_links(os.path.join(first, "share", "doc", "hawk-core"))
check_headers(first)
check_command(first)
os.rename(first, os.path.join(scratch, "moved"))
check_command(os.path.join(scratch, "moved"))
check_command(os.path.join(scratch, "image", "usr"))
hawk.finish()
