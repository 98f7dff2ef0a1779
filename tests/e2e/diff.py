# SPDX-License-Identifier: Apache-2.0
"""What grew between two cores: a program whose sites keep known amounts, run twice, and built again with a line
inserted; sums to the byte, joins, exit codes, and the difference as a profile."""

import json
import os
import re

from support import hawk

SITES = 21

# Each site keeps argv[1] blocks of a size of its own; the last one only in the second build.
HEAD = """
#include <cstdlib>
#include <vector>
static std::vector<void *> kept;
"""
SITE = """
__attribute__((noinline)) static void keep_{0}(unsigned count)
{{
	for (unsigned i = 0; i < count; i++)
		kept.push_back(malloc({1}));
}}
"""
MAIN = """
int main(int, char **argv)
{{
	unsigned count = (unsigned)atoi(argv[1]);
	kept.reserve(100000);
{0}
	abort();
}}
"""


def size_of(site):
    return 16 + 8 * site


def source(rebuilt):
    text = HEAD + ("static int inserted;\nint *use_inserted() { return &inserted; }\n" if rebuilt else "")
    text += "".join(SITE.format(i, size_of(i)) for i in range(SITES))
    calls = "".join(f"\tkeep_{i}(count);\n" for i in range(SITES))
    if rebuilt:
        text += SITE.format("new", 5000)
        calls += "\tkeep_new(1);\n"
    return text + MAIN.format(calls)


def build(name, rebuilt):
    place = os.path.join(folder, name, "src")
    os.makedirs(place)
    return hawk.compile_text(place, "keeper", source(rebuilt), compiler="g++", flags=["-O1"])


def crash(program, count, environment=None):
    return hawk.crash([program, str(count)], environment or hawk.tracer_environment(), hawk.temporary_folder())[0]


def kept_bytes(count):
    return sum(size_of(i) for i in range(SITES)) * count


def named(rows):
    """{function: row}; the vector's own memory aside."""
    return {re.sub(r"\(.*", "", row["functions"][0] or ""): row for row in rows if row["functions"]}


def check_growth():
    """The same program: the same site ids, and every row to the byte."""
    document = hawk.document("diff", first, second)
    rows = named(document["sites"])
    for i in range(SITES):
        row = rows[f"keep_{i}"]
        hawk.expect_equal((row["match"], row["bytes"], row["objects"]), ("site", 200 * size_of(i), 200), f"keep_{i}")
    hawk.expect_equal(document["whole"]["bytes"], kept_bytes(200), "the whole")
    after = hawk.analyze(second)["heap"]
    hawk.expect_equal((document["whole"]["after"]["bytes"], document["whole"]["after"]["objects"]),
                      (after["inuse_bytes"], after["inuse_objects"]), "sums as of analyze")


def check_rebuild():
    """One inserted line gives every site a new id; functions and files join them."""
    document = hawk.document("diff", second, rebuilt)
    rows = named(document["sites"])
    joined = [rows[f"keep_{i}"] for i in range(SITES)]
    hawk.expect_equal({row["match"] for row in joined}, {"signature"}, "joins")
    hawk.expect_equal([row["bytes"] for row in joined], [100 * size_of(i) for i in range(SITES)], "bytes")
    hawk.expect_equal((rows["keep_new"]["match"], rows["keep_new"]["bytes"]), ("new", 5000), "a new site")
    back = named(hawk.document("diff", rebuilt, second)["sites"])
    hawk.expect_equal((back["keep_new"]["match"], back["keep_new"]["bytes"]), ("gone", -5000), "and back: gone")
    text = hawk.text_of("diff", second, rebuilt)
    hawk.expect("built anew" in text and re.search(r"^ *\+4.9 KiB .* new +keep_new", text, re.M), text)
    hawk.expect_columns(text, "diff")


def check_other_folder():
    """Sources of another folder: functions alone join them."""
    rows = named(hawk.document("diff", second, moved)["sites"])
    hawk.expect_equal({rows[f"keep_{i}"]["match"] for i in range(SITES)}, {"functions"}, "joins of moved files")


def check_nothing():
    document = hawk.document("diff", first, first)
    hawk.expect_equal((document["whole"]["bytes"], {row["bytes"] for row in document["sites"]}), (0, {0}), "itself")
    hawk.expect("No site changed" in hawk.text_of("diff", first, first), "text of no change")


def check_groups():
    document = hawk.document("diff", "--by=function", first, second)
    groups = {re.sub(r"\(.*", "", group["name"] or ""): group for group in document["groups"]}
    hawk.expect_equal((groups["keep_3"]["flat_bytes"], groups["keep_3"]["cum_bytes"]), (200 * size_of(3),) * 2, "flat")
    hawk.expect_equal((groups["main"]["flat_bytes"], groups["main"]["cum_bytes"]), (0, kept_bytes(200)), "cum")
    for by in ("file", "module"):
        groups = hawk.document("diff", f"--by={by}", first, second)["groups"]
        hawk.expect(any(os.path.basename(group["name"] or "").startswith("keeper") and
                        group["flat_bytes"] == kept_bytes(200) for group in groups), f"--by={by}: {groups[:3]}")


def check_what():
    for what in ("total", "lost", "retained", "paths"):
        document = hawk.document("diff", f"--what={what}", first, second)
        wanted = 0 if what == "lost" else kept_bytes(200)
        hawk.expect_equal(document["whole"]["bytes"], wanted, what)


def check_limits():
    grown = 100 * kept_bytes(200) / hawk.analyze(first)["heap"]["inuse_bytes"]
    for limit, code in ((f"{grown - 1:.0f}%", 1), (f"{grown + 1:.0f}%", 0), (str(kept_bytes(200) - 1), 1),
                        (str(kept_bytes(200)), 0)):
        done = hawk.run([hawk.CORE, "diff", f"--fail-if-grown={limit}", first, second])
        hawk.expect_equal(done.returncode, code, f"--fail-if-grown={limit}: {done.stdout[-200:]}")
    done = hawk.run([hawk.CORE, "diff", "--fail-if-grown=10%", second, first])
    hawk.expect_equal(done.returncode, 0, "shrunk")
    for wrong in ("much", "%", "-5%", ""):
        hawk.expect_equal(hawk.run([hawk.CORE, "diff", f"--fail-if-grown={wrong}", first, second]).returncode, 2, wrong)


def check_files():
    """Snapshots in place of cores, in any mix; files that are not there."""
    snapshot = os.path.join(folder, "first.hawk")
    hawk.text_of("snapshot", "-o", snapshot, first)
    wanted = hawk.document("diff", first, second)["sites"]
    hawk.expect_equal(hawk.document("diff", snapshot, second)["sites"], wanted, "a snapshot and a core")
    for arguments, code in (([first], 2), ([first, os.path.join(folder, "none")], 3), ([first, __file__], 3)):
        hawk.expect_equal(hawk.run([hawk.CORE, "diff", *arguments]).returncode, code, f"{arguments}")
    done = hawk.run([hawk.CORE, "diff", "--json", "--no-native", first, untraced])
    hawk.expect_equal(done.returncode, 4, f"untraced: {done.stderr}")
    hawk.expect(any("trace table" in finding["text"] for finding in json.loads(done.stdout)["missing"]), "untraced: why")


def check_unknown():
    """A heap that is unknown is no heap of 0 bytes: nothing is new, grown or gone."""
    for path in (untraced, hawk.cut(first, 1000), hawk.cut(first, 100000, "cut2")):
        for pair, side in (((path, first), "before"), ((first, path), "after")):
            document = hawk.document("diff", "--no-native", *pair, codes=(4,))
            whole = document["whole"]
            hawk.expect(document[f"{side}_unknown"], f"{pair}: why")
            hawk.expect_equal((whole[side], whole["bytes"], whole["objects"], document["sites"]), (None,) * 4, f"{pair}")
            text = hawk.text_of("diff", "--no-native", "--fail-if-grown=1", *pair, codes=(4,))
            hawk.expect("unknown" in text and document[f"{side}_unknown"] in text and " new" not in text, text)
        done = hawk.run([hawk.CORE, "export", "--format=folded", "--no-native", "--base", path, first])
        hawk.expect_equal((done.returncode, done.stdout), (3, ""), f"export --base {path}")


def check_exports():
    folded = hawk.text_of("export", "--format=folded", "--base", first, second)
    hawk.expect_equal(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), kept_bytes(200), "folded")
    rebuilt_folded = hawk.text_of("export", "--format=folded", "--base", second, rebuilt)
    hawk.expect_equal(sum(int(line.rsplit(" ", 1)[1]) for line in rebuilt_folded.splitlines()), kept_bytes(100) + 5000,
                      "folded, joined across the rebuild")


folder = hawk.temporary_folder()
keeper = build("old", False)
first, second = crash(keeper, 100), crash(keeper, 300)
rebuilt = crash(build("new", True), 400)
moved = crash(hawk.compile_text(folder, "keeper", source(False), compiler="g++", flags=["-O1"]), 300)
untraced = crash(keeper, 100, hawk.plain_environment())
hawk.run_checks(globals())
