# SPDX-License-Identifier: Apache-2.0
"""hawk-core strings and hawk-core duplicates, traced and untraced, on a program whose texts and copies are known."""

import os

from support import hawk

TEXTS = {f"tenant number {letter}": 40 for letter in "ABCDE"} | {"short text": 30, "tab\tend\n\u0436": 1}


def check_strings(core):
    document = hawk.document("strings", core)
    found = {entry["text"]: entry for entry in document["strings"]}
    hawk.expect_equal({text: found.get(text, {"objects": 0})["objects"] for text in TEXTS}, TEXTS, "texts")
    cut = found.get("l" * 4096, {"cut": False, "length": 0})
    hawk.expect_equal((cut["cut"], cut["length"]), (True, 5000), "a text above 4 KiB")
    hawk.expect(not any(entry["objects"] == 10 for entry in found.values()), f"pointers are no text: {found}")
    hawk.expect_equal(sum(entry["bytes"] for entry in found.values()), document["all"]["bytes"], "bytes of all")
    repeated = hawk.document("strings", "--duplicates", core)["strings"]
    hawk.expect_equal({entry["text"] for entry in repeated if entry["text"] in TEXTS},
                      {text for text, count in TEXTS.items() if count > 1}, "--duplicates")
    wasted = [entry["wasted_bytes"] for entry in repeated]
    hawk.expect_equal(wasted, sorted(wasted, reverse=True), "the order of --duplicates")


def check_duplicates(core):
    document = hawk.document("duplicates", core)
    groups = {(entry["objects"], entry["wasted_bytes"] // (entry["objects"] - 1)) for entry in document["contents"]}
    each = 500 if document["contents"][0]["first"]["size"] == 500 else 504
    hawk.expect((25, each) in groups, f"equal cells: {groups}")
    hawk.expect_equal(sorted(count for count, _ in groups if count == 40), [40], "equal texts")
    hawk.expect_equal(sum(entry["objects"] == 40 for entry in document["contents"]), 5, "groups of equal texts")
    hawk.expect(document["zeros"]["objects"] >= 20, f"zeros: {document['zeros']}")
    cells = {"objects": 24, "bytes": 24 * each}
    hawk.expect(cells in [{key: holder[key] for key in cells} for holder in document["holders"]],
                f"the table holds the cells: {document['holders']}")
    for entry in (document["sites"], document["holders"]):
        hawk.expect_equal(sum(site["bytes"] for site in entry), document["repeated"]["bytes"], "copies of all sites")
    hawk.expect_equal(hawk.document("duplicates", "--no-graph", core)["holders"], None, "--no-graph")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "contents"), ["contents.cpp"], "g++", ["-O1", "-std=c++17"])
for environment in (hawk.plain_environment(), hawk.tracer_environment()):
    core, _ = hawk.crash([program], environment, folder)
    if not core:
        continue
    check_strings(core)
    check_duplicates(core)
    for verb in ("strings", "duplicates"):
        hawk.expect_columns(hawk.text_of(verb, core), verb)
        snapshot = f"{core}.hawk"
        hawk.text_of("snapshot", "-o", snapshot, "--force", core)
        done = hawk.run([hawk.CORE, verb, snapshot])
        hawk.expect("holds no contents of blocks" in done.stderr and done.returncode == hawk.EXIT_UNREADABLE,
                    f"{verb} of a snapshot: {done.returncode} {done.stderr}")
hawk.finish()
