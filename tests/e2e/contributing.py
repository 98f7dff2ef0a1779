# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING.md: its picture of the layers is that of the targets; files, tests and commits it names exist."""

import os
import re
import subprocess

from support import hawk

with open(f"{hawk.SOURCE}/CONTRIBUTING.md", encoding="utf-8") as file:
    page = file.read()
with open(f"{hawk.BUILD}/layers.mmd", encoding="utf-8") as file:
    picture = file.read()
hawk.expect(f"```mermaid\n{picture}```\n" in page, "the picture of the layers differs from build/layers.mmd")

with open(f"{hawk.SOURCE}/docs/design.md", encoding="utf-8") as file:
    design = file.read()
listed = re.findall(r"^      (\w+)/ ", design, re.M)
drawn = re.findall(r"^    (\w+) -->", picture, re.M)
hawk.expect(set(listed) == set(drawn) - {"tracer"}, f"docs/design.md lists {listed}, targets are {drawn}")

for text, name in ((page, "CONTRIBUTING.md"), (design, "docs/design.md")):
    for path in re.findall(r"`([\w./]+/[\w.]*)`", text):
        if path.startswith("build/"):
            continue
        layer = path.split("/")[0]  # "heap/spans.h" is what heap/ shows to others
        places = [path, f"analyzer/{path}", f"tracer/{path}", f"analyzer/{layer}/include/hawk/{path}"]
        hawk.expect(any(os.path.exists(f"{hawk.SOURCE}/{place}") for place in places) or re.search("[A-Z]{4}", path),
                    f"{name} names {path}, which does not exist")
for test in re.findall(r"'\^(unit|e2e)\.(\w+)\$'", page):
    found = [file for _, _, files in os.walk(f"{hawk.SOURCE}/tests/{test[0]}") for file in files
             if os.path.splitext(file)[0] == test[1]]
    hawk.expect(found, f"no test is called {'.'.join(test)}")

shallow = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=hawk.SOURCE, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
if shallow == "false":
    for commit in re.findall(r"\b[0-9a-f]{7}\b", page):
        found = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=hawk.SOURCE, check=False,
                               stderr=subprocess.DEVNULL)
        hawk.expect(found.returncode == 0, f"no commit {commit}")
hawk.finish()
