# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""A cut-off core of python3, parts of which are not there: whether answers come from an index cache or not, the same
is said to be missing, and the exit code is the same. What an answer does not rest on is not said."""

import difflib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import hawk  # noqa: E402
import real  # noqa: E402

SCRIPT = """
import ast, collections, decimal, json, os
kept = collections.OrderedDict(("key %d" % i, {"value": i, "list": [i, str(i), decimal.Decimal(i)]}) for i in range(150000))
trees = [ast.parse("def f(x):\\n  return x + %d\\n" % i) for i in range(300)]
documents = [json.loads('{"a": [1, 2, 3], "b": {"c": "text"}}') for i in range(3000)]
os.abort()
"""
QUESTIONS = (["analyze"], ["leaks", "--json", "--top=3"], ["leaks", "--heuristics=none", "--top=3"],
             ["leaks", "--age=0-1h", "--top=3", "--json"], ["growth", "--json", "--top=3"],
             ["growth", "--json", "--top=3", "--size=16-64"], ["sites", "--json", "--top=3"],
             ["sites", "--top=3", "--size=16-64"], ["retained", "--json", "--top=3"],
             ["retained", "--by=root", "--json", "--top=3"], ["retained", "--by=block", "--top=3", "--json"],
             ["merge-paths", "--json", "--top=3"], ["merge-paths", "--json", "--top=3", "--size=16-64"],
             ["schema", "SITE 0", "--json"], ["schema", "SITE 1", "--json"], ["schema", "SITE 2", "--json"],
             ["schema", "SITE 3", "--size=8-100", "--json"],
             ["leaks", "--json", "--top=1", "--heuristics=length64,newarray,multipleinheritance,lengthprefix,listnode,backpointer"],
             ["path", "--size=1k-", "--top=1", "--json"], ["blocks", "--top=3"],
             ["sql", "SELECT kind, sum(objects) FROM leaks GROUP BY 1"], ["sql", "SELECT count(*) FROM roots"],
             ["sql", "SELECT reach, count(*) FROM blocks GROUP BY 1"], ["sql", "SELECT count(*) FROM sites"])
ROOTS = "where pointers to blocks may lie"


def ask(*arguments):
    arguments = [sites[int(word[5:])] if word.startswith("SITE ") else word for word in arguments]
    done = hawk.run([hawk.CORE, arguments[0], cut, *arguments[1:]], env=dict(os.environ, XDG_CACHE_HOME=caches))
    return done.returncode, done.stdout, done.stderr


def expect_same(words, when):
    found, wanted = ask(*words), without[tuple(words)]
    lines = [f"{name}: {line[:300]}" for name, one, other in zip(("code", "text", "stderr"), found, wanted)
             for line in difflib.unified_diff(str(other).splitlines(), str(one).splitlines(), lineterm="", n=0)]
    hawk.expect(found == wanted, f"{words} {when}:\n" + "\n".join(lines[:12]))


folder = real.support()
caches = os.path.join(folder, "caches")
python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
core, _ = hawk.crash([python, "-c", SCRIPT], hawk.tracer_environment(extra={"PYTHONMALLOC": "malloc"}), folder)
cut = os.path.join(folder, "cut")
with open(core, "rb") as whole, open(cut, "wb") as file:
    file.write(whole.read(os.path.getsize(core) * 13 // 16))
hawk.expect(os.path.getsize(cut) > 80 << 20, "large enough for a cache")
sites = [site["site"] for site in hawk.analyze(cut, "--no-cache", codes=(4,))["sites"][:4]]
without = {tuple(words): ask(*words, "--no-cache") for words in QUESTIONS}
for words, (code, text, errors) in without.items():
    hawk.expect_equal(code, 4, f"{words}: {errors[-300:]}")
    rests_on_roots = words[0] not in ("blocks", "schema") and "FROM sites" not in words[-1]
    hawk.expect_equal(ROOTS in " ".join((text + errors).split()), rests_on_roots, f"{words}: {errors}")
hawk.expect("module-unverified" in without["growth", "--json", "--top=3"][1], "a module whose file is in doubt")
ask("sites", "--top=1")
for words in QUESTIONS:
    expect_same(words, "while there is little cached")
hawk.settle(cut)
for words in QUESTIONS:
    expect_same(words, "from a complete cache")
hawk.finish()
