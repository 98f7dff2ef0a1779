# SPDX-License-Identifier: Apache-2.0
"""The command is hardened: what the linker noted in it, and what the compiler was told."""

import json
import os
import re

from support import hawk


def readelf(*arguments):
    return hawk.run([hawk.need("readelf"), "-W", *arguments, hawk.CORE]).stdout


def check_linked():
    dynamic, headers = readelf("--dynamic"), readelf("--program-headers")
    hawk.expect(re.search(r"\(FLAGS\).*BIND_NOW", dynamic), "BIND_NOW")
    hawk.expect(re.search(r"\(FLAGS_1\).*\bNOW\b.*\bPIE\b", dynamic), "PIE")
    hawk.expect(re.search(r"^ *GNU_RELRO ", headers, re.M), "RELRO")
    hawk.expect(re.search(r"^ *GNU_STACK .* RW +0x", headers, re.M), "a stack that holds no code")
    hawk.expect(not re.search(r"^ *LOAD .* RWE ", headers, re.M), "no segment to be written and run")
    hawk.expect("TEXTREL" not in dynamic, "no relocations of code")


def check_compiled():
    symbols = readelf("--dyn-syms")
    hawk.expect("__stack_chk_fail" in symbols, "stack protector")
    hawk.expect(re.search(r"__(vsnprintf|snprintf|memcpy|vasprintf|fprintf)_chk", symbols), "_FORTIFY_SOURCE")


def check_commands():
    """-fstack-clash-protection leaves no mark."""
    path = os.path.join(hawk.BUILD, "compile_commands.json")
    if not os.path.exists(path):
        print("no compile_commands.json")
        return
    folder = os.path.join(hawk.SOURCE, "analyzer")
    found = [entry["command"] for entry in json.loads(hawk.read(path)) if entry["file"].startswith(folder)]
    hawk.expect(len(found) > 100, f"{len(found)} files")
    for flag in ("-fstack-protector-strong", "-fstack-clash-protection", "-D_FORTIFY_SOURCE="):
        lacking = [command for command in found if flag not in command]
        hawk.expect(not lacking, f"{len(lacking)} files without {flag}")


if "__asan_init" in readelf("--dyn-syms"):
    hawk.skip("built with a sanitizer")
hawk.run_checks(globals())
