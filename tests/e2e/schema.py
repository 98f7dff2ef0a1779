# SPDX-License-Identifier: Apache-2.0
"""schema, on a program that knows its structs, overwrites some of them, and says which."""

import re
import subprocess

from support import hawk

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#define KEEP __attribute__((noinline))

struct Base {
	virtual ~Base() {}
	long number;
};
struct Shape : Base { long sides; };
struct Blob : Base { long weight; };

typedef long handler(long);
extern "C" KEEP long on_read(long x) { return x + 1; }
extern "C" KEEP long on_write(long x) { return x + 2; }

struct Record {
	Record *next;        // 0
	Record *to_middle;   // 8: into a record
	handler *call;       // 16: on_read or on_write
	const char *label;   // 24: text in .data
	int *place;          // 32: .data
	char name[16];       // 40
	long state;          // 56: one of 0, 1, 2, 7
	long large;          // 64: 1000 .. 1000 + n
	double ratio;        // 72
	void *unused;        // 80
	int pair[2];         // 88
};
struct Element { Record *record; long key; double value; };
struct Row { Base *base; long id; };

extern "C" KEEP Record *make_record(void) { return (Record *)calloc(1, sizeof(Record)); }
extern "C" KEEP Element *make_table(int n) { return (Element *)calloc(n, sizeof(Element)); }
extern "C" KEEP Row *make_rows(int n) { return (Row *)calloc(n, sizeof(Row)); }
extern "C" KEEP char *make_text(int n) { return (char *)malloc(n); }
extern "C" KEEP Base *make_base(int i) { return i % 4 ? (Base *)new Shape : (Base *)new Blob; }

static char g_label[] = "the label of a record";
static int g_places[4] = {1, 2, 3, 4};
Record *g_records[2000];
Element *g_table;
Row *g_rows[300];
Base *g_bases[400];
char *g_texts[500];

int main(int argc, char **argv)
{
	static const long states[] = {0, 1, 2, 7};
	int bad = argc > 1 && !strcmp(argv[1], "bad");

	for (int i = 0; i < 2000; i++)
		g_records[i] = make_record();
	for (int i = 0; i < 2000; i++) {
		Record *record = g_records[i];
		record->next = i ? g_records[i - 1] : nullptr;
		record->to_middle = (Record *)&g_records[(i + 7) % 2000]->state;
		record->call = i % 10 ? on_read : on_write;
		record->label = g_label;
		record->place = &g_places[2];
		snprintf(record->name, sizeof(record->name), "name-%d", i);
		record->state = states[i % 4];
		record->large = 1000 + i;
		record->ratio = 1.0 / (i + 3);
		record->pair[0] = i + 1;
		record->pair[1] = -i - 1;
	}
	g_table = make_table(1000);
	for (int i = 0; i < 700; i++)
		g_table[i] = Element{g_records[i], i * 3 + 1, 0.1 * (i + 1)};
	for (int i = 0; i < 400; i++) {
		g_bases[i] = make_base(i);
		g_bases[i]->number = i + 1;
	}
	for (int i = 0; i < 300; i++) { // arrays of many sizes
		int n = 20 + i % 30;
		g_rows[i] = make_rows(n);
		for (int k = 0; k < n; k++)
			g_rows[i][k] = Row{g_bases[4 * k + 1], k + 1};
	}
	for (int i = 0; i < 500; i++) {
		g_texts[i] = make_text(40);
		memset(g_texts[i], 0, 40);
		memset(g_texts[i], 'a' + i % 20, 5 + i % 20);
	}
	if (bad) {
		g_records[11]->next = (Record *)0x4242424242424242;   // text over a pointer
		g_records[22]->call = (handler *)0x7;                 // a number over code
		g_records[33]->large = (long)g_records[5];            // a pointer over a number
		memset(&g_records[44]->to_middle, 0xee, 24);          // three words of nothing
		*(long *)g_bases[50] = 0;                             // an object without its table
		g_table[321].record = (Record *)12345;
	}
	printf("{\"records\":[%lu,%lu,%lu,%lu],\"base\":%lu,\"table\":%lu}\n", (long)g_records[11],
	       (long)g_records[22], (long)g_records[33], (long)g_records[44], (long)g_bases[50],
	       (long)g_table);
	fflush(stdout);
	if (argc > 2)
		for (;;)
			pause();
	abort();
}
"""

RECORDS = 2000


def text_of(*arguments):
    return hawk.text_of("schema", *arguments)


def document(core, site, *arguments):
    return hawk.document("schema", *([core] if core else []), site, *arguments)


def sites_of(core, *arguments):
    """By function: the ids, the most bytes first."""
    sites = {}
    for site in hawk.analyze(core, *arguments)["sites"] if core else []:
        if site["frames"] and site["inuse_objects"]:
            name = hawk.plain_name(site["frames"][0]["function"] or "")
            if name.startswith("operator new"):
                name = hawk.plain_name(site["frames"][1]["function"] or "")
            sites.setdefault(name, []).append(site["site"])
    return sites


def tally(word):
    return {(value["class"], value["name"]): value["count"] for value in word["values"]}


def by_class(word):
    counts = {}
    for value in word["values"]:
        counts[value["class"]] = counts.get(value["class"], 0) + value["count"]
    return counts


def check_record(core, site):
    parsed = document(core, site)
    hawk.expect_equal((parsed["objects"], parsed["bytes"], len(parsed["groups"])),
                      (RECORDS, RECORDS * 96, 1), "records")
    group = parsed["groups"][0]
    words = {word["offset"]: word for word in group["words"]}
    hawk.expect_equal(sorted(words), list(range(0, 96, 8)), "offsets")
    hawk.expect(all(sum(tally(word).values()) == word["count"] == RECORDS
                    for word in words.values()), "all are counted")
    for offset, classes in (
            (0, {"block": RECORDS - 1, "null": 1}), (8, {"interior": RECORDS}),
            (16, {"code": RECORDS}), (24, {"string": RECORDS}), (32, {"data": RECORDS}),
            (40, {"text": RECORDS}), (56, {"null": 500, "integer": 1500}),
            (64, {"integer": RECORDS}), (80, {"null": RECORDS}),
            (88, {"integers": RECORDS})):
        hawk.expect_equal(by_class(words[offset]), classes, f"+{offset}")
    hawk.expect(by_class(words[72])["double"] >= 0.99 * RECORDS, "doubles; few look like text")
    hawk.expect_equal({value["site"] for value in words[0]["values"] if value["site"]}, {site},
                      "a list of its own kind")
    calls = {name.split("`")[1].split("(")[0]: count
             for (_, name), count in tally(words[16]).items()}
    hawk.expect_equal(calls, {"on_read": 1800, "on_write": 200}, "functions")
    hawk.expect('"the label of a record"' in words[24]["values"][0]["name"], "the label")
    hawk.expect("g_places" in words[32]["values"][0]["name"], "a place in .data")
    hawk.expect_equal((words[40]["text_min"], words[40]["text_max"]), (6, 9), "lengths of names")
    hawk.expect_equal({value["value"]: value["count"] for value in words[56]["values"]
                       if value["class"] == "integer"}, {1: 500, 2: 500, 7: 500}, "states")
    hawk.expect_equal((words[64]["integer_min"], words[64]["integer_max"]), (1000, 2999), "range")
    hawk.expect_equal((group["outlier_count"], group["outliers"]), (0, []), "all of them fit")


def check_objects(core, sites):
    names = set()
    for site in sites["make_base"]:
        group = document(core, site)["groups"][0]
        first = tally(group["words"][0])
        names |= {(name, count) for (kind, name), count in first.items() if kind == "vtable"}
        hawk.expect_equal(group["outlier_count"], 0, "objects fit")
    hawk.expect_equal(names, {("vtable of Shape", 300), ("vtable of Blob", 100)}, "classes")


def check_arrays(core, sites):
    group = document(core, sites["make_table"][0])["groups"][0]
    hawk.expect_equal((group["element_bytes"], [word["count"] for word in group["words"]]),
                      (24, [1000] * 3), "elements")
    hawk.expect_equal([by_class(word) for word in group["words"][:2]],
                      [{"block": 700, "null": 300}, {"integer": 700, "null": 300}], "an element")
    hawk.expect(by_class(group["words"][2])["double"] >= 0.98 * 700, "doubles of elements")
    parsed = document(core, sites["make_rows"][0])
    group = parsed["groups"][0]
    elements = sum(20 + i % 30 for i in range(300))
    hawk.expect_equal((len(parsed["groups"]), group["size_min"], group["size_max"],
                       group["element_bytes"], [word["count"] for word in group["words"]]),
                      (1, 320, 784, 16, [elements] * 2), "arrays of many sizes")
    hawk.expect_equal(group["words"][1]["integer_max"], 49, "ids of rows")
    one = document(core, sites["make_rows"][0], "--size", "320-320")
    hawk.expect_equal((one["objects"], one["groups"][0]["size_max"]), (10, 320), "--size")
    text = document(core, sites["make_text"][0])["groups"][0]["words"][0]
    hawk.expect_equal((text["text_min"], text["text_max"]), (5, 24), "text across words")


def check_outliers(core, truth, sites):
    found = {int(outlier["address"], 16): outlier
             for outlier in document(core, sites["make_record"][0])["groups"][0]["outliers"]}
    hawk.expect_equal(set(found), set(truth["records"]), "overwritten records")
    wrong = [[(word["offset"], word["class"]) for word in found[address]["words"]]
             for address in truth["records"]]
    hawk.expect_equal(wrong, [[(0, "text")], [(16, "integer")], [(64, "block")],
                              [(8, "other"), (16, "other"), (24, "other")]], "what does not fit")
    order = [outlier["bits"] for outlier in document(core, sites["make_record"][0])["groups"][0]
             ["outliers"]]
    hawk.expect_equal((order, order[0]), (sorted(order, reverse=True),
                                          found[truth["records"][3]]["bits"]), "the worst first")
    bases = [outlier["address"] for site in sites["make_base"]
             for outlier in document(core, site)["groups"][0]["outliers"]]
    hawk.expect_equal([int(address, 16) for address in bases], [truth["base"]], "no virtual table")
    table = document(core, sites["make_table"][0])["groups"][0]["outliers"]
    hawk.expect_equal([(int(outlier["address"], 16), outlier["words"][0]["offset"])
                       for outlier in table], [(truth["table"], 321 * 24)], "an element")
    text = text_of(core, sites["make_record"][0])
    for words in ("4 blocks do not fit", hex(truth["records"][0]), "-> make_record", "vtable"):
        hawk.expect(words in text or words == "vtable", f"{words!r} in {text}")


def check_text(core, sites):
    for name in ("make_record", "make_table", "make_rows", "make_text", "make_base"):
        text = text_of(core, sites[name][0])
        hawk.expect_columns(text, f"{name}")
        hawk.expect_equal(text_of(core, sites[name][0], "--threads", "1"), text, "any threads")
    hawk.expect(re.search(r"elements of 24 bytes", text_of(core, sites["make_table"][0])), "said")


def check_type_of_all_sites(core):
    """--type chooses blocks of all sites, where none is named."""
    done = hawk.run([hawk.CORE, "schema", "--json", "--type=.", core])
    found = hawk.parse(done.stdout)
    of_type = hawk.blocks(core, "--type=.")
    hawk.expect_equal((done.returncode, found["site"], found["objects"], found["frames"]),
                      (0, None, len(of_type), []), "all blocks of a type")
    hawk.expect(of_type and found["groups"], "there are some")
    text = text_of("--type=.", core)
    hawk.expect("Blocks of all sites, of types that match ." in text and "vtable" in text, text[:300])


def check_mistakes(core, sites):
    for arguments in ([core], [core, "xyz"], [core, "1234567812345678"],
                      [core, sites["make_record"][0], "--type", "("],
                      [core, sites["make_record"][0], "--top", "1000"]):
        done = hawk.run([hawk.CORE, "schema", *arguments])
        hawk.expect_equal((done.returncode, len(done.stderr.splitlines())), (2, 1), str(arguments))
    none = document(core, sites["make_record"][0], "--size", "5-5")
    hawk.expect_equal((none["objects"], none["groups"]), (0, []), "no such blocks")


def check_live(program, site):
    process = hawk.spawn([program, "good", "wait"], env=hawk.tracer_environment(), cwd=folder,
                         stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    parsed = document(None, site, "--pid", str(process.pid))
    hawk.expect_equal(by_class(parsed["groups"][0]["words"][2]), {"code": RECORDS}, "live")


folder = hawk.temporary_folder()
binary = hawk.compile_text(folder, "structs", SOURCE, "g++", ["-O1"])
good, _ = hawk.crash([binary, "good"], hawk.tracer_environment(), folder)
bad, said = hawk.crash([binary, "bad"], hawk.tracer_environment(), folder)
known = sites_of(good)
check_record(good, known["make_record"][0])
check_objects(good, known)
check_arrays(good, known)
check_outliers(bad, hawk.parse(said.stdout), sites_of(bad))
check_text(good, known)
check_text(bad, known)
check_type_of_all_sites(good)
check_mistakes(good, known)
check_live(binary, known["make_record"][0])
hawk.finish()
