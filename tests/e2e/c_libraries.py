# SPDX-License-Identifier: Apache-2.0
"""The same verdicts with the C libraries of Debian 11, 12, 13 and unstable: each comes in its package and runs programs
by its own loader. Programs and tracer are linked with the oldest, so that they run with all.

How the C library writes chunks, where stacks begin and end and where the lists of those are differs: large blocks with
memory of the program's joined to them, stacks of ended threads around those of live ones."""
# ctest: timeout=600

import concurrent.futures
import glob
import os
import shutil
import signal
import subprocess
import sys

from support import archive, hawk, leaks

OLDEST = "bullseye"
RELEASES = (OLDEST, "bookworm", "trixie", "sid")
LIBRARIES = os.path.join("lib", "x86_64-linux-gnu")

KEPT, LOST = "still_reachable", "definitely_lost"
THREAD_STACKS = {
    "site_beside_large": {KEPT: (100, 4000)},
    "site_beside_stack": {KEPT: (1, 48)},
    "site_large": {KEPT: (2, 600000)},
    "site_large_aligned": {KEPT: (1, 300000)},
    "site_ended_stack": {LOST: (6, 336)},
    "site_ended_tls": {LOST: (6, 384)},
    "site_live_stack": {KEPT: (1, 72)},
    "site_live_tls": {KEPT: (1, 80)},
    "site_own_stack": {KEPT: (1, 88)},
    "site_joined": {KEPT: (1, 96)},
    "site_alternate": {KEPT: (1, 104)},
    "site_interrupted": {KEPT: (1, 112)},
}


def unpack(name, target):
    """The library and what is needed to link with it, in a folder that looks like /."""
    os.makedirs(target)
    archive.fetch(target, "deb", ["download", "libc6", *(["libc6-dev"] if name == OLDEST else [])], suite=name)
    for package in glob.glob(os.path.join(target, "*.deb")):
        hawk.run(["dpkg-deb", "-x", package, target])
        os.unlink(package)
    shutil.rmtree(os.path.join(target, "apt"))
    for folder, _, files in os.walk(target):
        for link in (os.path.join(folder, file) for file in files):
            if os.path.islink(link) and os.readlink(link).startswith("/"):
                to = os.path.relpath(target + os.readlink(link), folder)
                os.unlink(link)
                os.symlink(to, link)


def get(name):
    """The folder of a release's library, which is kept in the build folder; None = there is none."""
    kept = os.path.join(hawk.BUILD, "tests", "e2e", "c_libraries", name)
    if not os.path.isdir(kept):
        made = f"{kept}.{os.getpid()}"
        try:
            unpack(name, made)
            os.rename(made, kept)
        except archive.Unavailable as reason:
            print(f"without {name}: {reason}", flush=True)
            return None
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return kept


def libraries_of(root):
    """Where they are in a package, of before and of after the merging of / and /usr."""
    folders = [os.path.join(root, LIBRARIES), os.path.join(root, "usr", LIBRARIES)]
    return next(path for path in folders if os.path.exists(os.path.join(path, "libc.so.6")))


def link(root, output, arguments):
    development = os.path.join(root, "usr", LIBRARIES)
    done = hawk.run([hawk.need("gcc"), f"--sysroot={root}", f"-B{development}/", "-o", output, *arguments,
                     f"-L{development}", f"-L{libraries_of(root)}", "-lpthread", "-ldl"])
    if done.returncode:
        print(done.stderr)
        sys.exit(1)
    return output


def link_program(root, source):
    target = os.path.join(folder, source[:-2])
    hawk.compile_program(f"{target}.o", [source], flags=["-O1", "-fPIE", "-c"])
    return link(root, target, ["-pie", f"{target}.o"])


def link_tracer(root):
    """The objects of the real one, with its options."""
    source = os.path.join(hawk.SOURCE, "tracer")
    objects = os.path.join(os.path.dirname(hawk.TRACER), "CMakeFiles", "hawk_tracer_objects.dir")
    return link(root, os.path.join(folder, "libhawk_tracer.so"), [
        "-shared", "-nostartfiles", f"-Wl,--version-script={source}/hawk_tracer.map",
        "-Wl,-Bsymbolic-functions,-z,nodelete,-z,now,-z,relro,-z,defs",
        *(os.path.join(objects, f"{os.path.relpath(file, source)}.o") for file in glob.glob(f"{source}/*/*.c"))])


def command(root, program, *arguments):
    if not root:
        return [program, *arguments]
    libraries = libraries_of(root)
    return [os.path.join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries, "--preload", tracer,
            program, *arguments]


def environment(root):
    return hawk.plain_environment(extra={} if root else {"LD_PRELOAD": tracer})


def check_core(name, root, program, expected):
    core, _ = hawk.crash(command(root, program), environment(root), folder)
    if not core:
        return None
    found = leaks.by_site(core)
    for site in expected:
        hawk.expect_equal(found.get(site), expected[site], f"{name}: {site}")
    keys = [item["key"] for item in leaks.ask(core)["missing"]]
    hawk.expect_equal([key for key in keys if key != "names-missing"], [], f"{name}: missing")
    return found


def check_living(name, root, program):
    """Guard pages cannot be read, and lie in the middle of mappings."""
    with hawk.spawn(command(root, program, "wait"), env=environment(root), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        document = leaks.ask(None, f"--pid={process.pid}")
        found = leaks.by_site(None, f"--pid={process.pid}")
        process.send_signal(signal.SIGKILL)
    for site in THREAD_STACKS:
        hawk.expect_equal(found.get(site), THREAD_STACKS[site], f"{name}, living: {site}")
    keys = [item["key"] for item in document["missing"]] if document else []
    hawk.expect_equal([key for key in keys if key != "names-missing"], [], f"{name}, living: missing")


def check_overflow(name, root, program):
    """Of a thread's stack: into a guard page, which may lie in the middle of a mapping."""
    for way in "alone", "wide":
        core, _ = hawk.crash(command(root, program, way, "100000000", "thread"), environment(root), folder,
                             (signal.SIGSEGV,))
        if not core:
            continue
        text = hawk.run([hawk.CORE, "analyze", core]).stdout
        hawk.expect("the stack has overflowed" in text, f"{name}, {way}: {text[:2000]}")
        hawk.expect_equal(leaks.ask(core)["definitely_lost"]["objects"], 0, f"{name}, {way}: lost")
        os.unlink(core)


hawk.need("dpkg-deb")
folder = hawk.temporary_folder()
wanted = [name for name in RELEASES if name != archive.release()]
with concurrent.futures.ThreadPoolExecutor() as pool:
    roots = {name: root for name, root in zip(wanted, pool.map(get, wanted)) if root}
if OLDEST not in roots:
    hawk.skip(f"no package of {OLDEST}'s C library")
tracer = link_tracer(roots[OLDEST])
stacks, cases, deep = (link_program(roots[OLDEST], source)
                       for source in ("thread_stacks.c", "leaks_cases.c", "deep_stack.c"))
whole = check_core("own", None, cases, {})
for name, root in {"own": None, **roots}.items():
    check_core(name, root, stacks, THREAD_STACKS)
    check_core(name, root, cases, whole)
    check_living(name, root, stacks)
    check_overflow(name, root, deep)
    print(name, "was looked at", flush=True)
hawk.finish()
