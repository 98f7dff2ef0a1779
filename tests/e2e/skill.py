# SPDX-License-Identifier: Apache-2.0
"""SKILL.md: its commands answer, and its calls of the server with the same documents."""

import json
import os
import re
import shlex

from support import hawk, holder_world
from support.mcp_client import Client


def fill(text):
    return re.sub(r"\b(" + "|".join(values) + r")\b", lambda found: values[found[0]], text)


def check_commands():
    commands = re.findall(r"^    (hawk-core .*)$", page, re.M)
    hawk.expect_equal(len(commands), 14, "commands")
    for command in commands:
        done = hawk.run([hawk.CORE, *shlex.split(fill(command))[1:]])
        hawk.expect(done.returncode in (hawk.EXIT_OK, hawk.EXIT_CONDITION) and len(done.stdout) > 50,
                    f"{command}: {done.returncode}, {done.stderr}")
        answers.append(done.stdout)


def check_calls():
    calls = [json.loads(fill(line)) for line in re.findall(r'^\{"name".*$', page, re.M)]
    hawk.expect_equal(len(calls), 14, "calls")
    client = Client()
    for call, answer in zip(calls, answers):
        found = client.whole(call["name"], **call["arguments"])
        if call["name"] == "sql":
            hawk.expect(found == answer, f"{call}: {found[:200]}")
        else:
            hawk.expect_equal(json.loads(found)["schema"], json.loads(answer)["schema"], f"{call}")
    client.end()


def check_words():
    """Fields and words that the page explains stand in the answers."""
    text = "".join(answers)
    for word in ("suspects", "holder", "next", "frames", "definitely_lost", "indirectly_lost", "possibly_lost", "records",
                 "cycle", "verdict", "confidence", "reasons", "text", "sites", "missing", "damage", "traced", "partial"):
        hawk.expect(f"`{word}`" in page or f'"{word}"' in page or f"`\"{word}\"" in page, f"SKILL.md says {word}")
        hawk.expect(f'"{word}":' in text, f"no answer has {word}")


with open(os.path.join(hawk.SOURCE, "SKILL.md"), encoding="utf-8") as file:
    page = file.read()
folder = hawk.temporary_folder()
core, truth = holder_world.crash(folder)
answers = []
site = json.loads(hawk.run([hawk.CORE, "path", "--json", core, hex(truth["name"])]).stdout)["addresses"][0]["block"]["site"]
values = {"CORE": core, "LATER": core, "SITE": site, "ADDRESS": hex(truth["name"]), "TYPE": "Session",
          "FUNCTION": "make_name"}
hawk.run_checks(globals())
