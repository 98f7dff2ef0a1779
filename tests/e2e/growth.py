# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""growth, on a program that leaks, caches, churns, and fills at start-up and in a burst."""

import os
import shutil
import time

from support import growth_world, hawk

VERDICTS = {"make_held": "leak", "make_lost": "leak", "make_startup": "start-up",
            "make_burst": "burst", "make_cached": "cache or growing queue", "make_young": "steady",
            "make_single": "unclear"}


def document(*arguments, target=None, codes=(hawk.EXIT_OK,)):
    return hawk.document("growth", target or core, *arguments, codes=codes)


def by_function(parsed):
    return {hawk.plain_name(site["frames"][0]["function"]): site for site in parsed["sites"]
            if site["frames"]}


def check_verdicts():
    parsed = document()
    sites = by_function(parsed)
    life = parsed["life_seconds"]
    hawk.expect(growth_world.SECONDS - 0.5 < life < 3 * growth_world.SECONDS, f"life of {life} s")
    for name, verdict in VERDICTS.items():
        site = sites[name]
        hawk.expect_equal(site["verdict"], verdict, f"{name}: {site['born_objects']} "
                          f"{site['reasons']}")
        hawk.expect_equal((sum(site["born_objects"]), sum(site["born_bytes"])),
                          (site["inuse_objects"], site["inuse_bytes"]), f"bar of {name}")
        hawk.expect_equal(sum(site["reach_bytes"].values()), site["inuse_bytes"], f"reach {name}")
    held, lost, cached = sites["make_held"], sites["make_lost"], sites["make_cached"]
    hawk.expect_equal(held["bytes_per_hour"], None, "some seconds say nothing of an hour")
    hawk.expect(any("too short for a rate" in reason for reason in held["reasons"]), "no rate: said")
    hawk.expect_equal(held["retained_bytes"]["all_pointers"], held["inuse_bytes"], "retained")
    gone = lost["reach_bytes"]["definitely_lost"] + lost["reach_bytes"]["indirectly_lost"]
    hawk.expect(gone >= 0.95 * lost["inuse_bytes"], "lost blocks are lost")
    hawk.expect(any("no root leads there" in reason for reason in lost["reasons"]), "lost: said")
    hawk.expect_equal(held["reach_bytes"]["still_reachable"], held["inuse_bytes"], "held")
    hawk.expect(cached["alloc_objects"] > 2 * cached["inuse_objects"], "the cache replaces")
    hawk.expect(any("freed" in reason for reason in cached["reasons"]), "cache: said")
    hawk.expect_equal((held["confidence"], lost["confidence"]), ("low", "high"),
                      "a short life gives no confidence; what is lost is proven")


def check_examples():
    """The example of a loss record is its oldest block in every verb."""
    leaks = hawk.document("leaks", core, codes=(hawk.EXIT_CONDITION,))
    query = "SELECT l.site, l.kind, addr(example) AS example, max(b.age) AS oldest, c.age FROM leaks l " \
            "JOIN blocks b ON b.site = l.site JOIN blocks c ON c.address = l.example " \
            "WHERE b.reach = l.kind GROUP BY l.site, l.kind"
    rows = hawk.sql(core, query)
    hawk.expect_equal({(row["site"], row["kind"].replace(" ", "_")): row["example"] for row in rows},
                      {(record["site"], record["kind"]): record["example"]
                       for record in leaks["records"]}, "examples")
    hawk.expect(all(row["oldest"] == row["age"] for row in rows), "they are the oldest")


def check_filters():
    only = by_function(document("--verdict", "leak"))
    hawk.expect(set(only) >= {"make_held", "make_lost"} and
                not set(only) & {"make_startup", "make_cached"}, f"--verdict: {set(only)}")
    sized = by_function(document("--size", "60-70"))
    hawk.expect_equal((set(sized), sized["make_burst"]["alloc_objects"]), ({"make_burst"}, None),
                      "--size: counters say nothing about some of the blocks")
    hawk.expect_equal(set(by_function(document("--function", "^make_held$"))), {"make_held"},
                      "--function")
    hawk.expect_equal(len(document("--top", "2")["sites"]), 2, "--top")


def check_text():
    done = hawk.run([hawk.CORE, "growth", core])
    hawk.expect_columns(done.stdout, "the screen")
    for words in ("blocks survive from every part", "start-up", "cache or queue", "make_held"):
        hawk.expect(words in done.stdout, f"{words!r} in the text")
    one, three = (hawk.run([hawk.CORE, "growth", core, "--threads", str(threads)]).stdout
                  for threads in (1, 3))
    hawk.expect_equal(one, three, "any number of threads")


def check_cut(parsed, part):
    """Blocks that are cut off may have been freed or not: the verdict must not rely on it."""
    whole = {site["site"]: site for site in document()["sites"]}
    for site in parsed["sites"] or []:
        said = [reason for reason in site["reasons"] if "was freed" in reason]
        before = [reason for reason in whole[site["site"]]["reasons"] if "was freed" in reason]
        hawk.expect(not said or said == before, f"{part}/16: {said}, {before} in the whole core")


def check_young_and_cut():
    young = growth_world.crash(folder, program, 0.2)
    sites = by_function(document(target=young))
    verdicts = {name: site["verdict"] for name, site in sites.items()}
    lost = verdicts.pop("make_lost")
    hawk.expect_equal((lost, set(verdicts.values())), ("leak", {"unclear"}),
                      "of a young process only what is lost is certain")
    hawk.expect("too short" in hawk.run([hawk.CORE, "growth", young]).stdout, "and why")
    size = os.path.getsize(core)
    for part in range(1, 16, 3):
        cut = hawk.cut(core, size * part // 16)
        done = hawk.run([hawk.CORE, "growth", cut])
        hawk.expect(done.returncode in (3, 4), f"{part}/16: {done.returncode}")
        if done.returncode == 4:
            check_cut(document(target=cut, codes=(hawk.EXIT_PARTIAL,)), part)


def check_idle():
    """A file's time decides nothing; the time in its name does; a process that lives has a clock."""
    moment = int(os.stat(core).st_mtime)
    idle = os.path.join(folder, "idle")
    shutil.copyfile(core, idle)
    young = growth_world.crash(folder, program, 0.2)
    for path in (idle, young):
        before = document(target=path)["sites"]
        for shift in (7200, -7200):
            os.utime(path, (moment + shift, moment + shift))
            hawk.expect_equal(document(target=path)["sites"], before, f"{path}, touched by {shift} s")
    os.utime(idle, (moment + 7200, moment + 7200))
    parsed = document(target=idle)
    hawk.expect_equal(parsed["life"]["end"], "clock", "a file's time is no end")
    hawk.expect(7100 < parsed["life"]["latest_seconds"] < 7300, f"{parsed['life']}")
    hawk.expect_equal([item["partial"] for item in parsed["missing"] if item["key"] == "life-end"],
                      [False], "that the end is not known is said")
    text = hawk.run([hawk.CORE, "growth", idle]).stdout
    hawk.expect("When it died is not known" in text and
                all(len(line) <= 80 for line in text.splitlines()), "the doubt in text")
    hawk.expect("\nAges end with the last allocation, " in hawk.text_of("analyze", idle), "the doubt above suspects")
    age = time.time() - moment
    for name in (f"core.growth.1.{int(moment + age)}", f"{int(moment + age)}000000"):
        named = os.path.join(folder, name)
        os.rename(idle, named)
        idle = named
        parsed = document(target=named)
        hawk.expect_equal(parsed["life"]["end"], "name", name)
        expected = parsed["life"]["clock_seconds"] + age
        hawk.expect(abs(parsed["life_seconds"] - expected) < 2, f"{name}: {parsed['life_seconds']} s")
        hawk.expect("life-end" not in [item["key"] for item in parsed["missing"]], "certain")
    uptime = hawk.analyze(idle)["heap"]["uptime_seconds"]
    hawk.expect(abs(uptime - expected) < 2, f"uptime of {uptime} s")


def check_living():
    process = hawk.spawn(["sleep", "100"], env=hawk.tracer_environment())
    hawk.wait_for_state(process.pid, "S", "sleep")
    time.sleep(7)
    done = hawk.run([hawk.CORE, "growth", "--json", "--pid", str(process.pid)])
    if done.returncode == hawk.EXIT_UNREADABLE:
        return
    parsed = hawk.parse(done.stdout)
    hawk.expect_equal(parsed["life"]["end"], "now", "alive")
    hawk.expect(6 < parsed["life_seconds"] < 100 and parsed["life"]["clock_seconds"] < 2,
                f"alive: {parsed['life']}")
    text = hawk.run([hawk.CORE, "growth", "--pid", str(process.pid)]).stdout
    hawk.expect("and idled for" in text, "idle: said")
    process.kill()
    process.wait()


folder = hawk.temporary_folder()
program = growth_world.build(folder)
core = growth_world.crash(folder, program)
hawk.run_checks(globals())
