# SPDX-License-Identifier: Apache-2.0
"""The verb `leaks` on programs whose lost and kept blocks are known: kinds, evidence, exit codes,
suppressions, choosing, JSON against its schema, 80 columns, a living process."""

import os
import subprocess

from support import hawk, leaks

LOST, INDIRECT, POSSIBLE, KEPT = leaks.KINDS
TRUTH = {
    "site_alone": {LOST: (1, 24)},
    "site_list": {LOST: (1, 40), INDIRECT: (9, 360)},
    "site_kept_list": {KEPT: (4, 160)},
    "site_tree": {LOST: (1, 40), INDIRECT: (14, 560)},
    "site_ring": {LOST: (1, 40), INDIRECT: (2, 80)},
    "site_double": {LOST: (1, 40), INDIRECT: (4, 160)},
    "site_tail_of_ring": {LOST: (1, 40)},
    "site_ring_with_tail": {INDIRECT: (3, 120)},
    "site_self": {LOST: (1, 32)},
    "site_static": {KEPT: (1, 40)},
    "site_middle": {POSSIBLE: (1, 56)},
    "site_middle_parent": {POSSIBLE: (1, 64)},
    "site_child_of_middle": {POSSIBLE: (1, 48)},
    "site_past_end": {POSSIBLE: (1, 64)},
    "site_wrapped": {KEPT: (8, 1600)},
    "site_length64": {KEPT: (1, 80)},
    "site_stdstring": {KEPT: (1, 55)},
    "site_newarray": {KEPT: (1, 152)},
    "site_child_of_freed": {LOST: (1, 88)},
    "site_grown": {KEPT: (1, 30000)},
    "site_hidden": {LOST: (1, 104)},
    "site_thread_local": {KEPT: (1, 112)},
    "site_other_thread_local": {KEPT: (1, 120)},
    "site_other_stack": {KEPT: (1, 136)},
    "site_register": {KEPT: (1, 144)},
    "site_specific": {KEPT: (1, 152)},
    "site_mapped": {KEPT: (1, 160)},
    "site_empty": {KEPT: (1, 0)},
    "site_lost_empty": {LOST: (1, 0)},
    "site_aligned": {KEPT: (1, 168)},
    "site_odd": {LOST: (1, 176)},
    "site_array": {LOST: (1, 56)},
    "site_array_element": {INDIRECT: (7, 112)},
    "site_ended_thread": {LOST: (4, 832)},
    "site_before_free": {LOST: (2, 144)},
    "site_small_before_free": {LOST: (2, 16)},
    "site_behind_free": {KEPT: (4, 736)},
}


def sources(record):
    return {pointer["from"] for pointer in record["pointers"]}


def record_of(document, site, kind=None):
    for record in document["records"]:
        if leaks.site_of(frame["function"] for frame in record["frames"]) == site and \
                (not kind or record["kind"] == kind):
            return record
    hawk.expect(False, f"no record of {site}")
    return {"pointers": [], "first_root": None, "indirect_objects": 0, "indirect_bytes": 0,
            "pointed_objects": 0, "explained_pointers": 0, "site": "0", "example": "0x0"}


def text(*arguments, codes=(1,)):
    return hawk.text_of("leaks", *arguments, core, codes=codes)


def check_truth():
    found = leaks.by_site(core)
    for site in sorted(set(TRUTH) | set(found)):
        hawk.expect_equal(found.get(site), TRUTH.get(site), site)
    plain = leaks.by_site(core, "--heuristics=valgrind")
    hawk.expect_equal((plain["site_past_end"], plain["site_wrapped"]), ({LOST: (1, 64)}, {POSSIBLE: (8, 1600)}),
                      "by Valgrind's heuristics")
    document = leaks.ask(core, codes=(1,))
    lost = [(record["objects"], record["bytes"]) for record in document["records"]
            if record["kind"] == LOST]
    hawk.expect_equal((document[LOST]["objects"], document[LOST]["bytes"]),
                      tuple(map(sum, zip(*lost))), "sum of records")
    hawk.expect_equal(document["downgraded"]["objects"], 0, "downgraded")
    hawk.expect_equal([document["heuristics"][name] for name in
                       ("stdstring", "length64", "newarray", "multipleinheritance", "prefix")],
                      [1, 1, 1, 0, 8], "heuristics")
    hawk.expect(document["heuristics"]["endpointer"] >= 1, "a pointer one past the end")


def check_ends():
    """An end may be the address of what an allocator keeps behind the block: its lists of free memory hold no lost block."""
    ends = hawk.compile_program(os.path.join(folder, "ends"), ["ends.c"], flags=("-O1", "-g"))
    for name, file in hawk.ALLOCATORS.items():
        library = hawk.find_allocator(name)
        if file and not library:
            continue
        for size in (48, 100, 112):
            traced, _ = hawk.crash([ends, str(size)], hawk.tracer_environment(library), hawk.temporary_folder())
            whole = (1000, 1000 * size)
            for heuristics, kind in (("all", POSSIBLE), ("endpointer", POSSIBLE), ("valgrind", LOST), ("none", LOST)):
                found = leaks.by_site(traced, "--heuristics=" + heuristics)
                hawk.expect_equal((found["site_end"], found["site_lost"]), ({kind: whole}, {LOST: whole}),
                                  f"{name}, blocks of {size}, {heuristics}")


def check_evidence():
    document = leaks.ask(core)
    hawk.expect_equal(sources(record_of(document, "site_alone")), set(), "lost block")
    hawk.expect_equal(sources(record_of(document, "site_array_element")), {LOST}, "element")
    hawk.expect_equal(sources(record_of(document, "site_other_stack")), {"stack"}, "stack")
    hawk.expect_equal(sources(record_of(document, "site_register")), {"register"}, "register")
    hawk.expect_equal(sources(record_of(document, "site_child_of_middle")), {POSSIBLE}, "child")
    static = record_of(document, "site_static")
    hawk.expect_equal((static["first_root"] or {}).get("symbol"), "g_static", "root's name")
    middle = record_of(document, "site_middle")
    hawk.expect_equal(middle["pointers"], [{"from": "module", "start": 0, "interior": 1}],
                      "interior pointer")
    hawk.expect_equal(record_of(document, "site_length64")["explained_pointers"], 1, "explained")
    head = record_of(document, "site_list", LOST)
    hawk.expect_equal((head["indirect_objects"], head["indirect_bytes"]), (9, 360), "list")
    done = hawk.run([hawk.CORE, "whatis", core, head["example"]])
    hawk.expect("site_list" in done.stdout, "whatis follows the example")


def check_exit_codes():
    for arguments, code in (([], 1), (["--exit-code=0"], 0), (["--exit-code=7"], 7),
                            (["--function", "site_static$"], 0), (["--kinds=reachable"], 1)):
        done = hawk.run([hawk.CORE, "leaks", *arguments, core])
        hawk.expect_equal(done.returncode, code, f"exit code of {arguments}")
    for arguments in (["--kinds=lost"], ["--kinds="], ["--kinds=definite,"], ["--heuristics=x"],
                      ["--exit-code=256"], ["--suppressions=/nonexistent"], ["--type=("]):
        done = hawk.run([hawk.CORE, "leaks", *arguments, core])
        hawk.expect(done.returncode in (2, 3) and done.stderr.startswith("hawk-core: "),
                    f"{arguments}: {done.returncode} {done.stderr}")


def write(name, content):
    return hawk.write(os.path.join(folder, name), content)


def check_suppressions():
    lines = write("lsan.supp", "# known\nleak:site_alone\nleak:site_nobody\nleak:^site_li*t$\n")
    entries = write("memcheck.supp", "{\n   trees\n   Memcheck:Leak\n"
                    "   match-leak-kinds: definite,indirect\n   fun:calloc\n   fun:site_tree\n"
                    "   ...\n   fun:main\n}\n")
    before = leaks.ask(core)
    after = leaks.ask(core, "--suppressions", lines, "-s", entries)
    gone = {"objects": 1 + 10 + 15, "bytes": 24 + 400 + 600}
    hawk.expect_equal(after["suppressed"], gone, "suppressed")
    for key, count in gone.items():
        hawk.expect_equal(sum(after[kind][key] for kind in leaks.KINDS) + count,
                          sum(before[kind][key] for kind in leaks.KINDS), f"rest of {key}")
    hawk.expect_equal([(item["name"], item["line"], item["objects"])
                       for item in after["suppressions"]],
                      [("site_alone", 2, 1), ("site_nobody", 3, 0), ("^site_li*t$", 4, 10),
                       ("trees", 1, 15)], "suppressions")
    full = text("--full", "-s", lines)
    hawk.expect(any("never matched" in line and "site_nobody" in line
                    for line in full.splitlines()), "a suppression that never matched")
    everything = write("all.supp", "leak:*\n")
    done = hawk.run([hawk.CORE, "leaks", "-s", everything, core])
    hawk.expect_equal((done.returncode, "Leaks: none" in done.stdout), (0, True), "all suppressed")
    done = hawk.run([hawk.CORE, "leaks", "-s", write("bad.supp", "leak:x\n{\nname\n"), core])
    hawk.expect_equal((done.returncode, "bad.supp:3: " in done.stderr), (2, True), "bad file")


def check_choice():
    document = leaks.ask(core, "--kinds=possible")
    hawk.expect_equal({record["kind"] for record in document["records"]}, {POSSIBLE}, "--kinds")
    document = leaks.ask(core, "--top=2")
    hawk.expect_equal([record["kind"] for record in document["records"]], [LOST, LOST], "--top")
    sizes = [record["bytes"] + record["indirect_bytes"]
             for record in leaks.ask(core, "--kinds=definite")["records"]]
    hawk.expect_equal(sizes, sorted(sizes, reverse=True), "largest first")
    site = record_of(document, "site_tree")["site"]
    document = leaks.ask(core, f"--site={site}")
    hawk.expect_equal({record["site"] for record in document["records"]}, {site}, "--site")
    document = leaks.ask(core, "--size=100-200", "--kinds=definite")
    hawk.expect_equal({record["bytes"] for record in document["records"]}, {104, 176}, "--size")
    document = leaks.ask(cxx_core, "--type=^Both$|::Both$")
    hawk.expect_equal([document[kind]["objects"] for kind in leaks.KINDS], [1, 0, 1, 7], "--type")


def check_schema():
    hawk.document("leaks", core, codes=(1,))
    hawk.document("leaks", cxx_core, codes=(1,))
    untraced, _ = hawk.crash([program], hawk.plain_environment(), folder)
    document = hawk.document("leaks", "--no-native", untraced, codes=(4,))
    hawk.expect("not-traced" in [item["key"] for item in document["missing"]], "not traced")


def check_text():
    for arguments in ([], ["--kinds=all"], ["--top=100", "--depth=2"]):
        hawk.expect_columns(text(*arguments), f"{arguments}")
    short = text("--top=1", "--depth=1")
    hawk.expect("Leaks: 59 blocks, 3.0 KiB lost\n" in short, f"heading: {short[:200]}")
    hawk.expect("... and " in short and "(--top)" in short, "more records")
    hawk.expect("one at `g_middle` in leaks_c .bss" in " ".join(text("--kinds=possible").split()),
                "a root's name")
    piped = subprocess.run(f"'{hawk.CORE}' leaks --full '{core}' | head -1; "
                           "test ${PIPESTATUS[0]} -eq 141 -o ${PIPESTATUS[0]} -eq 1",
                           shell=True, executable="/bin/bash", capture_output=True, text=True,
                           check=False)
    hawk.expect_equal((piped.returncode, piped.stderr), (0, ""), "a pipe that ends early")
    for threads in ("1", "2"):
        hawk.expect_equal(text("--json", "--threads", threads), text("--json"), "threads")


def check_section():
    done = hawk.run([hawk.CORE, "analyze", "--full", core])
    hawk.expect("Leaks: 59 blocks, 3.0 KiB lost\n" in done.stdout and
                "(hawk-core leaks)" in done.stdout, "analyze --full has a section of leaks")
    hawk.expect_equal(done.returncode, 0, "exit code of analyze --full")
    done = hawk.run([hawk.CORE, "analyze", core])
    hawk.expect("Leaks: 59 blocks, 3.0 KiB lost\n" in done.stdout and "loss record" not in done.stdout,
                "plain analyze has the sums")


def check_living():
    process = hawk.spawn([program], env=hawk.tracer_environment(extra={"LEAKS_WAIT": "1"}),
                         stdout=subprocess.PIPE)
    hawk.expect_equal(process.stdout.readline(), b"ready\n", "the living program")
    found = leaks.by_site(None, "--pid", str(process.pid))
    if not found:
        return
    for site in sorted(set(TRUTH) | set(found)):
        hawk.expect_equal(found.get(site), TRUTH.get(site), f"--pid, {site}")
    chosen = leaks.ask(None, "--pid", str(process.pid), "--type=NoSuchClass")
    hawk.expect_equal(sum(chosen[kind]["objects"] for kind in leaks.KINDS), 0, "--pid --type")
    hawk.expect_equal(process.poll(), None, "the living program lives on")


(_, program, folder, core), (_, _, _, cxx_core) = leaks.programs(("c", "cxx"))
hawk.run_checks(globals())
