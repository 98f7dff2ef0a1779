# SPDX-License-Identifier: Apache-2.0
"""The lost figure, definitely plus indirectly lost, is the same in every verb, export and view of a core,
in text and JSON, and so are the kinds below it; so is the live one."""

import base64
import collections
import gzip
import json
import os
import re
import shutil

from support import exports, firefox, hawk, hprof, leaks

CODES = (hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_PARTIAL)
DEFINITELY, INDIRECTLY, POSSIBLY, _ = leaks.KINDS
KINDS = (DEFINITELY, INDIRECTLY, POSSIBLY)
NOTHING = (0, 0)


def size_text(size):
    """As text has it."""
    return f"{size:,} B" if size < 1024 else f"{size / 1024:.1f} KiB"


def pair(figure):
    return figure["objects"], figure["bytes"]


def plus(*figures):
    return tuple(map(sum, zip(*figures)))


def document(verb, target, *arguments):
    return hawk.document(verb, target, *arguments, codes=CODES)


def sums_of(found):
    """(lost, {kind: figure}) of an object with the keys of `leaks --json`."""
    return pair(found["lost"]), {kind: pair(found[kind]) for kind in KINDS if found[kind]["objects"]}


def headline(text):
    """(lost blocks, size, {kind: (blocks, size)}) of the section "Leaks"."""
    section = text[text.index("Leaks: "):].split("\n\n")[0]
    first = re.match(r"Leaks: ([\d,]+) blocks?, (\S+ \S+) (possibly )?lost$", section.split("\n")[0])
    hawk.expect(first, f"no headline: {section}")
    kinds = {f"{name}_lost": (int(blocks.replace(",", "")), size) for name, size, blocks in
             re.findall(r"^  (\w+) lost +(\S+ \S+) +([\d,]+) ", section, re.M) if blocks != "0"}
    return (int(first[1].replace(",", "")), first[2], bool(first[3])), kinds


def expect_text(target, truth, verb, *arguments):
    lost, kinds = truth
    told = lost if lost[0] else kinds[POSSIBLY]
    done = hawk.run([hawk.CORE, verb, *arguments, target])
    hawk.expect(done.returncode in CODES, f"{verb} {arguments}: {done.stderr}")
    hawk.expect_equal(headline(done.stdout),
                      ((told[0], size_text(told[1]), not lost[0]),
                       {kind: (blocks, size_text(size)) for kind, (blocks, size) in kinds.items()}),
                      f"text of {verb} {arguments}")


def expect_documents(target, truth):
    lost, kinds = truth
    hawk.expect_equal(sums_of(document("analyze", target)["heap"]), truth, "analyze --json")
    hawk.expect_equal(pair(document("leaks", target, "--kinds=indirect")["lost"]), lost, "leaks --kinds")
    reach = collections.Counter()
    for site in document("growth", target)["sites"]:
        reach.update(site["reach_bytes"] or {})
    if lost[0]:
        hawk.expect_equal({kind: reach[kind] for kind in kinds}, {kind: size for kind, (_, size) in kinds.items()}, "growth")
        for verb, arguments in (("merge-paths", []), ("retained", ["--by=tree"])):
            nodes = [node for node in document(verb, target, *arguments)["tree"] if node["kind"] == "lost"]
            hawk.expect_equal([(node["cum_objects"], node["cum_bytes"]) for node in nodes], [lost], verb)
    rows = hawk.sql(target, "SELECT reach, count(*) AS objects, sum(size) AS bytes FROM blocks GROUP BY reach")
    found = {row["reach"].replace(" ", "_"): pair(row) for row in rows}
    hawk.expect_equal({kind: found[kind] for kind in KINDS if kind in found}, kinds, "sql: blocks")


def expect_exports(target, truth):
    lost, kinds = truth
    by_kind = collections.defaultdict(lambda: NOTHING)
    for row in exports.rows_of(exports.text_of("ndjson", target, "--what=lost")):
        by_kind[row["verdict"]] = plus(by_kind[row["verdict"]], (row["inuse_objects"], row["inuse_bytes"]))
    hawk.expect_equal(dict(by_kind), kinds, "ndjson")
    for format_, read in (("folded", exports.read_folded), ("dhat", exports.read_dhat), ("massif", exports.read_massif)):
        hawk.expect_equal(sum(read(exports.text_of(format_, target, "--what=lost")).values()), lost[1], format_)
    columns = {profile["name"]: profile["endValue"] for profile in
               json.loads(exports.text_of("speedscope", target, "--what=lost"))["profiles"]}
    possibly = kinds.get(POSSIBLY, NOTHING)
    hawk.expect_equal((columns["lost_space"], columns["possibly_lost_space"]), (lost[1], possibly[1]), "speedscope")
    path = os.path.join(folder, "lost.pb.gz")
    hawk.text_of("export", "--format=pprof", "--what=lost", "--force", "-o", path, target, codes=CODES)
    hawk.expect_equal(sum(exports.read_pprof(hawk.read(path)).values()), lost[1], "pprof")
    if lost[0]:
        dump = hprof.Dump(hprof.export(target, os.path.join(folder, "lost.hprof"), CODES))
        held = dump.reached([root.object for root in dump.roots if root.kind != "unknown"])
        sizes = [dump.size(block) for block in dump.blocks if block not in held]
        hawk.expect_equal((len(sizes), sum(sizes)), lost, "hprof")
    whole = document("diff", target, "--what=lost", target)["whole"]
    sides = [pair(side) if side else NOTHING for side in (whole["before"], whole["after"])]
    hawk.expect_equal(sides, [lost, lost], "diff --what=lost")


def expect_live(target):
    """What is alive is the same figure in each, too."""
    heap = document("analyze", target)["heap"]
    live = heap["inuse_objects"], heap["inuse_bytes"]
    text = hawk.text_of("analyze", target, codes=CODES)
    hawk.expect(f"\nHeap: {live[0]:,} live blocks, {size_text(live[1])}; " in text, f"text: {live} in {text}")
    rows = hawk.sql(target, "SELECT count(*) AS objects, sum(size) AS bytes FROM blocks")
    hawk.expect_equal([pair(row) for row in rows], [live], "sql")
    for format_, read in (("folded", exports.read_folded), ("speedscope", exports.read_speedscope)):
        hawk.expect_equal(sum(read(exports.text_of(format_, target)).values()), live[1], format_)
    path = os.path.join(folder, "live.pb.gz")
    hawk.text_of("export", "--format=pprof", "--force", "-o", path, target, codes=CODES)
    hawk.expect_equal(sum(exports.read_pprof(hawk.read(path)).values()), live[1], "pprof")
    dump = hprof.Dump(hprof.export(target, os.path.join(folder, "live.hprof"), CODES))
    hawk.expect_equal((len(dump.blocks), sum(map(dump.size, dump.blocks))), live, "hprof")
    page = os.path.join(folder, "live.html")
    hawk.text_of("html", "--force", "-o", page, target, codes=CODES)
    part = re.search('data-part="analyze">([^<]*)<', hawk.read(page).decode())[1]
    found = json.loads(gzip.decompress(base64.b64decode(part)))["heap"]
    hawk.expect_equal((found["inuse_objects"], found["inuse_bytes"]), live, "html")


def shown(page, fragment):
    browser.open_report(page, fragment)
    main = browser.property("main", "outerHTML")
    return " ".join(re.sub(r"<[^>]*>", " ", main).split()), main


def expect_page(target, truth):
    """The first screen, and the views behind its links."""
    lost, kinds = truth
    page = os.path.join(folder, "page.html")
    hawk.text_of("html", "--force", "-o", page, target, codes=CODES)
    if not browser:
        print("without a browser")
        return
    text, markup = shown(page, "#summary")
    told = {"lost": lost, **kinds} if lost[0] else kinds
    for kind, (blocks, size) in told.items():
        name = kind.replace("_", " ")
        hawk.expect(f"{size_text(size)} {name} in {blocks} block" in text, f"the page: {name} in {text}")
        link = re.search(rf'href="([^"]*)"[^>]*>{size_text(size)} {name}<', markup).group(1).replace("&amp;", "&")
        view, _ = shown(page, link)
        if kind in ("lost", POSSIBLY):
            hawk.expect(f"All stacks {size_text(size)}" in view, f"the view {link}: {view}")
        else:
            hawk.expect(f"{size_text(size)} " in view and kind in view, f"the view {link}: {view}")


def check_core():
    truth = sums_of(document("leaks", core))
    hawk.expect_equal((truth[0], set(truth[1])), (plus(truth[1][DEFINITELY], truth[1][INDIRECTLY]), set(KINDS)), "leaks --json")
    for arguments in (["leaks"], ["leaks", "--kinds=all"], ["analyze"]):
        expect_text(core, truth, *arguments)
    done = hawk.run([hawk.CORE, "analyze", "--full", core])
    blocks, size = truth[0]
    hawk.expect_equal(done.stdout.count(f"\nLeaks: {blocks} blocks, {size_text(size)} lost\n"), 1, "analyze --full")
    expect_live(core)
    expect_documents(core, truth)
    expect_exports(core, truth)
    expect_page(core, truth)


def check_snapshot():
    path = os.path.join(folder, "core.hawk")
    hawk.text_of("snapshot", "-o", path, core)
    truth = sums_of(document("leaks", core))
    hawk.expect_equal(sums_of(document("leaks", path)), truth, "leaks of a snapshot")
    expect_text(path, truth, "analyze")
    expect_documents(path, truth)


def check_doubt():
    """All verbs call blocks only possibly lost if memory is missing."""
    for part in (15, 12):
        cut = hawk.cut(core, os.path.getsize(core) * part // 16)
        truth = sums_of(document("leaks", cut))
        hawk.expect_equal((truth[0], set(truth[1])), (NOTHING, {POSSIBLY}), f"{part}/16: leaks --json")
        expect_text(cut, truth, "leaks")
        expect_text(cut, truth, "analyze")
        expect_documents(cut, truth)
        expect_exports(cut, truth)
        findings = [finding for finding in document("analyze", cut)["missing"] if finding["key"] == "leaks-downgraded"]
        hawk.expect_equal([finding["count"] for finding in findings], [1], f"{part}/16: said once")
    expect_page(cut, truth)


def check_unknown():
    """Null where pointers were not followed."""
    for arguments in (["--no-suspects"], ["--focus=main"]):
        heap = document("analyze", core, *arguments)["heap"]
        hawk.expect_equal({heap[key] for key in ("lost", *KINDS)}, {None}, f"{arguments}")
        hawk.expect("Leaks" not in hawk.run([hawk.CORE, "analyze", *arguments, core]).stdout, f"{arguments}: text")


browser = firefox.Firefox() if shutil.which("firefox-esr") else None
(_, _, folder, core), = leaks.programs(("c",))
hawk.run_checks(globals())
