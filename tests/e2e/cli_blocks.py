# SPDX-License-Identifier: Apache-2.0
"""hawk-core blocks and whatis: every block, chosen by its properties, and what lies at addresses."""


from support import cli_world, hawk

KEYS = ["address", "size", "state", "site", "age_seconds", "kind", "type"]


def whatis(*addresses, options=()):
    document = hawk.parse(hawk.text_of("whatis", "--json", *options, core, *(
        address if isinstance(address, str) else hex(address) for address in addresses)))
    hawk.expect_equal((document["schema"], document["version"]), ("hawk-core/whatis", 3), "schema")
    return document["addresses"]


def check_contract():
    for block in everything:
        hawk.expect_equal(list(block), KEYS, "keys")
        hawk.expect(block["address"].startswith("0x") and block["state"] == "live" and
                    len(block["site"]) == 16 and isinstance(block["size"], int) and
                    block["age_seconds"] >= 0, f"block {block}")
    addresses = [int(block["address"], 16) for block in everything]
    hawk.expect_equal(addresses, sorted(set(addresses)), "order of addresses")


def check_filters():
    for size, low, high in (("1k", 1024, None), ("24-24", 24, 24), ("-30", 0, 30),
                            ("20-300k", 20, 307200)):
        hawk.expect_equal(hawk.blocks(core, "--size", size),
                          [block for block in everything if block["size"] >= low and
                           (high is None or block["size"] <= high)], f"--size {size}")
    hawk.expect_equal(hawk.blocks(core, "--age", "1d"), [], "--age 1d")
    hawk.expect_equal(hawk.blocks(core, "--age", "-1d"), everything, "--age -1d")
    small = hawk.blocks(core, "--function", "^make_small$")
    hawk.expect_equal((len(small), {block["size"] for block in small}), (1000, {24}), "--function")
    hawk.expect_equal({block["kind"] for block in small}, {"malloc"}, "kind of malloc")
    kinds = {function: {block["kind"] for block in hawk.blocks(core, "--function", function)}
             for function in ("make_large", "make_node")}
    hawk.expect_equal(kinds, {"make_large": {"calloc"}, "make_node": {"new"}}, "kinds")
    inside = hawk.blocks(core, "--module", "/world$")
    hawk.expect(len(inside) >= 1053, "--module of the program")
    hawk.expect_equal(hawk.blocks(core, "--module", "/no-such-module$"), [], "--module of none")
    hawk.expect_equal(hawk.blocks(core, "--function", "make_small", "--size", "25-"), [],
                      "filters together")


def check_text():
    lines = hawk.text_of("blocks", core).splitlines()
    hawk.expect_equal(lines[0].split(), KEYS, "heading")
    hawk.expect_equal(len(lines) - 1, len(everything), "lines")
    for line, block in zip(lines[1:], everything):
        fields = line.split()
        hawk.expect_equal((int(fields[0], 16), int(fields[1]), *fields[2:4], fields[5]),
                          (int(block["address"], 16), block["size"], block["state"],
                           block["site"], block["kind"]), "a line")


def check_top():
    """The largest, of one size the oldest as far as two digits of the age tell."""
    for top, options in ((1, ()), (3, ()), (1005, ()), (20, ("--size", "-100")), (len(everything) + 9, ())):
        passing = hawk.blocks(core, *options)
        found = hawk.blocks(core, "--top", str(top), *options)
        hawk.expect_equal([block["size"] for block in found],
                          sorted((block["size"] for block in passing), reverse=True)[:top], f"--top {top}: sizes")
        hawk.expect({block["address"] for block in found} <= {block["address"] for block in passing}, "of these")
        keys = [(-block["size"], -block["age_seconds"]) for block in found]
        hawk.expect_equal(keys, sorted(keys), f"--top {top}: order")
        for size in {block["size"] for block in found}:
            left = [block["age_seconds"] for block in passing if block["size"] == size and block not in found]
            hawk.expect(not left or max(left) <= min(block["age_seconds"] for block in found if block["size"] == size),
                        f"--top {top}: the oldest of {size} bytes")
        lines = hawk.text_of("blocks", core, "--top", str(top), *options).splitlines()
        hawk.expect_equal(lines[-1], f"{len(found):,} of {len(passing):,} blocks, largest first, then oldest", "last line")
        hawk.expect_equal([int(line.split()[0], 16) for line in lines[1:-1]],
                          [int(block["address"], 16) for block in found], f"--top {top} as text")
    hawk.expect_equal(sorted(hawk.blocks(core, "--top", "1000000"), key=lambda block: int(block["address"], 16)),
                      everything, "more than there are")
    hawk.expect_equal(hawk.blocks(core, "--top", "5", "--age", "1d"), [], "of none")


def check_whatis_places():
    table, stack, nothing = whatis(places["table"] + 8, places["stack"], "10")
    hawk.expect_equal((table["module"]["symbol"], table["module"]["symbol_offset"]), ("table", 8),
                      "symbol")
    hawk.expect(table["module"]["path"].endswith("/world") and table["block"] is None, "module")
    analysis = hawk.analyze(core)
    waiting = [thread["tid"] for thread in analysis["process"]["threads"] if not thread["crashed"]]
    hawk.expect_equal(stack["thread"]["tid"], waiting[0], "thread")
    hawk.expect(not stack["thread"]["dead_part"], "live part of the stack")
    hawk.expect("wait_forever" in (stack["thread"]["frames"][0]["function"] or ""),
                f"frame: {stack['thread']['frames']}")
    dead = whatis(places["stack"] - 4096)[0]
    hawk.expect_equal(dead["thread"]["dead_part"], True, "below the stack pointer")
    hawk.expect_equal([nothing[key] for key in ("block", "thread", "module", "mapping")],
                      [None] * 4, "nothing")
    code = analysis["process"]["threads"][0]["frames"][0]
    found = whatis(code["address"])[0]
    hawk.expect(found["module"]["path"] == code["module"] and found["mapping"]["execute"], "code")


def check_whatis_text():
    text = hawk.text_of("whatis", core, hex(places["large"] + 5), hex(places["table"]),
                   hex(places["stack"]), "10")
    for wanted in ("byte 5 of the live block", "300,000 bytes, from calloc", "make_large",
                   "symbol table + 0", "stack of thread", "wait_forever", "nothing: not mapped"):
        hawk.expect(wanted in text, f"no {wanted!r} in {text!r}")
    hawk.expect_columns(text, "whatis", 100)


DEAD = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void *make(void) { return malloc(5000); }
int main(void)
{
	void *volatile freed = make(), *volatile kept = make();
	printf("freed %p\nkept %p\n", freed, kept);
	fflush(stdout);
	free(freed);
	abort();
}
"""


def check_whatis_dead():
    """jemalloc leaves the header of a freed block alone: its stack is still known."""
    allocator = hawk.need_allocator("jemalloc")
    program = hawk.compile_text(folder, "dead", DEAD, flags=["-O1"])
    dead_core, found = cli_world.crash(folder, program=program,
                                       environment=hawk.tracer_environment(allocator))
    done = hawk.run([hawk.CORE, "whatis", "--json", dead_core, hex(found["freed"] + 100),
                     hex(found["kept"])])
    freed, kept = (address["block"] for address in hawk.parse(done.stdout)["addresses"])
    hawk.expect_equal((freed["state"], freed["address"]), ("dead", hex(found["freed"])), "freed")
    hawk.expect_equal(freed["frames"][0]["function"], "make", "its stack")
    hawk.expect("size" not in freed, "its size is gone")
    hawk.expect_equal((kept["state"], kept["size"]), ("live", 5000), "kept")


folder = hawk.temporary_folder()
core, places = cli_world.crash(folder)
everything = hawk.blocks(core)
hawk.run_checks(globals())
