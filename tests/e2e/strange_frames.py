# SPDX-License-Identifier: Apache-2.0
"""Frames without call frame information, in the tracer's stacks and in the crashed thread: CPython's
perf trampolines, a call through a null pointer, a second mapping of the program's text are passed;
where a frame pointer may have skipped frames, that is said."""

import os

from support import hawk

REMARK = "(frames may be missing: code without unwind information was passed)"


def own(frames):
    """Functions of the program, `code` for code of no module, `null` for address 0."""
    names = []
    for frame in frames:
        if frame["address"] == "0x0":
            names.append("null")
        elif not frame["module"]:
            names.append("code")
        elif frame["module"] == program and frame["function"] != "_start":
            names.append(frame["function"])
    return names


def check(way, wanted, guessed=(False, False)):
    """`guessed`: whether frames may be missing, of the site and of the thread."""
    core, _ = hawk.crash([program, way], hawk.tracer_environment(), folder)
    if not core:
        return
    answer = hawk.analyze(core)
    site = next(site for site in answer["sites"] if site["inuse_bytes"] == 70001)
    thread = next(thread for thread in answer["process"]["threads"] if thread["crashed"])
    for what, stack, flag in (("site", site, guessed[0]), ("thread", thread, guessed[1])):
        hawk.expect_equal(own(stack["frames"]), wanted, f"{way}: {what}")
        hawk.expect_equal(stack["frames_may_be_missing"], flag, f"{way}: flag of {what}")
    hawk.expect_equal((site["truncated"], thread["complete"]), (False, True), f"{way}: whole")
    text = hawk.run([hawk.CORE, "analyze", "--full", core]).stdout
    hawk.expect_equal(text.count(REMARK), sum(guessed), f"{way}: remark")
    hawk.expect("[no module]" not in text or "code" in wanted or "null" in wanted, f"{way}: {text}")


def check_incomplete():
    """An answer with a stack that ends early is incomplete, and says so."""
    core, _ = hawk.crash([program, "dark"], hawk.tracer_environment(), folder)
    if not core:
        return
    for arguments in ([], ["--full"], ["--json"]):
        done = hawk.run([hawk.CORE, "analyze", *arguments, core])
        hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"dark: exit code with {arguments}")
        said = " ".join(done.stdout.split())
        hawk.expect("could not be unwound to its end" in said and " times)" not in said, f"dark: {said}")
    answer = hawk.document("analyze", core, codes=(hawk.EXIT_PARTIAL,))
    hawk.expect_equal([thread["complete"] for thread in answer["process"]["threads"]], [False], "dark: thread")
    hawk.expect_equal([(finding["partial"], finding["count"]) for finding in answer["missing"]
                       if finding["key"] == "stack-incomplete"], [(True, 1)], "dark: finding")
    # Roots are all there: whether a block is lost does not depend on the names of frames.
    hawk.expect_equal(hawk.run([hawk.CORE, "leaks", core]).returncode, hawk.EXIT_OK, "dark: leaks")


folder = hawk.temporary_folder()
for flags in (["-O2"], ["-O1", "-fno-omit-frame-pointer", "-DKEEP_FRAME_POINTERS"]):
    program = hawk.compile_program(os.path.join(folder, "strange_frames"), ["strange_frames.c"],
                                   flags=["-g", "-fno-optimize-sibling-calls", *flags])
    check("trampolines", ["allocate_and_die", "code", "between", "code", "by_trampolines", "main"])
    if "-O2" in flags:
        check_incomplete()
    check("null", ["allocate_and_die", "handler", "null", "call_null", "through_null", "main"])
# Keeps frame pointers, all but the unknown code: `jumped_over` is what nobody can find.
check("unknown", ["allocate_and_die", "code", "over_unknown_code", "main"], (True, True))
# The tracer does not know that this is the program's code, the analyzer does.
check("second", ["allocate_and_die", "copied", "by_second_mapping", "main"], (True, False))
hawk.finish()
