# SPDX-License-Identifier: Apache-2.0
"""What verbs call the blocks of a process that was not traced: classes, without ages; what needs ages says so."""

import os

from support import hawk

NEED = "ages of blocks need the tracer"


def check_words():
    for words, heading in (("analyze", "Top classes by live bytes"), ("leaks", "Definitely lost"),
                           ("retained", "Classes by retained bytes"), ("sites", "Classes, and what holds their blocks"),
                           ("blocks --top=3", "address"), (f"diff {core}", "No class changed"),
                           (f"ledger {core}", "Classes (")):
        text = hawk.text_of(*words.split(), core, codes=(hawk.EXIT_OK, hawk.EXIT_CONDITION))
        hawk.expect(heading in text and " class" in text, f"{words}: classes in {text}")
        hawk.expect(not any(word in text for word in (" site ", " oldest ", "age_seconds")), f"{words}: ages in {text}")


def check_ages():
    hawk.expect(NEED in hawk.text_of("growth", core), "growth")
    growth = hawk.document("growth", core)
    hawk.expect(growth["sites"] and all(NEED in site["reasons"] or not site["reach_bytes"]["still_reachable"]
                                        for site in growth["sites"]), "growth --json")
    for verb in ("leaks", "blocks", "retained", "merge-paths"):
        done = hawk.run([hawk.CORE, verb, "--age=1", core])
        hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and NEED in done.stderr, f"{verb} --age: {done.stderr}")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "many_lists"), ["many_lists.c"])
core, _ = hawk.crash([program, "5000"], hawk.plain_environment(), folder)
if core:
    check_words()
    check_ages()
hawk.finish()
