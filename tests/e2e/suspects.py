# SPDX-License-Identifier: Apache-2.0
"""The end of analyze: the few sites that explain most of the memory, and what to ask next."""

import os
import re
import shutil
import signal
import subprocess

from support import growth_world, hawk, holder_world

HEADING = "\nSuspects: "


def text_of(*arguments, codes=(0,)):
    return hawk.text_of("analyze", *arguments, codes=codes)


def section_of(text):
    hawk.expect(HEADING in text, f"no suspects in {text[-300:]}")
    return text.partition(HEADING)[2]


def document(*arguments):
    return hawk.document("analyze", *arguments)


def by_function(parsed):
    names = {site["site"]: hawk.plain_name(site["frames"][0]["function"] or "")
             for site in parsed["sites"] if site["frames"]}
    return {names[suspect["site"]]: {**suspect, "through": [
        names[site] for site in (suspect["holder"] or {}).get("through", [])]}
        for suspect in parsed["suspects"]}


def check_holders():
    parsed = document(held)
    suspects = by_function(parsed)
    cell = suspects["make_cell"]
    hawk.expect_equal(parsed["suspects_skipped"], None, "looked for")
    hawk.expect("`g_hub`" in cell["holder"]["root"], cell["holder"]["root"])
    hawk.expect_equal((cell["holder"]["kind"], cell["holder"]["bytes"], cell["holder"]["objects"], cell["through"]),
                      ("root", holder_world.CELLS * 32, holder_world.CELLS, ["make_hub"]), "cells")
    hawk.expect_equal(cell["retained_bytes"]["all_pointers"], holder_world.CELLS * 72, "retained")
    structure = cell["structure"]
    hawk.expect_equal((structure["objects"], structure["bytes"], [part["bytes"] for part in structure["parts"]]),
                      (2 * holder_world.CELLS, holder_world.CELLS * 72, [holder_world.CELLS * 40, holder_world.CELLS * 32]),
                      "cells and their payloads are one structure")
    hawk.expect("make_payload" not in suspects, f"its parts are no suspects: {list(suspects)}")
    section = section_of(text_of(held))
    hawk.expect("all of it is held by `g_hub` in holders .bss, through make_hub."
                in " ".join(section.split()), section)
    hawk.expect_equal(section_of(text_of(held)), section, "the same again")


def check_lost_chain():
    """The leader of lost blocks is the suspect, however small it is."""
    [row] = hawk.sql(held, "SELECT DISTINCT target FROM roots WHERE symbol = 'g_hub'")
    forgotten = hawk.write(os.path.join(folder, "forgotten"),
                           hawk.read(held).replace(row["target"].to_bytes(8, "little"), bytes(8)))
    section = " ".join(section_of(text_of(forgotten)).split())
    hawk.expect("1. make_hub" in section and "Lost: nothing leads to it. In all, " in section and
                "are lost through it, among them those of make_payload, make_cell." in section, section)


def check_looks():
    """Suspects with the same name are told from each other by their stacks."""
    section = section_of(text_of("--full", held))
    heads = re.findall(r"^\d+\. (.*)\n((?: {6}\S.*\n)*)", section, re.M)
    names = [name for name, _ in heads]
    hawk.expect_equal(len(set(heads)), len(heads), f"none looks like another: {heads}")
    hawk.expect(all(bool(stack) == (names.count(name) > 1) for name, stack in heads), f"stacks where they tell: {heads}")


def check_growth():
    suspects = by_function(document(grown))
    lost, list_of = suspects["make_lost"], suspects["make_held"]
    hawk.expect_equal((lost["verdict"], lost["holder"]["kind"]), ("leak", "lost"), "lost blocks")
    hawk.expect_equal((list_of["verdict"], list_of["holder"]["kind"]), ("leak", "root"), "a list")
    hawk.expect("leaks --site=" in lost["next"] and "merge-paths --site=" in list_of["next"],
                "what to ask next")
    text = text_of(grown)
    hawk.expect_columns(text, "the screen")
    for words in ("Lost: nothing leads to", "Still reachable: all of it is held by `g_held`",
                  "too short for a rate"):
        hawk.expect(words in " ".join(section_of(text).split()), f"{words!r} in {text[-2000:]}")
    full = text_of("--full", grown)
    hawk.expect(full.count("Growth: ") > text.count("Growth: "), "--full has more of them")


def check_server():
    """A cache that never hits is one structure, a cycle of shared_ptr is named by types and line, however small."""
    program = hawk.compile_program(os.path.join(folder, "server"), ["session_server.cpp"],
                                   flags=["-std=c++17", "-O1"], compiler="g++")
    core = hawk.crash([program, "3010"], hawk.tracer_environment(), folder)[0]
    cache, session = document(core)["suspects"]
    hawk.expect_equal((cache["type"], cache["cycle"], len(cache["structure"]["parts"])), (None, None, 4), f"{cache}")
    hawk.expect(cache["structure"]["bytes"] > 3 * cache["inuse_bytes"] > 0, f"{cache}")
    hawk.expect_equal((session["structure"], session["cycle"]["length"], session["cycle"]["cycles"]),
                      (None, 3, session["inuse_objects"]), f"{session}")
    hawk.expect("<Session," in session["type"], session["type"])
    text = text_of(core)
    section = " ".join(section_of(text).split())
    hawk.expect_columns(text, "the server's screen")
    for words in ("1. AnswerCache::put(", ", in one structure:", "std::map<...>::operator[](...)", "2. Server::open(int) session_server.cpp:89 [Session]",
                  "cycles like this one of 3: Session +", "-> Deadline +"):
        hawk.expect(words in section, f"{words!r} in {section}")


def check_table():
    """The keys and values that one function put into one table are one suspect. Without ages, what is lost comes first."""
    program = hawk.compile_program(os.path.join(folder, "two_arrays"), ["two_arrays.c"])
    traced = hawk.put_aside(hawk.crash([program], hawk.tracer_environment(), folder)[0])
    table, lost = document(traced)["suspects"]
    hawk.expect_equal((table["structure"]["objects"], len(table["structure"]["parts"]), lost["holder"]["kind"]),
                      (2 * 4000 + 3, 4, "lost"), f"traced: {table}")
    section = " ".join(section_of(text_of(traced)).split())
    hawk.expect("1. remember two_arrays.c" in section and "2. forget two_arrays.c" in section, section)
    untraced = hawk.crash([program], hawk.plain_environment(), folder)[0]
    lost, table = document(untraced)["suspects"]
    hawk.expect_equal((lost["holder"]["kind"], table["holder"]["kind"]), ("lost", "root"), "untraced")
    section = " ".join(section_of(text_of(untraced)).split())
    hawk.expect("so what is lost stands first. 1. malloc, 104 bytes" in section, section)


def check_stack_table():
    """A variable of main() holds its structure, whatever copies registers have; large blocks are named, however small their nodes."""
    program = hawk.compile_program(os.path.join(folder, "stack_table"), ["stack_table.c"])
    core = hawk.crash([program], hawk.tracer_environment(), folder, signals=(signal.SIGSEGV,))[0]
    [suspect] = document(core)["suspects"]
    hawk.expect("reserve" in by_function(document(core)), f"{suspect}")
    hawk.expect_equal((suspect["holder"]["kind"], suspect["holder"]["root"], suspect["inuse_objects"]),
                      ("root", "main thread, `main`", 200), f"{suspect}")


def check_commands():
    """Suggested commands work unchanged, whatever the core's name."""
    for name in ("core", "a core's\tname $HOME `x` \\ \"q\"", "-core", "köre\n" * 12):
        place = os.path.join(folder, "names")
        os.makedirs(place, exist_ok=True)
        shutil.copy(grown, os.path.join(place, name))
        source = f"./{name}" if name.startswith("-") else name
        done = subprocess.run([hawk.CORE, "analyze", "--json", "--", name], cwd=place,
                              capture_output=True, text=True, check=False)
        commands = [suspect["next"] for suspect in hawk.parse(done.stdout)["suspects"]]
        hawk.expect(commands and all(command.isprintable() and command.isascii()
                                     for command in commands), f"{source}: {commands}")
        done = subprocess.run([hawk.CORE, "analyze", "--", name], cwd=place, capture_output=True,
                              text=True, check=False)
        lines = [line.strip() for line in done.stdout.partition(HEADING)[2]
                 .replace(" \\\n", " ").splitlines() if line.startswith("     hawk-core ")]
        hawk.expect_equal([" ".join(line.split()) for line in lines],
                          [" ".join(command.split()) for command in commands], "text and JSON")
        environment = {**os.environ, "PATH": os.path.dirname(hawk.CORE) + ":" + os.environ["PATH"]}
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=place, env=environment,
                                  capture_output=True, text=True, check=False)
            hawk.expect(done.returncode in (0, 1) and done.stdout,
                        f"{command}: {done.returncode} {done.stderr[-300:]}")


def check_left_out():
    for arguments in (["--no-suspects"], ["--focus", "main"], ["--by", "module"],
                      ["--sort", "total"]):
        hawk.expect(HEADING not in text_of(*arguments, grown), f"none with {arguments}")
        hawk.expect("suspects" not in document(*arguments, grown), f"none in JSON: {arguments}")
    whole = text_of(grown)
    first, _, rest = whole.partition("\nLeaks:")
    end = re.search("\n(Nothing was missing|Missing or damaged)", rest)
    hawk.expect_equal(text_of("--no-suspects", grown), first + rest[end.start():], "the rest is the same")


def check_full():
    """Other verbs' answers follow the suspects, each cut to its most important lines."""
    whole = text_of("--full", held)
    places = [whole.find(heading) for heading in
              ("\nLeaks:", HEADING, "\nSites by retained bytes", "\nRetained by roots",
               "\nSites, and what holds their blocks", "\nGrowth of sites",
               "\nWhat blocks of the largest sites look like")]
    hawk.expect(-1 not in places and places == sorted(places), f"sections at {places}")
    hawk.expect("-> make_payload" in whole[places[-1]:], "the schema of a list's nodes")


def check_live():
    process = hawk.spawn([os.path.join(folder, "holders"), "wait", "100", "200"],
                         env=hawk.tracer_environment(), cwd=folder, stdout=subprocess.PIPE,
                         text=True)
    process.stdout.readline()
    hawk.wait_for_state(process.pid, "S", "with nothing of it on its stack")
    try:
        short = text_of("--pid", str(process.pid))
        hawk.expect(HEADING not in short and f"analyze --suspects --pid {process.pid}"
                    in " ".join(short.split()), short[-400:])
        parsed = document("--pid", str(process.pid))
        hawk.expect(parsed["suspects"] == [] and "--suspects" in parsed["suspects_skipped"], "JSON")
        text = text_of("--suspects", "--pid", str(process.pid))
        section_of(text)
        hawk.expect(len(text.splitlines()) < 150, f"a screen, not all: {len(text.splitlines())} lines")
        section_of(text_of("--full", "--pid", str(process.pid)))
        hawk.expect(document("--suspects", "--pid", str(process.pid))["suspects"], "JSON with --suspects")
        lost = by_function(document("--full", "--pid", str(process.pid)))["make_lost"]
        hawk.expect_equal((lost["holder"]["kind"], lost["cycle"]["cycles"], lost["cycle"]["length"]), ("lost", 5, 2), "live")
    finally:
        process.kill()
        process.wait()


def check_what_is_missing():
    size = os.path.getsize(held)
    for part in range(2, 16, 2):
        cut = hawk.cut(held, size * part // 16)
        done = hawk.run([hawk.CORE, "analyze", cut])
        hawk.expect(done.returncode in (3, 4), f"{part}/16: {done.returncode}")
        hawk.expect("Nothing was missing" not in done.stdout, f"{part}/16: {done.stdout}")
        hawk.expect_equal(done.stdout.count("Missing"), int(done.returncode == 4), f"{part}/16: said once")
        if HEADING in done.stdout:
            section = " ".join(section_of(done.stdout).split())
            hawk.expect("Lost:" not in section, f"{part}/16: nothing is certain: {section}")
    table = os.path.join(folder, "table")
    done = hawk.run([os.path.join(folder, "growth"), "0.2"],
                    env=hawk.tracer_environment(options=f"table={table}"), cwd=folder)
    hawk.expect("a table file has counts but no memory" in " ".join(
        text_of(table, codes=(0, 4)).split()), "a table file")


folder = hawk.temporary_folder()
held, _ = holder_world.crash(folder)
held = hawk.put_aside(held)
grown = hawk.put_aside(growth_world.crash(folder, growth_world.build(folder), 2.5))
hawk.run_checks(globals())
