# SPDX-License-Identifier: Apache-2.0
"""Drawings in comments: none is torn, and clang-format leaves them alone when the sentence above grows."""

import re
import shutil
import subprocess

from support import hawk

DRAWN = re.compile(r"^\s*\* {4,}\S")
TORN = re.compile(r"^\s*\* {0,3}(\||\+--|-+>)")
SENTENCE = re.compile(r"^ \* \w.*\w[.:,]?$")


def drawings(lines):
    return [line for line in lines if DRAWN.match(line)]


def lengthen(lines):
    """Makes every sentence before a drawing too long for its line. Returns the file's new text."""
    longer = list(lines)
    for i in range(len(lines) - 1):
        following = lines[i + 2] if lines[i + 1].strip() == "*" and i + 2 < len(lines) else lines[i + 1]
        if SENTENCE.match(lines[i]) and DRAWN.match(following):
            longer[i] = lines[i] + " word" * 20
    return "\n".join(longer)


def formatted(path, text):
    return subprocess.run(["clang-format", "--style=file", f"--assume-filename={path}"], input=text, text=True,
                          cwd=hawk.SOURCE, stdout=subprocess.PIPE, check=True).stdout.split("\n")


# Below a sentence without a blank line between, and wider than a line may be.
HARD = ["/**", " * A sentence" + " word" * 20, " *     | abc | def |", " *     +" + "-" * 100 + "+", " *     xyz", " */", "int x;"]
if shutil.which("clang-format"):
    kept = drawings(formatted("formats/hawk_snapshot.h", "\n".join(HARD)))
    hawk.expect(kept == drawings(HARD), f"clang-format changes a drawing: {kept}")

listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=hawk.SOURCE, text=True, stdout=subprocess.PIPE)
if listed.returncode:
    hawk.skip("not a git checkout")
drawn = 0
for path in listed.stdout.split():
    with open(f"{hawk.SOURCE}/{path}", encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        hawk.expect(not TORN.match(line), f"{path}:{number}: a torn drawing: {line}")
    text = lengthen(lines)
    if text == "\n".join(lines):
        continue
    drawn += 1
    if shutil.which("clang-format"):
        kept = drawings(formatted(path, text))
        hawk.expect(kept == drawings(lines), f"{path}: clang-format changes a drawing")
hawk.expect(drawn > 20, f"only {drawn} files with drawings were found")
hawk.finish()
