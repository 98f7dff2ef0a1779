# SPDX-License-Identifier: Apache-2.0
# ctest: for=plain traced slabs
"""Which blocks pin free memory: what `heap` foretells is what a program gives back that frees these blocks and has its
memory trimmed. And the verdicts: why free memory is not given back."""

import base64
import gzip
import json
import os
import re
import subprocess
import sys

from support import hawk

BLOCKS = 20000
# glibc leaves so much at the end of each arena beside the main one, and the same again of its first heap.
TOP_BYTES = 128 << 10
# Most of a small heap is free.
SMALL = """
#include <stdlib.h>

int main(void)
{
	void *volatile first = malloc(30000), *volatile second = malloc(100);

	free(first);
	second = NULL;
	abort();
}
"""
PARTS = ("pinned_bytes", "scattered_bytes", "cached_bytes", "whole_bytes", "given_back_bytes")


def ask(environment, threads, keep):
    """The answer about a running program, and how much trimming gave back: at first, and after it freed its blocks."""
    process = hawk.spawn([program, str(threads), str(keep)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    while process.stdout.readline() != b"ready\n":
        pass
    answer = hawk.document("heap", "--pid", str(process.pid))["fragmentation"]
    hawk.expect_columns(hawk.text_of("heap", "--pid", str(process.pid)), f"{threads} {keep}")
    hawk.expect_equal(sum(answer[part] for part in PARTS), answer["free_bytes"], f"{threads} {keep}: parts of free memory")
    untrimmed, before, after = map(int, process.communicate(b"go\n")[0].split())
    return answer, untrimmed - before, before - after


def check_pinned(what, environment, threads, keep, verdict):
    answer, trimmed, returned = ask(environment, threads, keep)
    what = f"{what}, {threads} threads, one block in {keep}"
    hawk.expect_equal(answer["verdict"], verdict, f"{what}: verdict")
    pin = answer["pins"][0]
    slack = threads * TOP_BYTES * 1.5 + 0.01 * pin["returns_bytes"]
    hawk.expect(pin["objects"] >= 0.9 * threads * BLOCKS / keep, f"{what}: {pin}")
    hawk.expect(abs(pin["returns_bytes"] - returned) <= slack, f"{what}: {pin['returns_bytes']} foretold, {returned} returned")
    hawk.expect(abs(answer["whole_bytes"] - trimmed) <= slack, f"{what}: {answer['whole_bytes']} whole, {trimmed} trimmed")


def check_all(what, environment):
    check_pinned(what, environment, 4, 20, "fragmentation")
    check_pinned(what, environment, 4, 4, "fragmentation")
    check_pinned(what, environment, 4, 100, "retained by thresholds")


def check_analyze(environment):
    """One sentence where free memory is more than a quarter of what is resident, else none."""
    for keep, verdict in ((20, "fragmentation"), (1, None)):
        core, _ = hawk.crash([program, "4", str(keep)], environment, folder)
        found = hawk.analyze(core, "--no-suspects")["heap"]["fragmentation"]
        hawk.expect_equal(found and found["verdict"], verdict, f"analyze, one block in {keep}")
        text = " ".join(hawk.text_of("analyze", "--no-suspects", core).split())
        hawk.expect_equal("Free memory, " in text, verdict is not None, f"analyze's text, one block in {keep}")
        check_table(core)
        os.unlink(core)


def check_table(core):
    """SQL has the pins of `heap`, the page its first ones."""
    pins = hawk.document("heap", core)["fragmentation"]["pins"]
    keys = ("site", "objects", "bytes", "units", "returns_bytes", "shared_bytes")
    rows = hawk.sql(core, "SELECT *, addr(example) AS place FROM pins")
    hawk.expect_equal([[row[key] for key in keys] + [row["place"], bool(row["cached"])] for row in rows],
                      [[pin[key] for key in keys] + [pin["example"], pin["cached"]] for pin in pins], "pins")
    live = hawk.sql(core, "SELECT count(*) AS n FROM pins JOIN blocks ON address = example")[0]["n"]
    hawk.expect_equal(live, sum(pin["site"] is not None for pin in pins), "examples are blocks")
    page = os.path.join(folder, "page.html")
    hawk.text_of("html", "--force", "-o", page, core)
    part = re.search('data-part="page">([^<]*)<', hawk.read(page).decode("ascii"))[1]
    found = json.loads(gzip.decompress(base64.b64decode(part)))["fragmentation"]
    hawk.expect_equal(found["pins"], pins[:50], "the page's pins")


def check_verdicts():
    environment = hawk.plain_environment()
    hawk.expect_equal(ask(environment, 2, 1)[0]["verdict"], "none", "all blocks live")
    core, _ = hawk.crash([hawk.compile_text(folder, "small", SMALL)], environment, folder)
    small = hawk.document("heap", core)["fragmentation"]
    hawk.expect_equal((small["verdict"], small["free_bytes"] > 30000), ("none", True), "a small heap")
    caches = hawk.plain_environment(extra={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=30000"})
    hawk.expect_equal(ask(caches, 4, BLOCKS)[0]["verdict"], "caches of threads", "all blocks cached")
    arenas = hawk.plain_environment(extra={"GLIBC_TUNABLES": "glibc.malloc.arena_max=16"})
    hawk.expect_equal(ask(arenas, 16, BLOCKS)[0]["verdict"], "too many arenas", "16 arenas")


def check_slabs():
    """Other allocators' slabs and spans; caches of threads may pin as many of them."""
    for name in ("jemalloc", "tcmalloc", "mimalloc"):
        library = hawk.find_allocator(name)
        if not library:
            print(f"{name} is not installed")
            continue
        answer, _, _ = ask(hawk.plain_environment(library), 4, 10)
        # How much of tcmalloc's free memory is in caches depends on which thread comes first.
        verdicts = ("fragmentation", "caches of threads") if name == "tcmalloc" else ("fragmentation",)
        hawk.expect(answer["verdict"] in verdicts, f"{name}: {answer['verdict']}")
        live = 4 * BLOCKS / 10 * 200
        pin = answer["pins"][0]
        least = 1 if name == "tcmalloc" else 5
        hawk.expect(pin["returns_bytes"] + pin["shared_bytes"] >= least * live, f"{name}: {pin}")
        hawk.expect(pin["objects"] >= 0.1 * least * live / 200, f"{name}: {pin}")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "pinned"), ["pinned.c"], flags=["-O1"])
if sys.argv[1] == "plain":
    check_all("plain", hawk.plain_environment())
    check_analyze(hawk.plain_environment())
    check_verdicts()
elif sys.argv[1] == "traced":
    check_all("traced", hawk.tracer_environment())
    check_analyze(hawk.tracer_environment())
else:
    check_slabs()
hawk.finish()
