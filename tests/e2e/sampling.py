# SPDX-License-Identifier: Apache-2.0
"""sample=: totals are those of an exact run, every block is found, and the figures of sites lie within
their predicted errors. Limits are six standard errors: chance fails this less than once in 10^8."""

import collections
import os

from support import hawk

FUNCTIONS = ("make_small", "make_medium", "make_huge", "make_empty", "make_grown",
             "make_temporary")
FIELDS = ("inuse_objects", "inuse_bytes", "alloc_objects", "alloc_bytes")


def by_function(analysis):
    sums = {name: collections.Counter() for name in FUNCTIONS}
    for site in analysis["sites"]:
        owner = next((name for name in hawk.functions_of(site) if name in sums), None)
        if not owner:
            continue
        for field in FIELDS:
            sums[owner][field] += site[field]
        for field, value in site.get("sample", {}).items():
            if field.endswith("_error"):  # of independent choices
                sums[owner][field] = (sums[owner][field] ** 2 + value ** 2) ** 0.5
            else:
                sums[owner]["sampled_" + field] += value
    return sums


def near(found, wanted, error, what):
    hawk.expect(abs(found - wanted) <= 6 * error + 1,
                f"{what}: found {found}, wanted {wanted} +- {error:.0f}")


def check(exact, sampled, mean, what):
    for field in (*FIELDS, "free_objects", "free_bytes"):
        hawk.expect_equal(sampled["heap"][field], exact["heap"][field], f"{what}: total {field}")
    hawk.expect_equal(sampled["heap"]["sites_estimated"], True, f"{what}: says so")
    hawk.expect_equal(sampled["heap"]["sample_mean_bytes"], mean, f"{what}: mean")
    hawk.expect_equal(exact["heap"]["sites_estimated"], False, "an exact run says so")
    truth, estimates = by_function(exact), by_function(sampled)
    for name in FUNCTIONS:
        wanted, found = truth[name], estimates[name]
        for field in ("inuse_bytes", "inuse_objects", "alloc_bytes"):
            # The error that the truth predicts is that of the report, where that saw anything.
            error = max(found[field + "_error"],
                        (mean * wanted["inuse_bytes"]) ** 0.5 if field == "inuse_bytes" else
                        (mean * wanted["inuse_objects"]) ** 0.5 if field == "inuse_objects" else
                        (mean * wanted["alloc_bytes"]) ** 0.5 if name != "make_huge" else 0)
            if name == "make_huge" and field == "inuse_bytes":
                error = 0  # far larger than the mean: each is sampled, and stands for itself
            near(found[field], wanted[field], error, f"{what}: {field} of {name}")
        hawk.expect(found["sampled_alloc_bytes"] <= found["alloc_bytes"],
                    f"{what}: the sample of {name} is larger than the whole")
    hawk.expect_equal(estimates["make_huge"]["sampled_inuse_objects"], 16,
                      f"{what}: huge blocks sampled")


def check_screen(core):
    done = hawk.run([hawk.CORE, "analyze", core])
    for text in ("Sites are estimates", "estimate +-", "sampled blocks"):
        hawk.expect(text in done.stdout, f"the screen does not say {text!r}")
    hawk.expect("no stack" not in done.stdout, "blocks that were not sampled have no stack")
    hawk.expect(all(len(line) <= 80 for line in done.stdout.splitlines()), "more than 80 columns")
    block = next(b for b in hawk.blocks(core) if b["site"] == "0000000000000002")
    done = hawk.run([hawk.CORE, "whatis", core, block["address"]])
    hawk.expect("not sampled" in done.stdout, f"whatis says {done.stdout!r}")


def sql(core, query):
    return list(hawk.sql(core, query)[0].values())


def check_folds(core, analysis):
    """Folds over blocks are of the blocks that there are; estimates are told, and counted once."""
    heap = analysis["heap"]
    objects, size, sampled = sql(core, "SELECT count(*), sum(size), "
                                 "sum(site <> '0000000000000002') FROM blocks")
    hawk.expect_equal((objects, size), (heap["inuse_objects"], heap["inuse_bytes"]), "blocks")
    estimates = sum(site["inuse_bytes"] for site in analysis["sites"] if "sample" in site)
    hawk.expect_equal(sql(core, "SELECT sum(inuse_bytes) FROM sites WHERE estimated"), [estimates],
                      "estimates")
    total, = sql(core, "SELECT sum(inuse_bytes) FROM sites")
    hawk.expect(0.8 * size <= total <= 1.2 * size, f"sites have {total} of {size} bytes")
    hawk.expect_equal(sql(core, "SELECT sum(objects), sum(shallow_bytes) FROM retained"),
                      [objects, size], "retained of sites")
    for verb in ("retained", "sites"):
        text = hawk.run([hawk.CORE, verb, core]).stdout
        hawk.expect("Stacks are sampled" in text, f"{verb} does not say what is sampled")
        hawk.expect(all(len(line) <= 80 for line in text.splitlines()), f"{verb}: wide")
        found = hawk.document(verb, core)
        count = "objects" if verb == "retained" else "inuse_objects"
        hawk.expect_equal(sum(site[count] for site in found["sites"]), sampled, f"{verb}: blocks")
        hawk.expect_equal(found["sampled"]["other_objects"], objects - sampled, f"{verb}: others")
    tree = hawk.document("merge-paths", core)["tree"]
    hawk.expect_equal((tree[0]["cum_objects"], tree[0]["cum_bytes"]), (objects, size), "paths")
    hawk.expect_equal({node["name"] for node in tree if node["site"] == "0000000000000002"},
                      {"(not sampled)"}, "the name of what was not sampled")


def run(program, folder, options):
    core, _ = hawk.crash([program], hawk.tracer_environment(options=options), folder)
    return core, core and hawk.analyze(core)


FOLDER = hawk.temporary_folder()
PROGRAM = hawk.compile_program(os.path.join(FOLDER, "sampled"), ["sampled.c"], "gcc", ["-O1"])
_, EXACT = run(PROGRAM, FOLDER, None)
for text, size in (("16k", 16 << 10), ("128k", 128 << 10)):
    CORE, SAMPLED = run(PROGRAM, FOLDER, f"sample={text}")
    if EXACT and SAMPLED:
        check(EXACT, SAMPLED, size, f"sample={text}")
        check_screen(CORE)
        check_folds(CORE, SAMPLED)
    os.unlink(CORE)
hawk.finish()
