# SPDX-License-Identifier: Apache-2.0
"""Questions to one core: filters, orders and groups agree with the plain answer, whatis with blocks,
text with JSON; and the JSON has the keys and types that docs/json.md and its schema promise."""

import json
import os
import re

from support import hawk


def check_contract():
    hawk.expect_equal((plain["schema"], plain["version"]), ("hawk-core/analyze", 3), "schema")
    heap = plain["heap"]
    hawk.expect_equal(heap["inuse_objects"], len(blocks), "blocks")
    hawk.expect_equal(heap["inuse_bytes"], sum(block["size"] for block in blocks), "bytes")
    addresses = [int(block["address"], 16) for block in blocks]
    hawk.expect_equal(addresses, sorted(addresses), "order of blocks")


def check_sites():
    by_site = {}
    for block in blocks:
        count, size = by_site.get(block["site"], (0, 0))
        by_site[block["site"]] = (count + 1, size + block["size"])
    live = {site["site"]: (site["inuse_objects"], site["inuse_bytes"])
            for site in plain["sites"] if site["inuse_objects"]}
    hawk.expect_equal(live, by_site, "sites and blocks")
    for option, key in (("size", "inuse_bytes"), ("count", "inuse_objects"),
                        ("total", "alloc_bytes")):
        values = [site[key] for site in hawk.analyze(core, "--sort", option)["sites"]]
        hawk.expect_equal(values, sorted(values, reverse=True), f"--sort {option}")
    top = hawk.analyze(core, "--top", "3")["sites"]
    hawk.expect_equal([site["site"] for site in top],
                      [site["site"] for site in plain["sites"][:3]], "--top 3")
    least = plain["sites"][4]["inuse_bytes"]
    found = hawk.analyze(core, "--min-bytes", str(least))["sites"]
    hawk.expect_equal({site["site"] for site in found},
                      {site["site"] for site in plain["sites"] if site["inuse_bytes"] >= least},
                      "--min-bytes")


def has(site, pattern):
    return any(re.search(pattern, frame.get(key) or "") for frame in site["frames"]
               for key in ("function", "file", "module"))


def check_filters():
    for option, wanted in (("--focus", True), ("--ignore", False)):
        for pattern in ("catalog", "^audit_record_create$", "receipt\\.c", "libstdc"):
            found = {site["site"] for site in hawk.analyze(core, option, pattern)["sites"]}
            hawk.expect_equal(found, {site["site"] for site in plain["sites"]
                                      if has(site, pattern) == wanted}, f"{option} {pattern}")
    hawk.expect_equal(hawk.analyze(core, "--focus", "no such thing")["sites"], [], "--focus nothing")
    for options in ([], ["--focus=main"]):
        heading, = re.findall("^Leaks: .*", hawk.text_of("analyze", core, "--full", *options), re.M)
        hawk.expect_equal(heading.endswith(", of all sites"), bool(options), f"{options}: {heading}")
    site = plain["sites"][0]
    hawk.expect_equal(hawk.blocks(core, "--site", site["site"]),
                      [block for block in blocks if block["site"] == site["site"]], "blocks --site")
    hawk.expect_equal(hawk.blocks(core, "--size", "100-500"),
                      [block for block in blocks if 100 <= block["size"] <= 500], "blocks --size")
    hawk.expect_equal(hawk.blocks(core, "--size", "1k"),
                      [block for block in blocks if block["size"] >= 1024], "blocks --size 1k")
    named = {site["site"] for site in plain["sites"]
             if any(re.search("^cache_put$", frame["function"] or "") for frame in site["frames"])}
    hawk.expect_equal(hawk.blocks(core, "--function", "^cache_put$"),
                      [block for block in blocks if block["site"] in named], "blocks --function")
    hawk.expect(named, "cache_put has a site")


def whatis(*addresses):
    done = hawk.run([hawk.CORE, "whatis", "--json", core, *addresses])
    hawk.expect(done.returncode in (0, 4), f"whatis: exit code {done.returncode} {done.stderr!r}")
    return hawk.parse(done.stdout)["addresses"]


def check_whatis():
    for block in blocks[::max(1, len(blocks) // 60)]:
        start = int(block["address"], 16)
        places = [0, block["size"] // 2, max(0, block["size"] - 1)]
        for place, answer in zip(places, whatis(*(hex(start + place) for place in places))):
            found = answer["block"] or {}
            hawk.expect_equal(
                (found.get("address"), found.get("offset"), found.get("size"), found.get("site"),
                 found.get("state"), found.get("kind")),
                (block["address"], place, block["size"], block["site"], "live", block["kind"]),
                f"whatis {block['address']} + {place}")
        header = whatis(hex(start - 8))[0]["block"]
        hawk.expect(header and header["state"] == "header" and header["address"] ==
                    block["address"], f"header of {block['address']}: {header}")
    site = hawk.sites_by_id(plain)[blocks[0]["site"]]
    answer = whatis(blocks[0]["address"])[0]
    hawk.expect_equal([frame["function"] for frame in answer["block"]["frames"]],
                      [frame["function"] for frame in site["frames"]], "stack of a block")


def check_whatis_elsewhere():
    crashed = next(thread for thread in plain["process"]["threads"] if thread["crashed"])
    code = crashed["frames"][0]["address"]
    answer = whatis(code, "0x10", "0x0")
    hawk.expect(answer[0]["module"] and answer[0]["module"]["symbol"] == "bill_last_order" or
                "pthread_kill" in str(answer[0]["module"]), f"code: {answer[0]}")
    hawk.expect(not answer[1]["block"] and not answer[1]["mapping"], f"0x10: {answer[1]}")
    done = hawk.run([hawk.CORE, "whatis", core, blocks[0]["address"], "0x10", code])
    hawk.expect(done.returncode in (0, 4) and blocks[0]["address"][2:] in done.stdout,
                f"whatis as text: {done.stdout!r} {done.stderr!r}")


folder = hawk.temporary_folder()
core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "5000", "--crash", "segv"],
                     hawk.tracer_environment(), folder, signals=(11,))
plain = hawk.document("analyze", core)
blocks = hawk.blocks(core)
hawk.run_checks(globals())
