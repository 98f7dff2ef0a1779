# SPDX-License-Identifier: Apache-2.0
"""Suspects in lost structures, the command that each of them suggests, and the bytes that sites retain."""

import json
import os
import re
import shlex
import shutil
import subprocess

from support import hawk

NODES = 400
# By shape: the functions that may have made a suspect; True if it is lost; the blocks lost through it.
SHAPES = {
    "blocks": [({"make_payload"}, True, NODES)],
    "list": [({"make_node"}, True, 2 * NODES)],
    "kept": [({"make_node"}, False, None)],
    "table": [({"make_table"}, True, 2 * NODES + 1)],
    "ring": [({"make_node", "make_other"}, True, 2 * NODES)],
    "rings": [({"make_node", "make_other", "make_third"}, True, 2 * NODES)],
    "pairs": [({"make_node", "make_other"}, True, 2 * NODES)],
    "some": [({"make_node"}, True, 2 * NODES + 1)],
    "two": [({"make_node"}, True, 2 * NODES), ({"make_other"}, True, 2 * NODES)],
    "inside": [({"make_node"}, False, None)],
}


def crash(shape):
    return hawk.crash([program, shape], hawk.tracer_environment(), folder)[0]


def function_of(parsed, site):
    frames = [item["frames"] for item in parsed["sites"] if item["site"] == site]
    return hawk.plain_name(frames[0][0]["function"]) if frames and frames[0] else None


def check_command(shape, suspect):
    """It answers about that site."""
    environment = {**os.environ, "PATH": os.path.dirname(hawk.CORE) + ":" + os.environ["PATH"]}
    done = subprocess.run(["bash", "-c", suspect["next"]], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False)
    hawk.expect(done.returncode in (0, 1, 4) and not done.stderr,
                f"{suspect['next']}: {done.returncode} {done.stderr[-300:]}")
    hawk.expect(": none" not in done.stdout and len(done.stdout.splitlines()) > 3 and
                (suspect["site"] in done.stdout or "merge-paths" in suspect["next"]),
                f"{shape}: {suspect['next']} says {done.stdout}")
    return done


def check_shape(shape, expected):
    core = crash(shape)
    parsed = hawk.document("analyze", core)
    suspects = parsed["suspects"]
    hawk.expect_equal(len(suspects), len(expected), f"suspects of {shape}")
    for functions, is_lost, objects in expected:
        match = [suspect for suspect in suspects
                 if function_of(parsed, suspect["site"]) in functions]
        hawk.expect_equal(len(match), 1, f"{shape}: {functions}")
        if not match:
            continue
        done = check_command(shape, match[0])
        lost = match[0]["lost_through"]
        hawk.expect_equal(lost and lost["objects"], objects, f"{shape}: lost through {functions}")
        hawk.expect_equal((done.returncode == 1, "leaks --site=" in match[0]["next"]),
                          (is_lost, is_lost), f"{shape}: {match[0]['next']}")
        if shape != "some":  # most of whose blocks are kept
            hawk.expect_equal(match[0]["verdict"] == "leak", is_lost, f"{shape}: {match[0]}")
        for site in (lost or {}).get("sites", []):
            check_follower(shape, core, site, {suspect["site"] for suspect in suspects})


def check_follower(shape, core, site, suspects):
    """A requested site's indirectly lost memory is reported with its leaders."""
    done = hawk.run([hawk.CORE, "leaks", f"--site={site}", core])
    hawk.expect(done.returncode in (0, 1) and site in done.stdout and
                "Leaks: none" not in done.stdout, f"{shape}: {done.stdout}")
    parsed = hawk.document("leaks", f"--site={site}", core, codes=(0, 1))
    leaders = parsed["leaders"]
    hawk.expect_equal((sum(leader["objects"] for leader in leaders),
                       sum(leader["bytes"] for leader in leaders)),
                      tuple(parsed["indirectly_lost"].values()), f"{shape}: who lost {site}")
    hawk.expect(not leaders or {leader["site"] for leader in leaders} & suspects,
                f"{shape}: {leaders}, suspects are {suspects}")
    if leaders:
        hawk.expect("Lost through definitely lost blocks of" in done.stdout and
                    all(leader["site"] in done.stdout for leader in leaders[:5]), done.stdout)


def check_retained():
    """Memory held jointly by two blocks of a site counts for the site; the report mentions uncounted memory."""
    core = crash("shared")
    body, entries = 1 << 20, 2 * 48
    sites = {function_of(parsed, site["site"]): site["retained_bytes"]
             for parsed in [hawk.document("retained", core)] for site in parsed["sites"]}
    hawk.expect_equal(sites["make_entry"], {"all_pointers": body + entries, "exact": True}, "entries")
    hawk.expect_equal(sites["make_body"]["all_pointers"], body, "the body alone")
    done = hawk.run([hawk.CORE, "retained", "--size=48", core])
    hawk.expect("make_entry" in done.stdout and ">=" not in done.stdout, done.stdout)
    least = hawk.run([hawk.CORE, "retained", "--top=1", "--full", core]).stdout
    hawk.expect(">=" not in least, least)
    rows = hawk.sql(core, "SELECT all_pointers, exact_all_pointers AS exact FROM retained "
                    f"WHERE shallow_bytes = {entries}")
    hawk.expect_equal(rows, [{"all_pointers": entries, "exact": body + entries}], "SQL has both")
    grown = hawk.document("growth", core)
    hawk.expect(all(site["retained_bytes"]["exact"] is False for site in grown["sites"]), "growth: at least")
    suspects = hawk.analyze(core)["suspects"]
    hawk.expect(all(suspect["retained_bytes"]["exact"] for suspect in suspects), "suspects: exactly")


def check_next():
    """Each verb ends with commands that run as they stand: words in JSON, lines for a shell in the text."""
    spaced = os.path.join(folder, "it's a folder")
    os.makedirs(spaced)
    names = {}
    for shape in ("rings", "kept"):
        names[shape] = f"{shape} core"
        shutil.copy(crash(shape), os.path.join(spaced, names[shape]))
    block = hawk.blocks(os.path.join(spaced, "kept core"), "--top", "1")[0]
    places = {"BLOCK": block["address"], "SITE": block["site"]}
    os.chdir(spaced)
    for shape in names:
        for words, verbs in NEXT[shape].items():
            words = [names.get(word, places.get(word, word)) for word in words.split()]
            core = [] if words[-1] in names.values() else [names[shape]]
            check_commands([words[0], *core, *words[1:]], verbs)
    check_commands(["leaks", "--sysroot=/", "--no-native", names["rings"]], ["refs", "source"])
    with subprocess.Popen(["sleep", "100"]) as process:
        check_commands(["retained", "--by=block", "--pid", str(process.pid)], ["path"])
        process.kill()
    with open(names["rings"], "rb") as file:
        done = subprocess.run([hawk.CORE, "leaks", "--json", "-"], stdin=file, capture_output=True, check=False)
    hawk.expect_equal(json.loads(done.stdout)["next"], [], "a pipe cannot be asked again")


# By shape and question, the verbs of the next commands.
NEXT = {
    "rings": {"leaks": ["refs", "source"], "growth": ["leaks", "source"], "retained --by=tree": ["leaks"],
              "path --function=^make_node": ["leaks"], "analyze": ["leaks"], "verify": []},
    "kept": {"leaks": ["growth"], "growth": ["merge-paths", "source"], "retained": ["path"],
             "retained --by=block": ["path"], "retained --by=root": ["merge-paths"], "sites": ["merge-paths"],
             "merge-paths --function=make_payload": ["source"], "path BLOCK": ["refs"], "refs BLOCK": ["path"],
             "whatis BLOCK": ["refs"], "diff rings kept": ["merge-paths", "source"], "heap": [],
             "source ^make_payload": ["merge-paths"], "schema SITE": ["merge-paths"]},
}


def check_commands(arguments, verbs):
    """Asks as JSON and as text, and runs what is suggested."""
    environment = {**os.environ, "PATH": os.path.dirname(hawk.CORE) + ":" + os.environ["PATH"]}
    done = hawk.run([hawk.CORE, *arguments, "--json"])
    commands = [entry["command"] for entry in json.loads(done.stdout or "{}").get("next", [])]
    hawk.expect_equal([command[:2] for command in commands], [["hawk-core", verb] for verb in verbs], f"{arguments}")
    text = hawk.run([hawk.CORE, *arguments]).stdout
    hawk.expect(all(len(line) <= 80 for line in text.splitlines()), f"{arguments}: {text[-500:]}")
    lines = re.findall("^ +(hawk-core .*)", text.replace("\\\n", ""), re.M)
    hawk.expect_equal([shlex.split(line) for line in lines], commands, f"{arguments}: {text[-500:]}")
    for command in commands:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        hawk.expect(done.returncode in (0, 1, 4) and done.stdout, f"{command}: {done.returncode} {done.stderr[-300:]}")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "shapes"), ["lost_shapes.c"], flags=["-O1"])
for name, wanted in SHAPES.items():
    check_shape(name, wanted)
hawk.run_checks(globals())
