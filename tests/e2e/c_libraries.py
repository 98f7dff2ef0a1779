# SPDX-License-Identifier: Apache-2.0
"""The same verdicts with the C libraries of Debian 11, 12, 13 and unstable: each comes in its package and runs programs
by its own loader. Programs and tracer are linked with the oldest, so that they run with all.

How the C library writes chunks, where stacks begin and end and where the lists of those are differs: large blocks with
memory of the program's joined to them, stacks of ended threads around those of live ones."""
# ctest: timeout=600

import concurrent.futures
import glob
import os
import signal
import subprocess

from support import archive, hawk, leaks, releases

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


def link_program(root, source):
    target = os.path.join(folder, source[:-2])
    hawk.compile_program(f"{target}.o", [source], flags=["-O1", "-fPIE", "-c"])
    return releases.link(root, target, ["-pie", f"{target}.o"])


def link_tracer(root):
    """The objects of the real one, with its options."""
    source = os.path.join(hawk.SOURCE, "tracer")
    objects = os.path.join(os.path.dirname(hawk.TRACER), "CMakeFiles", "hawk_tracer_objects.dir")
    return releases.link(root, os.path.join(folder, "libhawk_tracer.so"), [
        "-shared", "-nostartfiles", f"-Wl,--version-script={source}/hawk_tracer.map",
        "-Wl,-Bsymbolic-functions,-z,nodelete,-z,now,-z,relro,-z,defs",
        *(os.path.join(objects, f"{os.path.relpath(file, source)}.o") for file in glob.glob(f"{source}/*/*.c"))])


def command(root, program, *arguments):
    if not root:
        return [program, *arguments]
    return releases.command(root, tracer, program, *arguments)


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
    """A thread's stack overflows into a guard page, which may lie in the middle of a mapping."""
    for way in "alone", "wide":
        core, _ = hawk.crash(command(root, program, way, "100000000", "thread"), environment(root), folder,
                             (signal.SIGSEGV,))
        if not core:
            continue
        text = hawk.run([hawk.CORE, "analyze", core]).stdout
        hawk.expect("the stack has overflowed" in text, f"{name}, {way}: {text[:2000]}")
        hawk.expect_equal(leaks.ask(core)["definitely_lost"]["objects"], 0, f"{name}, {way}: lost")
        os.unlink(core)


folder = hawk.temporary_folder()
wanted = [name for name in releases.NAMES if name != archive.release()]
with concurrent.futures.ThreadPoolExecutor() as pool:
    roots = {name: root for name, root in zip(wanted, pool.map(releases.get, wanted)) if root}
if releases.OLDEST not in roots:
    hawk.skip(f"no package of {releases.OLDEST}'s C library")
tracer = link_tracer(roots[releases.OLDEST])
stacks, cases, deep = (link_program(roots[releases.OLDEST], source)
                       for source in ("thread_stacks.c", "leaks_cases.c", "deep_stack.c"))
whole = check_core("own", None, cases, {})
for name, root in {"own": None, **roots}.items():
    check_core(name, root, stacks, THREAD_STACKS)
    check_core(name, root, cases, whole)
    check_living(name, root, stacks)
    check_overflow(name, root, deep)
    print(name, "was looked at", flush=True)
hawk.finish()
