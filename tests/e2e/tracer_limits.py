# SPDX-License-Identifier: Apache-2.0
# ctest: long
"""max_table=SIZE, and its default: the tracer's memory ends there, the program goes on, and what found no
room is counted. Below 32 MiB of address space the tracer stands aside. stats=1: its own counters at exit."""

import atexit
import json
import os
import re
import resource
import shutil
import tempfile

from support import hawk

STACKS = 1 << 17
LEVELS_MAX = 20
MIB = 1 << 20
TWIN_BYTES = 8192  # of the header: beside the limit


def statistics(options, *arguments, blocks=STACKS, preexec=None):
    done = hawk.run([program, *arguments], env=hawk.tracer_environment(options=options), preexec_fn=preexec)
    hawk.expect_equal((done.returncode, done.stdout), (0, f"{blocks} blocks\n"), options)
    return {name: int(value) for name, value
            in re.findall(r"^libhawk_tracer: (\w+) (\d+)$", done.stderr, re.MULTILINE)}


def check_statistics():
    free = statistics("stats=1")
    hawk.expect(free["distinct_stacks"] >= STACKS, f"{free}")
    hawk.expect(free["allocations"] >= STACKS and free["dropped"] == 0, f"{free}")
    hawk.expect_equal(free["unchanged_stacks"] + free["changed_stacks"], free["allocations"],
                      "stacks")
    hawk.expect(free["looked_up_stacks"] >= STACKS, f"{free}")
    hawk.expect(0 < free["rules_made"] < 10000, f"{free}")
    capped = statistics("stats=1:max_table=8M")
    hawk.expect(capped["table_bytes"] <= 8 << 20 < free["table_bytes"], f"{capped} of {free}")
    hawk.expect(capped["dropped"] > STACKS / 2, f"{capped}")
    hawk.expect_equal(statistics("stats=0"), {}, "words without stats=1")


def check_most_is_used():
    """Whatever the limit, most of it is used before stacks are dropped, and each that is counts once."""
    many = 1 << LEVELS_MAX
    all_stacks = statistics("stats=1", "exit", "1", str(LEVELS_MAX), blocks=many)["distinct_stacks"]
    for limit in (8, 9, 12, 16, 24, 48, 64):
        for table in ("", f":table={files}/of_{limit}") if limit in (9, 24) else ("",):
            capped = statistics(f"stats=1:max_table={limit}M{table}", "exit", "1", str(LEVELS_MAX),
                                blocks=many)
            used = capped["table_bytes"] / (limit << 20)
            print(f"{limit} MiB{table and ' in a file'}: {used:.1%} used, "
                  f"{capped['distinct_stacks']} stacks")
            hawk.expect(0.8 < used <= 1, f"{limit} MiB: {used:.1%} used")
            hawk.expect_equal(capped["distinct_stacks"] + capped["dropped"], all_stacks,
                              f"stacks with {limit} MiB{table}")
            if table and os.path.exists(table.removeprefix(":table=")):
                check_file(table.removeprefix(":table="), capped)


def check_file(path, capped):
    done = hawk.run([hawk.CORE, "analyze", "--json", "--top", "1", path])
    analysis = hawk.parse(done.stdout)
    hawk.expect(not analysis["partial"] and not analysis["missing"], f"{analysis['missing']}")
    hawk.expect_equal((analysis["heap"]["dropped"], analysis["heap"]["inuse_objects"]),
                      (capped["dropped"], capped["allocations"] - capped["frees"]), path)
    hawk.expect(os.stat(path).st_blocks * 512 <= capped["table_bytes"], "larger than max_table")
    os.unlink(path)


def space_of(limit, mib):
    """For preexec: sets ulimit -v or -d."""
    return lambda: resource.setrlimit(limit, (int(mib * MIB),) * 2)


def check_default():
    """A sixteenth of memory (of the machine, or of a cgroup around), and a quarter of a limited address space."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    default = statistics("stats=1", "exit", "1", "3", blocks=8)["table_limit"]
    hawk.expect(8 * MIB <= default <= max(memory // 16, 64 * MIB), f"{default} of {memory}")
    hawk.expect_equal(statistics("stats=1:max_table=9M", "exit", "1", "3", blocks=8)["table_limit"],
                      9 * MIB, "max_table overrides")
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        capped = statistics("stats=1", "exit", "1", str(LEVELS_MAX), blocks=1 << LEVELS_MAX,
                            preexec=space_of(limit, 256))
        hawk.expect_equal(capped["table_limit"], min(default, 64 * MIB), "a quarter")
        hawk.expect(capped["table_bytes"] <= 64 * MIB, f"a million stacks: {capped}")
        hawk.expect(capped["dropped"] > 1 << LEVELS_MAX - 2, f"a million stacks: {capped}")
        # Stacks that find no room are not walked again and again.
        hawk.expect(capped["changed_stacks"] < capped["distinct_stacks"] + capped["dropped"] / 20,
                    f"walks in vain: {capped}")


PYTHON = "import json; print(len(json.dumps([{str(i): [i] * 9} for i in range(2000)])))"


def check_little_memory():
    """CPython does what it does without the tracer."""
    python = hawk.need("python3") if not os.path.exists("/usr/bin/python3") else "/usr/bin/python3"
    asides = 0
    for limit in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        for mib in (7.8125, 16, 31.9, 32, 33):  # ulimit -d 8000
            with_tracer, without = (
                hawk.run([python, "-S", "-c", PYTHON], env=environment, timeout=60, preexec_fn=space_of(limit, mib))
                for environment in (hawk.tracer_environment(options="stats=1"), hawk.plain_environment()))
            stood_aside = "not tracing: ulimit -v or -d is below 32 MiB" in with_tracer.stderr
            asides += stood_aside
            hawk.expect_equal((with_tracer.returncode, with_tracer.stdout), (without.returncode, without.stdout),
                              f"CPython in {mib} MiB")
            hawk.expect(with_tracer.returncode or stood_aside == (mib < 32), f"{mib} MiB: {with_tracer.stderr!r}")
    hawk.expect(asides >= 5, f"{asides} processes without the tracer")
    stood = statistics("stats=1:max_table=8M", "exit", "1", "3", blocks=8,
                       preexec=space_of(resource.RLIMIT_DATA, 16))
    hawk.expect_equal(stood.get("table_limit"), 8 * MIB, "max_table= in little memory")


def check_core():
    for limit, dropped_min in ((8, STACKS / 2), (16, 1)):
        core, _ = hawk.crash([program, "abort"],
                             hawk.tracer_environment(options=f"max_table={limit}M"), folder)
        analysis = hawk.analyze(core)
        heap = analysis["heap"]
        hawk.expect(heap["inuse_objects"] >= STACKS, f"blocks are missing: {heap}")
        hawk.expect(dropped_min < heap["dropped"] < STACKS, f"{heap}")
        hawk.expect(heap["tracer_bytes"] <= (limit << 20) + TWIN_BYTES, f"{heap}")
        hawk.expect(not analysis["partial"], f"{analysis['missing']}")
        sites = sum(site["inuse_objects"] for site in analysis["sites"] if site["frames"])
        hawk.expect_equal(sites, heap["inuse_objects"] - heap["dropped"], "blocks with stacks")


folder = hawk.temporary_folder()
program = os.path.join(folder, "many_stacks")
hawk.compile_program(program, [os.path.join(hawk.SOURCE, "tests", "e2e", "programs",
                                            "many_stacks.c")], flags=("-O2", "-g"))
files = tempfile.mkdtemp(prefix="hawk-test-",
                         dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else folder)
atexit.register(shutil.rmtree, files)
hawk.run_checks(globals())
