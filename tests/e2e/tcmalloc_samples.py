"""Blocks that tcmalloc sampled have their stack and the requested size, untraced: in the core, a snapshot and a redacted core."""

import os

from support import hawk, leaks

LIBRARY = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"
BLOCKS, BYTES = 40, 3000001

PROGRAM = f"""
#include <stdlib.h>
#include <string.h>

void *kept[100000];

__attribute__((noinline)) void *allocate_large(void)
{{
	return memset(malloc({BYTES}), 1, 8);
}}

int main(void)
{{
	for (int i = 0; i < 100000; i++)
		kept[i] = memset(malloc(100), 1, 8);
	for (int i = 0; i < {BLOCKS}; i++)
		kept[i] = allocate_large();
	kept[0] = NULL;
	abort();
}}
"""

SITE = ("SELECT site, inuse_objects, inuse_bytes FROM sites JOIN frames USING (site) WHERE frames.function = 'allocate_large'")


def check(path):
    [site] = hawk.sql(path, SITE)
    # Each is several times as large as the mean distance of samples: hardly any is left out.
    hawk.expect(0.9 * BLOCKS <= site["inuse_objects"] <= BLOCKS, f"sampled: {site}")
    hawk.expect_equal(site["inuse_bytes"], BYTES * site["inuse_objects"], "requested bytes")
    frames = hawk.sql(path, f"SELECT function FROM frames WHERE site = '{site['site']}' ORDER BY depth")
    names = [frame["function"] for frame in frames]
    hawk.expect_equal(names[:2], ["allocate_large", "main"], "the allocator's own frames are left out")
    hawk.expect_equal(names[-1], "(sampled by tcmalloc)", "it is a sample")
    lost = [record for record in leaks.ask(path)["records"] if record["site"] == site["site"]]
    hawk.expect(sum(record["objects"] for record in lost if record["kind"] == "definitely_lost") <= 1, f"lost: {lost}")
    return site


if not os.path.exists(LIBRARY):
    hawk.skip("no libtcmalloc.so.4: libgoogle-perftools4")
folder = hawk.temporary_folder()
program = hawk.compile_text(folder, "program", PROGRAM)
core, _ = hawk.crash([program], {**os.environ, "LD_PRELOAD": LIBRARY, "TCMALLOC_SAMPLE_PARAMETER": "65536"}, folder)
found = check(core)
allocator, = hawk.analyze(core)["heap"]["allocators"]
hawk.expect(allocator["name"] == "tcmalloc" and allocator["sampled_objects"] >= found["inuse_objects"], f"{allocator}")
hawk.expect("blocks sampled with their stack" in " ".join(hawk.text_of("analyze", core).split()), "the text says so")
for verb in ("snapshot", "redact"):
    copy = os.path.join(folder, verb)
    hawk.text_of(verb, core, "-o", copy)
    hawk.expect_equal(check(copy), found, verb)
hawk.finish()
