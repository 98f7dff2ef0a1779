# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""hawk-core verify: classic damages, one a program, with the block at fault named by each; and healthy heaps, of
which nothing is wrong."""

import json
import os
import shutil
import signal
import subprocess
import time

from support import hawk, json_schema

KINDS = {"overflow": "heap_overflow", "underflow": "heap_underflow", "double": "double_free",
         "use": "use_after_free", "invalid": "invalid_free"}
# How far the block ran over, as far as the bytes show.
BYTES = {"overflow_1": 1, "overflow_8": 8, "overflow_12": 12, "overflow_100": 100, "overflow_strcpy": 24,
         "overflow_into_cached": 12, "overflow_nul_flag": 1, "overflow_thread": 12, "underflow_1": 1, "underflow_4": 4}
# The thread's cache was given back half way: the block at fault was freed again, and its link replaced.
UNKNOWN = {"use_thread"}
# Under the tracer a write to a free block reaches no structure of the allocator's: it damages nothing. An odd
# pointer is in no register when free() aborts.
UNKNOWN_TRACED = {"invalid_unaligned"}
# What other allocators show. They keep no headers beside blocks, but for musl.
ALLOCATED = {
    ("tcmalloc", False): "overflow_100 overflow_into_cached double_fast use_cached_zeros invalid_inside",
    ("mimalloc", False): "overflow_into_cached double_abort_large use_fast invalid_unaligned",
    ("jemalloc", False): "double_fast invalid_inside",
    ("musl", False): "overflow_1 overflow_100 overflow_strcpy overflow_mapped overflow_into_free underflow_4 underflow_8 "
                     "double_abort",
    ("jemalloc", True): "overflow_12 overflow_strcpy underflow_8 double_abort",
}
MESSAGES = {"double_abort": "free(): double free detected in tcache 2", "overflow_then_malloc": "malloc(): corrupted top size",
            "overflow_then_realloc": "realloc(): invalid next size"}
HEALTHY = {
    "python3": ["-c", "import json\nd = []\nwhile True:\n d = d[-200:] + [{str(i): [i] * 9} for i in range(30)]\n json.dumps(d)"],
    "perl": ["-e", "while (1) { $h{int rand 9999} = ['x' x rand 300]; delete $h{int rand 9999}; }"],
    "sqlite3": [":memory:", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 90000000) "
                "SELECT count(DISTINCT x % 5000) FROM c;"],
    "bash": ["-c", "declare -A h; while :; do h[$RANDOM]=$RANDOM$x; x=${h[$RANDOM]:0:40}; done"],
}


def verify(core, *arguments):
    done = hawk.run([hawk.CORE, "verify", "--json", *arguments, *([core] if core else [])])
    if not hawk.expect(done.stdout.startswith("{"), f"{core}: {done.stdout} {done.stderr}"):
        return done.returncode, None
    document = hawk.parse(done.stdout)
    complaints = json_schema.validate(json.loads(done.stdout), json_schema.load("verify-3.json"))
    hawk.expect_equal(complaints, [], f"{core}: schema")
    return done.returncode, document


def is_named(case, block, document):
    """Whether the first corruption is of the case's kind and block."""
    first = document["corruptions"][0] if document["corruptions"] else {}
    return (first.get("kind") == KINDS[case.partition("_")[0]] and bool(first["block"]) and
            first["block"]["address"] == block)


def check_case(case, environment, traced):
    place = os.path.join(folder, case)
    os.makedirs(place, exist_ok=True)
    core, done = hawk.crash([program, case], environment, place, signals=(signal.SIGABRT, signal.SIGSEGV))
    if not core:
        return
    code, document = verify(core)
    if not document:
        return
    if traced and case.startswith("use_"):
        hawk.expect_equal((code, document["corruption_count"]), (0, 0), f"{case}, traced")
    elif case not in (UNKNOWN_TRACED if traced else UNKNOWN):
        hawk.expect(is_named(case, done.stdout.split()[-1], document), f"{case}, traced {traced}: {document['corruptions']}")
        hawk.expect_equal(code, hawk.EXIT_CONDITION, f"{case}: exit code")
        hawk.expect_equal(document["corruptions"][0]["bytes"], BYTES.get(case, document["corruptions"][0]["bytes"]),
                          f"{case}, traced {traced}: bytes")
    if not traced and case in MESSAGES:
        hawk.expect_equal(document["message"], MESSAGES[case], f"{case}: message")
        hawk.expect_equal(hawk.analyze(core)["heap_damage"]["corruption_count"], 1, f"{case}: analyze --json")
        text = hawk.text_of("analyze", "--no-suspects", core, codes=(0, 4))
        hawk.expect(text.index("Heap damage: 1") < text.index("Heap: "), f"{case}: analyze {text}")
    os.unlink(core)


def check_untraced():
    for case in cases:
        check_case(case, hawk.plain_environment(), False)


def check_traced():
    for case in cases:
        check_case(case, hawk.tracer_environment(), True)


def check_text():
    core, done = hawk.crash([program, "overflow_12"], hawk.tracer_environment(), folder)
    text = hawk.text_of("verify", core, codes=(1,), env={**os.environ, "COLUMNS": "80"})
    hawk.expect_columns(text, "verify")
    words = " ".join(text.split())
    hawk.expect(f"heap overflow: 12 bytes past the 24-byte block {done.stdout.split()[-1]} (make_block" in words and
                'found "AAAAAAAA", expected size 0x31' in words, text)
    os.unlink(core)


def expect_sound(core, what):
    code, document = verify(core)
    hawk.expect(code in (0, 4) and document and not document["corruptions"], f"{what}: {code} {document}")


def check_healthy():
    """Cores of programs that were killed at any moment, whole and cut off, and a living one."""
    for name, arguments in HEALTHY.items():
        for environment in (hawk.plain_environment(), hawk.tracer_environment()):
            process = start_healthy(name, arguments, environment)
            core = hawk.gcore(process.pid, folder)
            process.kill()
            process.wait()
            expect_sound(core, name)
            for eighths in 3, 6:
                expect_sound(hawk.cut(core, os.path.getsize(core) * eighths // 8), f"{name}, {eighths}/8 of its core")
            os.unlink(core)


def check_healthy_allocators():
    """redis-server brings jemalloc, whose table of sizes looks like tcmalloc's."""
    redis = ("redis-server", ["--port", "0", "--save", "", "--unixsocket", os.path.join(folder, "socket")])
    allocators = ("jemalloc", "mimalloc", "tcmalloc", "jemalloc", "tcmalloc")
    for allocator, (name, arguments) in zip(allocators, (*HEALTHY.items(), redis)):
        library = hawk.find_allocator(allocator)
        if library and shutil.which(name):
            process = start_healthy(name, arguments, hawk.plain_environment(library))
            process.kill()
            process.wait()


def start_healthy(name, arguments, environment):
    """Starts a program, and looks at it while it is alive."""
    process = hawk.spawn([hawk.need(name), *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    code, document = verify(None, "--pid", str(process.pid))
    hawk.expect(code in (0, 4) and document and not document["corruptions"], f"{name}, alive: {code} {document}")
    return process


def check_allocators():
    """Damages that show in the structures of other allocators, and in the tracer's headers above them."""
    musl = shutil.which("musl-gcc") and hawk.compile_program(os.path.join(folder, "heap_damage_musl"), ["heap_damage.c"],
                                                             "musl-gcc", ["-static", "-O0", "-g", "-w"])
    for (name, traced), names in ALLOCATED.items():
        library = hawk.find_allocator(name) if name in hawk.ALLOCATORS else None
        if not library and not (name == "musl" and musl):
            continue
        environment = hawk.tracer_environment(library) if traced else hawk.plain_environment(library)
        for case in names.split():
            place = os.path.join(folder, f"{name}{case}{traced}")
            os.makedirs(place)
            core, done = hawk.crash([musl if name == "musl" else program, case], environment, place,
                                    signals=(signal.SIGABRT, signal.SIGSEGV))
            code, document = verify(core) if core else (None, None)
            if document:
                hawk.expect(is_named(case, done.stdout.split()[-1], document),
                            f"{case} of {name}, traced {traced}: {document['corruptions']}")
                hawk.expect_equal(code, hawk.EXIT_CONDITION, f"{case} of {name}: exit code")


def check_snapshot():
    """A snapshot holds no contents, and says so."""
    core, _ = hawk.crash([program, "overflow_12"], hawk.plain_environment(), folder)
    snapshot = os.path.join(folder, "it.hawk")
    hawk.run([hawk.CORE, "snapshot", "-o", snapshot, core])
    done = hawk.run([hawk.CORE, "verify", snapshot])
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "no contents of blocks" in done.stderr, done.stderr)


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "heap_damage"), ["heap_damage.c"],
                               flags=["-O0", "-g", "-w", "-pthread"])
cases = hawk.run([program, "cases"]).stdout.split()
hawk.expect(len(cases) >= 40, f"cases: {cases}")
hawk.run_checks(globals())
