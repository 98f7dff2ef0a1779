# SPDX-License-Identifier: Apache-2.0
"""Blocks whose headers were overwritten cannot be found; the answer must not be silent about it, whatever
other threads do. Where no header was overwritten nothing may say so, also in forked children in which calls of
the parent's other threads never end."""

import glob
import os
import subprocess

from support import hawk

CHILDREN = 8
IDLE_OVERWRITTEN = 40
CHILD_OVERWRITTEN = 12
# A call of each of the parent's 8 threads may have been between sealing and counting.
CHILD_FOUND_LEAST = CHILD_OVERWRITTEN - 8


def check_one():
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    analysis = core and hawk.analyze(core)
    if analysis:
        hawk.expect_equal(analysis["heap"]["inuse_objects"], 2, "blocks found")
        hawk.expect("block-unaccounted" in [finding["key"] for finding in analysis["damage"]],
                    f"damage: {analysis['damage']}")


def check_full_table():
    """Stacks for which there was no room excuse no missing block."""
    for overwritten in (0, 3):
        core, _ = hawk.crash([program, "full", str(overwritten)], hawk.tracer_environment(options="max_table=8M"), folder)
        document = core and leaks(f"full, {overwritten}", core)
        if document:
            hawk.expect(hawk.analyze(core)["heap"]["dropped"] > 0, "no stack was dropped")
            hawk.expect_equal(unaccounted(document), overwritten, "overwritten headers, full table")


def unaccounted(document):
    """Returns the number of blocks without a header in the findings of `leaks --json`."""
    texts = [finding["text"] for finding in document["damage"] if finding["key"] == "block-unaccounted"]
    return int(texts[0].split()[0].replace(",", "")) if texts else 0


def leaks(what, *arguments):
    done = hawk.run([hawk.CORE, "leaks", "--json", *arguments])
    if not hawk.expect(done.stdout.startswith("{"), f"{what}: {done.stdout} {done.stderr}"):
        return None
    return hawk.parse(done.stdout)


def check_idle(what, *arguments):
    document = leaks(what, *arguments)
    if document:
        hawk.expect_equal(unaccounted(document), IDLE_OVERWRITTEN, f"{what}: overwritten headers")
        hawk.expect_equal(document["definitely_lost"]["objects"], 0, f"{what}: definitely lost")
    done = hawk.run([hawk.CORE, "analyze", *arguments])
    hawk.expect("Nothing was missing" not in done.stdout, f"{what}: {done.stdout}")


def check_idle_threads():
    """Threads that are in no call excuse no missing block: in a process, in its core."""
    process = hawk.spawn([program, "idle"], env=hawk.tracer_environment(), cwd=folder,
                         stdout=subprocess.PIPE)
    process.stdout.readline()
    check_idle("process", "--pid", str(process.pid))
    check_idle("core", hawk.gcore(process.pid, folder))
    process.kill()
    process.wait()


def check_children(overwritten, options=None):
    place = hawk.temporary_folder()
    for i in range(CHILDREN):
        os.mkdir(os.path.join(place, str(i)))
    done = hawk.run([program, "fork", str(overwritten)], env=hawk.tracer_environment(options=options),
                    cwd=place, preexec_fn=hawk.allow_cores)
    hawk.expect_equal(done.returncode, 0, f"{overwritten} in children: exit code")
    cores = glob.glob(os.path.join(place, "?", "*core*"))
    hawk.expect_equal(len(cores), CHILDREN, "cores of children")
    for core in cores:
        what = f"{overwritten} {options or ''} {core}"
        document = leaks(what, core)
        if document and overwritten:
            hawk.expect(CHILD_FOUND_LEAST <= unaccounted(document) <= overwritten,
                        f"{what}: {unaccounted(document)} found")
            hawk.expect_equal(document["definitely_lost"]["objects"], 0, f"{what}: definitely lost")
        elif document:
            hawk.expect_equal((document["damage"], document["downgraded"]["objects"]), ([], 0), what)
            hawk.expect(document["definitely_lost"]["objects"] >= 1, f"{what}: nothing is lost")
        os.unlink(core)


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "overrun"), ["overrun.c"], flags=["-O0"])
check_one()
check_full_table()
check_idle_threads()
if hawk.cores_are_files():
    check_children(0)
    check_children(0, "live=1")
    check_children(CHILD_OVERWRITTEN)
else:
    print("children skipped: their cores would not be files")
hawk.finish()
