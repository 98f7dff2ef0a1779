# SPDX-License-Identifier: Apache-2.0
"""Stacks begin where the program's own code does, and no two listed sites look the same."""

import re
import subprocess

from support import hawk

SOURCE = r"""
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <vector>

#define OWN extern "C" __attribute__((noinline))
struct Node { char text[40]; };
static void *volatile kept[4096];
static volatile int used;

OWN void *zmalloc(size_t size) { void *block = malloc(size); kept[used++] = block; return block; }
OWN void *zcalloc(size_t size) { void *block = calloc(1, size); kept[used++] = block; return block; }
OWN void *sdsnewlen(size_t size) { void *block = zmalloc(size); kept[used++] = block; return block; }
OWN void make_key(void) { kept[used++] = sdsnewlen(1000); }
static std::vector<Node> nodes;
static std::shared_ptr<Node> shared;
namespace shop {
struct Button { virtual ~Button() {} int x; };
}
static std::shared_ptr<shop::Button> button;
static shop::Button *plain;
OWN void make_buttons(void)
{
	button = std::make_shared<shop::Button>();
	plain = new shop::Button;
	printf("shared %p plain %p\n", (void *)button.get(), (void *)plain);
	fflush(stdout);
}
OWN void scatter(void) // as garbage collectors do: pieces with gaps between them
{
	char *all = (char *)mmap(nullptr, 40 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 40; i += 2) {
		munmap(all + ((i + 1) << 16), 1 << 16);
		*(void **)(all + (i << 16)) = malloc(100);
	}
}
OWN void make_vector(void) { nodes.resize(100); }
OWN void make_shared(void) { shared = std::make_shared<Node>(); }
OWN void make_both(void) { kept[used++] = new std::vector<Node>(200); }
OWN void two_lines(void)
{
	kept[used++] = zmalloc(2000); kept[used++] = zmalloc(2001);
}
OWN void two_wrappers(void) { kept[used++] = zmalloc(3000); kept[used++] = zcalloc(3001); }
OWN void leaf(int size) { kept[used++] = zmalloc(size); }
OWN void f1(int size) { leaf(size); used = used; }
OWN void f2(int size) { f1(size); used = used; }
OWN void f3(int size) { f2(size); used = used; }
OWN void f4(int size) { f3(size); used = used; }
OWN void f5(int size) { f4(size); used = used; }
OWN void f6(int size) { f5(size); used = used; }
#define HIDDEN static __attribute__((noinline, noclone))
HIDDEN void hidden1(int size) { kept[used++] = malloc(size); }
HIDDEN void hidden2(int size) { hidden1(size); used = used; }
HIDDEN void hidden3(int size) { hidden2(size); used = used; }
HIDDEN void hidden4(int size) { hidden3(size); used = used; }
HIDDEN void hidden5(int size) { hidden4(size); used = used; }
HIDDEN void hidden6(int size) { hidden5(size); used = used; }
OWN void visible(int size) { hidden6(size); used = used; }
OWN void command_get(void) { f6(4000); used = used; }
OWN void command_set(void) { f6(4001); used = used; }

int main()
{
	make_key();
	make_vector();
	make_shared();
	make_both();
	scatter();
	make_buttons();
	two_lines();
	two_wrappers();
	command_get();
	command_set();
	visible(5000);
	abort();
}
"""

SITE = re.compile(r"^ +(?:\d+ )?.*\b([0-9a-f]{16})\b.*\n((?: {6}[^ ].*\n)*)", re.M)


def listed(core, *arguments):
    """{site: its lines} as a verb lists them."""
    done = hawk.run([hawk.CORE, *arguments, core])
    hawk.expect(done.returncode in (0, 4), f"{arguments}: {done.returncode} {done.stderr}")
    return {site: lines for site, lines in SITE.findall(done.stdout) if lines}


def check_looks(core, what):
    for arguments in (["analyze", "--sort=size", "--top=20"], ["analyze", "--sort=count", "--depth=1", "--top=30"],
                      ["retained", "--top=20"], ["growth", "--top=20"]):
        sites = listed(core, *arguments)
        hawk.expect(len(sites) >= 7, f"{what}, {arguments}: {len(sites)} sites")
        looks = {}
        for site, lines in sites.items():
            lines = lines.split("\n")
            own = "\n".join(lines[:-1] if arguments[0] != "growth" else  # the reasons, which are prose
                            [line for line in lines if re.search(r"  \S+$", line)])
            hawk.expect(own not in looks, f"{what}, {arguments}: {site} looks as {looks.get(own)}:\n{own}")
            looks[own] = site
    return listed(core, "analyze", "--sort=size", "--top=20")


def lines_of(sites, function):
    return [lines for lines in sites.values() if lines.lstrip().startswith(function)]


def check_first_frames(sites):
    texts = "".join(sites.values())
    hawk.expect(re.search(r"^ +make_key \(\+2 wrappers\) ", texts, re.M), f"make_key behind sdsnewlen: {texts}")
    hawk.expect(re.search(r"^ +make_vector \(\+\d+ wrappers\) ", texts, re.M), "a vector belongs to who makes it")
    hawk.expect(re.search(r"^ +make_shared \(\+\d+ wrappers\) ", texts, re.M), "make_shared() as well")
    deep = lines_of(sites, "leaf (+1 wrapper)")
    hawk.expect_equal(len(deep), 2, "sites of leaf")
    for lines in deep:
        hawk.expect("... 3 frames ..." in lines and ("command_get" in lines) != ("command_set" in lines),
                    f"what tells them apart is shown: {lines}")
    hawk.expect_equal(len(lines_of(sites, "two_lines (+1 wrapper)")), 2, "two calls on a line")
    for lines in lines_of(sites, "two_lines"):
        hawk.expect(re.search(r"two_lines .*\+0x[0-9a-f]+ ", lines), f"their addresses are shown: {lines}")
    both = [lines.split()[0] for lines in sites.values() if "make_both" in lines]
    hawk.expect(len(both) == 2 and "make_both" in both and any(name.startswith("std::vector<") for name in both),
                f"a vector and its array, made in one line: {both}")
    wrappers = {lines.split()[0] for lines in sites.values() if "two_wrappers" in lines}
    hawk.expect_equal(wrappers, {"zmalloc", "zcalloc"}, "wrappers where only they tell")


def check_full(core):
    done = hawk.run([hawk.CORE, "analyze", "--full", core])
    hawk.expect(re.search(r"  sdsnewlen  .*\n.*  make_key  ", done.stdout),
                "--full shows every frame")


def check_groups(core):
    groups = {group["name"]: group for group in hawk.analyze(core, "--by=function")["groups"]}
    hawk.expect_equal(groups["make_key"]["flat"]["inuse_bytes"], 1000, "flat is counted behind wrappers")
    hawk.expect("zmalloc" not in groups, "a wrapper owns nothing")
    for by in ("function", "file", "module"):
        found = hawk.analyze(core, "--by", by, "--sort", "cum")["groups"]
        hawk.expect_equal([group["cum"]["inuse_bytes"] for group in found],
                          sorted((group["cum"]["inuse_bytes"] for group in found), reverse=True), f"cum by {by}")
    text = hawk.run([hawk.CORE, "analyze", "--by=function", "--sort=cum", "--top=40", core]).stdout
    order = [text.find(f" {name}  shop\n") for name in ("main", "f6", "command_set", "make_key")]
    hawk.expect(order == sorted(order) and order[0] > 0 and "zmalloc" not in text, f"order by cum: {order} {text}")
    done = hawk.run([hawk.CORE, "analyze", "--sort=cum", core])
    hawk.expect_equal((done.returncode, "--sort cum needs --by" in done.stderr), (2, True), "--sort=cum without --by")


def check_types(core, output):
    shared, plain = (re.search(rf"{name} (0x[0-9a-f]+)", output).group(1) for name in ("shared", "plain"))
    types = [block["type"] for block in hawk.blocks(core, "--function=make_buttons", "--size=-100")]
    hawk.expect_equal(sorted(type.partition("<")[0] for type in types), ["shop::Button", "std::_Sp_counted_ptr_inplace"],
                      "types in blocks --json")
    for verb, pattern in (("whatis", "^  type shop::Button$"), ("path", r" \[shop::Button\]$"), ("refs", r" \[shop::Button\]$")):
        for address in (shared, plain):
            text = hawk.run([hawk.CORE, verb, core, address]).stdout
            hawk.expect(re.search(pattern, text, re.M), f"type in {verb} {address}: {text}")
    text = hawk.run([hawk.CORE, "blocks", "--function=make_buttons", core]).stdout
    hawk.expect_equal(len(re.findall(r"  shop::Button$", text, re.M)), 2, f"types in blocks: {text}")
    document = hawk.parse(hawk.run([hawk.CORE, "whatis", "--json", core, plain]).stdout)
    hawk.expect_equal(document["addresses"][0]["block"]["type"], "shop::Button", "type in whatis --json")


def check_roots(core):
    """Pieces of anonymous memory are one root, without an address, which no other run would have."""
    parsed = hawk.document("merge-paths", "--function=scatter", core)
    roots = [node["name"] for node in parsed["tree"] if node["kind"] in ("root", "several")]
    hawk.expect_equal(roots, ["anonymous memory"], "roots")


def main():
    folder = hawk.temporary_folder()
    program = hawk.compile_text(folder, "shop", SOURCE, "g++", ["-O1", "-rdynamic"])
    core, done = hawk.crash([program], hawk.tracer_environment(), folder)
    check_first_frames(check_looks(core, "with debug information"))
    check_full(core)
    check_groups(core)
    check_types(core, done.stdout)
    check_roots(core)
    subprocess.run([hawk.need("strip"), program], check=True)
    sites = check_looks(core, "stripped")
    hawk.expect(any("... 2 frames ...\n      visible " in lines for lines in sites.values()),
                f"a name where none is near: {sites.values()}")
    hawk.finish()


main()
