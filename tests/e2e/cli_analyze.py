# SPDX-License-Identifier: Apache-2.0
"""hawk-core analyze: the screen fits a screen, options choose what they say, JSON keeps its
contract and agrees with the text."""

import json
import os
import re
import shutil

from support import cli_world, hawk, json_schema


def text_of(*arguments, codes=(0,), environment=None):
    return hawk.text_of("analyze", *arguments, codes=codes, env=environment)


def functions(site):
    return [frame["function"] or "" for frame in site["frames"]]


def site_of(analysis, function):
    return next(site for site in analysis["sites"]
                if any(name.startswith(function) for name in functions(site)))


def check_screen():
    text = text_of(core)
    lines = text.partition("\nSuspects: ")[0].splitlines()
    missing = hawk.analyze(core)["missing"]  # where the C library has no debug file, say
    hawk.expect(24 <= len(lines) <= 44 + 4 * len(missing), f"{len(lines)} lines")
    for line in lines:
        hawk.expect(len(line) <= 80, f"wider than 80 columns: {line!r}")
        hawk.expect(line == line.rstrip(), f"blanks at the end: {line!r}")
    for wanted in ("was killed by SIGSEGV (Segmentation fault)", "at address 0x8",
                   "address not mapped", "make_large", "make_small", "world.cpp:",
                   "Missing" if missing else "Nothing was missing."):
        hawk.expect(wanted in text, f"no {wanted!r} on the screen")
    hawk.expect("\033" not in text, "colour without a terminal")


def check_no_plumbing_first():
    """The vector's site begins with push_back or its caller, not with an allocator."""
    text = text_of("--sort", "size", "--top", "50", core)
    hawk.expect("new_allocator" not in text and "_M_realloc_insert" not in text,
                "allocator plumbing on the screen")
    hawk.expect("fill_vector" in text, "the caller is shown")
    full = text_of("--full", core)
    hawk.expect("_M_realloc_insert" in full, "--full shows every frame")


def check_core_alone():
    """hawk-core CORE is hawk-core analyze CORE."""
    for options in ([], ["--top", "1", "--no-suspects"]):
        done = hawk.run([hawk.CORE, core, *options])
        wanted = (0, text_of(*options, core), "")
        hawk.expect_equal((done.returncode, done.stdout, done.stderr), wanted, f"CORE {options}")
        done = hawk.run([hawk.CORE, *options, core])
        hawk.expect_equal((done.returncode, done.stdout, done.stderr), wanted, f"{options} CORE")


def check_counts():
    analysis = hawk.analyze(core)
    small, large = site_of(analysis, "make_small"), site_of(analysis, "make_large")
    hawk.expect_equal((small["inuse_objects"], small["inuse_bytes"]), (1000, 24000), "small")
    hawk.expect_equal((large["inuse_objects"], large["inuse_bytes"]), (3, 900000), "large")
    freed = site_of(analysis, "make_freed")
    hawk.expect_equal((freed["inuse_objects"], freed["alloc_objects"], freed["alloc_bytes"]),
                      (0, 200, 1000000), "freed")
    hawk.check_counters(analysis, "world")


def check_schema():
    for arguments in ([], ["--by", "function"], ["--top", "1"], ["--by", "module", "--top", "2"]):
        hawk.document("analyze", *arguments, core)
    broken = json.loads(hawk.text_of("analyze", "--json", "--no-native", untraced, codes=(hawk.EXIT_PARTIAL,)))
    del broken["process"]
    schema = json_schema.load("analyze-3.json")
    hawk.expect(json_schema.validate(broken, schema), "the validator sees a missing key")


def check_sizes():
    """--top bounds every list, and the table of frames with them; the first screen as JSON is short."""
    for arguments, most in (["analyze"], 16 << 10), (["leaks"], 10 << 10), (["growth"], 10 << 10), (["sites"], 16 << 10):
        text = hawk.text_of(*arguments, "--json", "--top=3", core, codes=(0, 1))
        hawk.expect(len(text) < most, f"{arguments}: {len(text)} bytes")
        hawk.expect_equal(json_schema.cut_wrongly(json.loads(text), 3), [], f"{arguments} --top=3")
    parsed = json.loads(hawk.text_of("analyze", "--json", "--top=2", "--depth=3", core))
    stacks = [site["stack"] for site in parsed["sites"]] + [thread["stack"] for thread in parsed["process"]["threads"]]
    hawk.expect(max(len(stack) for stack in stacks) == 3 and
                len(parsed["frames"]) == len({frame for stack in stacks for frame in stack}), f"--depth=3: {stacks}")


def check_brief():
    """The first screen as JSON fits into 8 kB and says what the whole document says."""
    for path in (core, untraced):
        whole = hawk.analyze(path)
        text = hawk.text_of("analyze", "--brief", path)
        brief = json.loads(text)
        hawk.expect_equal(json_schema.validate(brief, json_schema.load("brief-3.json")), [], f"{path}: {text}")
        hawk.expect(len(text) < 5000, f"{path}: {len(text)} bytes")
        hawk.expect_equal([brief[key] for key in ("source", "next", "partial", "suspects_skipped")],
                          [whole[key] for key in ("source", "next", "partial", "suspects_skipped")], path)
        hawk.expect_equal([brief["heap"][key] for key in brief["heap"]], [whole["heap"][key] for key in brief["heap"]], path)
        hawk.expect_equal(([one["site"] for one in brief["suspects"]], brief["lost"]),
                          ([one["site"] for one in whole["suspects"]], whole["heap"]["lost"]), path)
    hawk.expect("main" in " ".join(json.loads(hawk.text_of("analyze", "--brief", core))["process"]["thread"]["stack"]),
                "the stack of the crash")
    hawk.expect_equal(hawk.run([hawk.CORE, "analyze", "--brief", "--by=file", core]).returncode, hawk.EXIT_USAGE,
                      "--brief with a filter")
    # A path that fills the document leaves little room for lists.
    deep = os.path.join(folder, *["d" * 200] * 12)
    os.makedirs(deep)
    short = json.loads(hawk.text_of("analyze", "--brief", shutil.copy(core, os.path.join(deep, "core"))))
    hawk.expect(len(json.dumps(short)) < 8500 and short["next_shown"] < short["next_total"], f"{short['next_shown']}")


def check_process():
    analysis = hawk.analyze(core)
    process, heap = analysis["process"], analysis["heap"]
    hawk.expect_equal([process[name] for name in ("resident_bytes", "peak_resident_bytes", "swapped_bytes")],
                      [None] * 3, "a core holds no RSS")
    # The large blocks were never written.
    hawk.expect(64 << 10 < heap["touched_bytes"] < heap["writable_bytes"] - 800000, f"{heap}")
    size = re.search(r"^  memory +([\d.]+) KiB in non-zero pages \(RES in top also counts file pages\)$",
                     text_of(core), re.MULTILINE)
    parts = heap["header_bytes"] + heap["overhead_bytes"] + heap["tracer_touched_bytes"] + heap["other_touched_bytes"]
    hawk.expect_equal(heap["inuse_bytes"] - heap["untouched_bytes"] + parts, heap["touched_bytes"], "shares of 100 %")
    hawk.expect(heap["untouched_bytes"] > 800000, f"{heap}")
    hawk.expect(size and abs(float(size[1]) - heap["touched_bytes"] / 1024) < 1, f"{size} {heap['touched_bytes']}")
    hawk.expect_equal((process["signal"], process["signal_name"], process["fault_address"],
                       process["live"]), (11, "SIGSEGV", "0x8", False), "process")
    crashed = [thread for thread in process["threads"] if thread["crashed"]]
    hawk.expect_equal(len(crashed), 1, "crashed threads")
    hawk.expect(any(frame["function"] == "main" for frame in crashed[0]["frames"]), "main crashed")
    hawk.expect_equal(len(process["threads"]), 2, "threads")


def check_nothing_matches():
    for arguments in ([], ["--sort", "total"], ["--by", "module"]):
        text = text_of("--focus", "no_such_function", *arguments, core)
        hawk.expect(re.search(r"\(0 of 0.*\)\n  none\n", text), f"nothing matches, {arguments}")
    hawk.expect_equal(hawk.analyze(core, "--focus", "no_such_function")["sites"], [], "no sites")


def check_groups():
    analysis = hawk.analyze(core, "--by", "function")
    groups = {group["name"]: group for group in analysis["groups"]}
    hawk.expect_equal(groups["make_small"]["flat"]["inuse_bytes"], 24000, "flat of make_small")
    hawk.expect_equal(groups["main"]["flat"]["inuse_bytes"], 0, "flat of main")
    hawk.expect(groups["main"]["cum"]["inuse_bytes"] >= 924000, "cum of main")
    for by in ("function", "file", "module"):
        analysis = hawk.analyze(core, "--by", by)
        hawk.expect_equal(sum(group["flat"]["inuse_bytes"] for group in analysis["groups"]),
                          analysis["heap"]["inuse_bytes"], f"sum of flat by {by}")
        hawk.expect(all(group["flat"]["inuse_bytes"] <= group["cum"]["inuse_bytes"]
                        for group in analysis["groups"]), f"flat is part of cum by {by}")
        text = text_of("--by", by, core)
        hawk.expect_columns(text, f"--by {by}")
        hawk.expect("flat" in text and "cum" in text, f"--by {by} names its columns")
    hawk.expect("Top sites" in text_of("--by", "site", core), "--by site")


def check_depth_and_top():
    text = text_of("--sort", "size", "--top", "2", "--depth", "1", core)
    rows = re.findall(r"^ +\d+ +[\d.]+ \S+ .* [0-9a-f]{16}$", text, re.M)
    hawk.expect_equal(len(rows), 2, "--top 2 in text")
    part = text.split("Top sites")[1]
    lines = re.findall(r"^      (\S+)", part, re.M)
    # A frame without a name (of libstdc++) has its caller with it, if that has one.
    nameless = sum(line.startswith("+0x") for line in lines)
    hawk.expect(2 <= len(lines) <= 2 + nameless, f"--depth 1: one line a site: {lines}")


def check_two_lists():
    """The list by blocks has no site of the list by bytes."""
    first, second = text_of("--no-suspects", core).split("\nTop sites by live bytes")[1].split("\nNext sites by live blocks")
    ids = [set(re.findall(r"[0-9a-f]{16}$", part, re.M)) for part in (first, second.split("\n\n")[0])]
    hawk.expect(ids[0] and ids[1] and not ids[0] & ids[1], f"sites of two lists: {ids}")


def check_full():
    text = text_of("--full", core)
    analysis = hawk.analyze(core)
    for site in analysis["sites"]:
        if site["inuse_objects"]:
            hawk.expect(site["site"] in text, f"site {site['site']} is missing in --full")
    for wanted in ("Threads: 2", "Memory map", "Modules", "functions and lines",
                   f"{analysis['heap']['inuse_bytes']:,}"):
        hawk.expect(wanted in text, f"no {wanted!r} in --full")


def check_colour():
    for arguments, environment, wanted in (
            (["--color=always"], {}, True),
            (["--color=never"], {}, False),
            (["--color=auto"], {"TERM": "xterm"}, False)):
        text = text_of(*arguments, core, environment={**os.environ, **environment})
        hawk.expect_equal("\033[" in text, wanted, f"colour with {arguments}")


def check_width():
    wide = text_of(core, environment={**os.environ, "COLUMNS": "140"})
    hawk.expect(max(map(len, wide.splitlines())) > 80, "COLUMNS=140 is used")
    hawk.expect(max(map(len, wide.splitlines())) <= 140, "COLUMNS=140 is kept to")


def check_native():
    """An ordinary core has its heap by the allocator's own structures."""
    analysis = hawk.analyze(untraced)
    heap = analysis["heap"]
    hawk.expect_equal((heap["traced"], heap["unknown"], heap["source"], analysis["partial"]),
                      (False, None, "glibc", False), "an untraced core")
    [allocator] = heap["allocators"]
    hawk.expect_equal((allocator["name"], allocator["checksum"], allocator["confidence"]),
                      ("glibc", "agrees", "proven"), "its allocator")
    hawk.expect_equal((allocator["inuse_objects"] <= heap["inuse_objects"], heap["inuse_bytes"] > 0), (True, True), "sums")
    text = text_of(untraced)
    for wanted in ("By structures of glibc", "hawk-core run", "malloc, "):
        hawk.expect(wanted in text, f"no {wanted!r} for an untraced core")


def check_untraced():
    text = text_of("--no-native", untraced, codes=(hawk.EXIT_PARTIAL,))
    for wanted in ("was killed by SIGABRT (Aborted)", "by abort()", "not traced",
                   "hawk-core run", "Memory map", "libc.so.6", "incomplete"):
        hawk.expect(wanted in text, f"no {wanted!r} for an untraced core")
    analysis = hawk.analyze(untraced, "--no-native")
    hawk.expect_equal((analysis["heap"], analysis["sites"], analysis["partial"]),
                      ({"traced": False, "unknown": "the process was not traced", **dict.fromkeys(
                          ("inuse_objects", "inuse_bytes", "alloc_objects", "alloc_bytes", "free_objects", "free_bytes"))},
                       None, True), "an untraced core")
    hawk.expect_equal([f["key"] for f in analysis["missing"] if f["partial"]], ["not-traced"],
                      "missing")
    for verb in ("blocks", "whatis"):
        done = hawk.run([hawk.CORE, verb, "--no-native", untraced, *(["0x1000"] if verb == "whatis" else [])])
        hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{verb} of an untraced core")
        hawk.expect("no trace table" in done.stderr, f"{verb}: {done.stderr!r}")
    for verb in ("retained", "sites", "types", "growth", "merge-paths", "leaks", "schema", "strings", "duplicates"):
        arguments = ["--no-native", untraced, *(["1234"] if verb == "schema" else [])]
        done = hawk.run([hawk.CORE, verb, *arguments])
        hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{verb} of an untraced core")
        hawk.expect(": unknown, the process was not traced\n" in done.stdout and
                    "hawk-core run" in done.stdout and "0 of 0" not in done.stdout,
                    f"{verb}: {done.stdout!r}")
        missing = hawk.document(verb, *arguments, codes=(hawk.EXIT_PARTIAL,))["missing"]
        hawk.expect("not-traced" in [item["key"] for item in missing], f"{verb}: missing")
    for verb in ("path", "refs"):
        done = hawk.run([hawk.CORE, verb, "--no-native", untraced, "0x1000"])
        hawk.expect("0x1000: no block is known: the process was not traced" in done.stderr,
                    f"{verb}: {done.stderr}")


def check_cut_off():
    """A core that ends before the heap: unknown, and why, is not zero, and is not "not traced"."""
    for size, reasons in ((1000, ("the core is cut off before any trace table could be found",)),
                          (100000, ("the memory of all blocks is missing",
                                    "the core is cut off before any trace table could be found"))):
        path = hawk.cut(core, size, f"cut{size}")
        snapshot = os.path.join(folder, f"cut{size}.hawk")
        hawk.text_of("snapshot", "-o", snapshot, path, codes=(hawk.EXIT_PARTIAL,))
        for source in (path, snapshot):
            check_unknown(source, reasons)


def check_empty_and_cut_off():
    """Zero blocks are a fact if the tracer's counters exist and show that all were freed."""
    program = hawk.compile_text(folder, "freed", "#include <stdlib.h>\nint main(void) { void *volatile block = malloc(100); "
                                "free(block); abort(); }")
    freed, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    size = os.path.getsize(freed)
    heaps = [hawk.analyze(hawk.cut(freed, size * part // 16))["heap"] for part in range(1, 16)]
    hawk.expect(all(heap["inuse_objects"] in (0, None) for heap in heaps), f"{heaps}")
    hawk.expect(heaps[0]["inuse_objects"] is None and heaps[-2]["inuse_objects"] == 0, f"{heaps}")


def check_unknown(path, reasons):
    heap = hawk.document("analyze", path, codes=(hawk.EXIT_PARTIAL,))["heap"]
    hawk.expect(heap["unknown"] in reasons, f"{path}: {heap}")
    hawk.expect_equal((heap["traced"], heap["inuse_objects"], heap["inuse_bytes"]), (None, None, None), path)
    for verb, section, key in (("analyze", "Heap", "sites"), ("leaks", "Leaks", "definitely_lost"), ("sites", "Sites", "edges"),
                               ("retained", "Retained", "sites"), ("growth", "Growth", "sites"),
                               ("merge-paths", "Paths", "tree"), ("types", "Types", "types")):
        document = hawk.document(verb, path, codes=(hawk.EXIT_PARTIAL,))
        hawk.expect_equal(document[key], None, f"{verb} {path}: {key}")
        hawk.expect_equal(document.get("unknown", heap["unknown"]), heap["unknown"], f"{verb} {path}: why")
        text = hawk.text_of(verb, path, codes=(hawk.EXIT_PARTIAL,))
        hawk.expect(f"{section}: unknown, {heap['unknown']}" in text and "0 live" not in text, f"{verb} {path}: {text}")
    for verb in ("blocks", "whatis", "refs", "path"):
        done = hawk.run([hawk.CORE, verb, path, *(["0x1000"] if verb != "blocks" else [])])
        said = done.stdout + done.stderr
        hawk.expect("not traced" not in said and (verb == "whatis" or heap["unknown"] in said), f"{verb} {path}: {said}")
        hawk.expect(done.returncode in (hawk.EXIT_PARTIAL, hawk.EXIT_UNREADABLE), f"{verb} {path}: {done.returncode}")
    page = os.path.join(folder, "cut.html")
    hawk.text_of("html", "-o", page, "--force", path, codes=(hawk.EXIT_PARTIAL,))


def check_table_left_out():
    """Does not call the process untraced if the core only lacks anonymous memory."""
    if not hawk.cores_are_files():
        return
    core, _ = hawk.crash(["/bin/sh", "-c", "echo 0x10 > /proc/self/coredump_filter; kill -ABRT $$"],
                         hawk.tracer_environment(), folder)
    text = text_of(core, codes=(hawk.EXIT_PARTIAL,))
    hawk.expect("not traced" not in text and "coredump_filter" in text, f"{text}")
    for verb in ("leaks", "blocks", "sites", "growth", "merge-paths"):
        done = hawk.run([hawk.CORE, verb, core])
        said = " ".join((done.stdout + done.stderr).split())
        hawk.expect("not traced" not in said and "the tracer's library" in said, f"{verb}: {said!r}")


def check_outside():
    """Says what memory outside of heaps is where it is most: traced or not, and of a snapshot."""
    program = hawk.compile_program(os.path.join(folder, "outside"), ["outside.c"])
    for environment in (hawk.tracer_environment(), hawk.plain_environment()):
        died, _ = hawk.crash([program], environment, folder)
        saved = os.path.join(folder, "outside.snapshot")
        hawk.run([hawk.CORE, "snapshot", "-o", saved, died])
        for source in (died, saved):
            text = text_of(source)
            hawk.expect_columns(text, "the screen")
            words = " ".join(text.split())
            hawk.expect("in stacks of 64 threads that ended and were neither joined nor detached;"
                        in words and "MiB in anonymous mappings that no known heap" in words, text)
            hawk.expect("of the heap, which is" in words, text)
            outside = hawk.analyze(source)["heap"]["outside"]
            hawk.expect_equal((outside["ended_stacks"], outside["unknown_bytes"] >> 20), (64, 2), f"{outside}")
            hawk.expect(64 * 4096 < outside["ended_stack_bytes"] <= 64 << 20, f"{outside}")


def check_cause():
    """kill() and abort() are told apart by what the kernel notes."""
    killed, _ = hawk.crash(["/bin/sh", "-c", "kill -ABRT $$"], hawk.plain_environment(), folder)
    hawk.expect("the process itself, by kill()" in text_of(killed),
                "a process that killed itself")
    process = hawk.analyze(killed)["process"]
    hawk.expect_equal((process["program"], process["name"], process["arguments"], process["sender_pid"]),
                      (os.path.realpath("/bin/sh"), "sh", "/bin/sh -c kill -ABRT $$", process["pid"]),
                      "what the kernel notes of a process")


folder = hawk.temporary_folder()
core, _ = cli_world.crash(folder)
untraced, _ = cli_world.crash(folder, "abort", environment=hawk.plain_environment())
hawk.run_checks(globals())
