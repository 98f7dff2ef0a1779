#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""retained: sites, blocks and roots whose sizes are known; and that a view leaves all other answers as they are."""

import json

from support import hawk

SOURCE = r"""
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

struct cell {
	struct cell *next;
	long number;
};

void *g_box;   /* a list, by start pointers: no doubt */
char *g_inside; /* points into a tray, which holds a payload */
void *g_lid;   /* a block that points into a pad */
void *g_one, *g_other; /* one points to the start of a block, the other into it */
char *g_filler;

KEEP void *make_box(void) { return calloc(1, 64); }
KEEP struct cell *make_cell(void) { return calloc(1, sizeof(struct cell)); }
KEEP char **make_tray(void) { return calloc(1, 4000); }
KEEP char *make_payload(void) { return calloc(1, 300); }
KEEP char **make_lid(void) { return calloc(1, 48); }
KEEP char *make_pad(void) { return calloc(1, 500); }
KEEP char **make_holder(void) { return calloc(1, 40); }
KEEP char *make_shared(void) { return calloc(1, 600); }

KEEP void fill(int cells)
{
	char **tray = make_tray(), **lid = make_lid(), *pad = make_pad();
	char **one = make_holder(), **other = make_holder(), *shared = make_shared();
	struct cell **box = g_box = make_box();

	for (int i = 0; i < cells; i++) {
		struct cell *cell = make_cell();

		cell->number = i;
		cell->next = *box;
		*box = cell;
	}
	tray[0] = make_payload();
	g_inside = (char *)tray + 8;
	lid[0] = pad + 16;
	g_lid = lid;
	one[0] = shared;
	other[0] = shared + 8;
	g_one = one;
	g_other = other;
	printf("{\"box\":%lu,\"tray\":%lu,\"lid\":%lu,\"pad\":%lu,\"one\":%lu,\"other\":%lu,"
	       "\"shared\":%lu,\"payload\":%lu}\n",
	       (long)box, (long)tray, (long)lid, (long)pad, (long)one, (long)other, (long)shared,
	       (long)tray[0]);
	fflush(stdout);
}

KEEP void fill_up(void)
{
	g_filler = malloc(70 << 20);
	memset(g_filler, 'x', 70 << 20);
}

KEEP void wipe_stack(void)
{
	volatile char *bytes = alloca(20000);

	for (int i = 0; i < 20000; i++)
		bytes[i] = 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	fill(atoi(argv[1]));
	fill_up();
	wipe_stack();
	abort();
}
"""

CELLS = 2000
BOX_BYTES = 64 + CELLS * 16
FILLER_BYTES = 70 << 20
# Bytes that each block retains: interior pointers count.
BLOCKS = {"box": BOX_BYTES, "tray": 4300, "payload": 300, "lid": 548, "pad": 500, "one": 40, "other": 40, "shared": 600}
# Bytes that each root retains.
ROOTS = {"g_box": BOX_BYTES, "g_inside": 4300, "g_lid": 548, "g_one": 40, "g_other": 40, "g_filler": FILLER_BYTES}


def ask(verb, *arguments):
    return hawk.text_of(verb, core, *arguments)


def document(*arguments):
    return hawk.document("retained", core, *arguments)


def check_blocks():
    found = {int(block["address"], 16): block["retained_bytes"]
             for block in document("--by=block")["blocks"]}
    for block, sizes in BLOCKS.items():
        hawk.expect_equal(found[truth[block]], sizes, f"{block}")
    few = document("--by=block", "--size=48")["blocks"]
    hawk.expect_equal([block["retained_bytes"]
                       for block in few if int(block["address"], 16) == truth["lid"]],
                      [BLOCKS["lid"]], "with a filter")


def check_sites():
    """Checks sites' sizes: of some blocks of each site, or of all that pass."""
    everything = document()["sites"]
    hawk.expect_equal([site["retained_bytes"]["exact"] for site in everything],
                      [number < 10 for number in range(len(everything))], "exact of the first ten")
    few = document("--top=3")["sites"]
    hawk.expect_equal(few, everything[:3], "--top")
    text = ask("retained", "--full")
    hawk.expect_equal(text.count(" >="), len(everything) - 10 + 1, f"at least: {text}")
    hawk.expect(">=" not in ask("retained", "--full", "--top=100"), "--top=100: exact of all")
    hawk.expect_equal(document("--size=0-1000000000")["sites"], everything, "a filter that all pass")
    few = document("--size=48-48")["sites"]
    blocks = document("--by=block", "--size=48-48")["blocks"]
    hawk.expect(few and all(site["shallow_bytes"] == 48 * site["objects"] for site in few), "of 48 bytes each")
    hawk.expect_equal(sum(site["objects"] for site in few), len(blocks), "as many as with --by=block")
    for site in few:
        own = [block for block in blocks if block["site"] == site["site"]]
        if len(own) == 1:
            hawk.expect_equal(site["retained_bytes"]["all_pointers"], own[0]["retained_bytes"],
                              "of one block of a site")
    hawk.expect(any(site["objects"] == 1 for site in few), "there is a site with one of them")


def check_roots():
    tree = document("--by=root")["tree"]
    tops = [node for node in tree[1:] if node["parent"] == 0]
    for root, size in ROOTS.items():
        found = [node["cum_bytes"] for node in tops if node["kind"] == "root" and f"`{root}`" in node["name"]]
        hawk.expect_equal(found, [size], f"{root}")
    hawk.expect_equal([node for node in tops if node["kind"] == "lost"], [], "interior pointers hold")
    for key in ("objects", "bytes"):
        hawk.expect_equal(sum(node["cum_" + key] for node in tops), tree[0]["cum_" + key], f"{key} of all roots")
        hawk.expect_equal(sum(node["flat_" + key] for node in tree), tree[0]["cum_" + key], f"flat {key}")
    for number, node in enumerate(tree):
        below = sum(other["cum_bytes"] for child, other in enumerate(tree) if child and other["parent"] == number)
        hawk.expect_equal(node["flat_bytes"] + below, node["cum_bytes"], f"sums below {node['name']}")
    hawk.expect(document("--by=tree")["tree"] == tree, "--by=tree is the same document")


def check_chosen_roots():
    """Checks the bytes that would be freed with some blocks, by the roots that hold them."""
    everything = document("--by=root")
    hawk.expect("chosen" not in everything, "nothing was chosen")
    all_pass = document("--by=root", "--size=0-1000000000")
    hawk.expect_equal(all_pass["tree"], everything["tree"], "a filter that all pass")
    hawk.expect_equal(all_pass["chosen"], {"objects": everything["tree"][0]["cum_objects"],
                                           "bytes": everything["tree"][0]["cum_bytes"]}, "all are chosen")
    for site in document()["sites"]:
        found = document("--by=tree", "--site", site["site"])
        top = found["tree"][0]
        hawk.expect_equal(top["cum_bytes"], site["retained_bytes"]["all_pointers"], f"site {site['site']}")
        hawk.expect_equal(found["chosen"], {"objects": site["objects"], "bytes": site["shallow_bytes"]},
                          f"chosen of site {site['site']}")
        hawk.expect(all(node["cum_objects"] for node in found["tree"]),
                    "no branch without such blocks")
    for arguments, block, root in ((("--size=48-48", "--function=^make_lid$"), "lid", "`g_lid`"),
                                   (("--size=500-500", "--age=0"), "pad", "`g_lid`"),
                                   (("--function=^make_payload$",), "payload", "`g_inside`")):
        tree = document("--by=root", *arguments)["tree"]
        top = tree[0]
        hawk.expect_equal(top["cum_bytes"], BLOCKS[block], f"{arguments}")
        hawk.expect_equal([node["cum_bytes"] for node in tree[1:]
                           if node["parent"] == 0 and root in node["name"]], [BLOCKS[block]],
                          f"{arguments}: of which root")
        folded = [line.rsplit(" ", 1) for line in ask("retained", "--folded", *arguments).splitlines()]
        hawk.expect_equal(sum(int(size) for _, size in folded), BLOCKS[block], f"{arguments}: folded")


def check_texts():
    for arguments in (["--by=block"], ["--by=root"], ["--by=tree"], ["--by=tree", "--depth=3"],
                      ["--by=tree", "--size=0-1000000000"]):
        out = ask("retained", *arguments)
        hawk.expect("start only" not in out, f"{arguments}: one size")
        hawk.expect_columns(out, f"{arguments}")
    lines = [line.split() for line in ask("retained", "--by=root", "--full").splitlines()]
    hawk.expect_equal([line[:2] for line in lines if "`g_lid`" in line], [["548", "B"]],
                      "a root as text")
    lines = [line.split() for line in ask("retained", "--by=block", "--size=48").splitlines()]
    hawk.expect_equal([line[:2] for line in lines if "make_lid" in line], [["548", "B"]],
                      "a block as text")
    folded = dict(line.rsplit(" ", 1) for line in ask("retained", "--by=tree", "--folded").splitlines())
    hawk.expect_equal([size for line, size in folded.items() if line.endswith(";make_tray")], ["4000"],
                      "folded stacks")


VIEWS = ("retained --by=block -n 3", "retained --by=root", "retained --by=tree --json")
OTHERS = ("leaks --exit-code=0", "retained", "retained --by=root --size=48-600", "retained --size=48-600",
          "sql 'SELECT sum(retained), count(*) FROM blocks'", "growth", "sites", "retained --by=block --json -n 5")


def check_shell():
    """Each question before and behind each view has the answer that it has alone."""
    alone = {line: ask(*line.replace("'", "").split(" ", 1)[:1],
                       *(["SELECT sum(retained), count(*) FROM blocks"] if line.startswith("sql")
                         else line.split()[1:])) for line in (*VIEWS, *OTHERS)}
    lines = [*OTHERS]
    for view in VIEWS:
        lines += [view, *OTHERS, view, view]
    words = [hawk.CORE, "shell", core]
    done = hawk.run(words, input="\n".join(lines) + "\n")
    hawk.expect_equal(done.returncode, 0, f"shell: {done.stderr[-300:]}")
    hawk.expect_equal(done.stdout, "".join(alone[line] for line in lines), f"shell")
    for view in VIEWS:
        done = hawk.run(words, input=f"{view}\n{OTHERS[0]}\n{OTHERS[1]}\n")
        hawk.expect_equal(done.stdout, alone[view] + alone[OTHERS[0]] + alone[OTHERS[1]],
                          f"shell: {view} first")


hawk.use_debug_files()  # a session tells once that they are missing
folder = hawk.temporary_folder()
both = hawk.compile_text(folder, "both", SOURCE, flags=["-O1"])
core, crashed = hawk.crash([both, str(CELLS)], hawk.tracer_environment(), folder)
truth = json.loads(crashed.stdout)
hawk.run_checks(globals())
