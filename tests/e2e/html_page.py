# SPDX-License-Identifier: Apache-2.0
"""The page for a browser: one file, whole or not there, that makes no request; names that would break out of it; and
what Chromium shows of it."""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess

from support import hawk

# A function's name cannot hold these, a scope's can.
HOSTILE = "</script><script>document.title='broken out'</script>\u202e"
PROGRAM = r"""
#include "hawk_annotate.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[64];
static void keep_one(int i) { HAWK_SCOPE(NAME); kept[i] = malloc(1000); }
int main(int count, char **arguments)
{
	(void)arguments;
	for (int i = 0; i < 64; i++)
		keep_one(i);
	if (count == 1)
		abort();
	puts("ready");
	fflush(stdout);
	pause();
}
"""


def page_of(*arguments, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL)):
    path = os.path.join(folder, "page.html")
    hawk.text_of("html", "--force", "-o", path, *arguments, codes=codes)
    return path, hawk.read(path).decode("utf-8")


def check_file():
    path, text = page_of(core)
    hawk.expect_equal(os.stat(path).st_mode & 0o777, 0o600, "mode")
    hawk.expect(text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>"), "a whole page")
    hawk.expect("default-src 'none'" in text.split("<title>")[0], "content security policy")
    hawk.expect(not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text), "nothing is fetched")
    hawk.expect("broken out" not in text, "names are packed")
    done = hawk.run([hawk.CORE, "html", "-o", path, core])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "an existing file is kept")
    done = hawk.run([hawk.CORE, "html", "-o", os.path.join(folder, "none", "page.html"), core])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "no folder")


def check_payload():
    """The sums of analyze are in it."""
    _, text = page_of(core)
    parts = [gzip.decompress(base64.b64decode(part)) for part in re.findall(r">\s*(H4sI[A-Za-z0-9+/=\s]+)<", text)]
    hawk.expect(parts, "packed parts")
    total = hawk.analyze(core)["heap"]["inuse_bytes"]
    hawk.expect(any(f'"inuse_bytes":{total}'.encode() in part for part in parts), f"{total} bytes in no part")


def part_of(text, name):
    return json.loads(gzip.decompress(base64.b64decode(re.search(f'data-part="{name}">([^<]*)<', text)[1])))


def check_process():
    """Suspects, and what is lost, as in `analyze --suspects`; and objects."""
    process = hawk.spawn([program, "wait"], env=hawk.tracer_environment(), stdout=subprocess.PIPE)
    process.stdout.readline()
    wanted = hawk.document("analyze", "--suspects", f"--pid={process.pid}")
    _, text = page_of(f"--pid={process.pid}")
    process.kill()
    found = part_of(text, "analyze")
    for key in ("suspects", "startup_bytes"):
        hawk.expect_equal(_without_ages(found[key]), _without_ages(wanted[key]), key)
    hawk.expect_equal(found["heap"]["lost"], wanted["heap"]["lost"], "lost")
    objects = part_of(text, "objects")["objects"]
    hawk.expect(any((block["root"] or {"name": ""})["name"].startswith("`kept`") for block in objects), f"objects: {objects}")


def _without_ages(suspects):
    return [suspect["site"] for suspect in suspects] if isinstance(suspects, list) else suspects


def check_other_input():
    for arguments, code in (([untraced], hawk.EXIT_OK), (["--no-native", untraced], hawk.EXIT_PARTIAL), ([hawk.cut(core, os.path.getsize(core) // 2)],
                                                              hawk.EXIT_PARTIAL)):
        _, text = page_of(*arguments, codes=(code,))
        hawk.expect(text.rstrip().endswith("</html>"), f"{arguments}: a whole page")
    page_of("--base", core, core)


def check_browser():
    chromium = shutil.which("chromium")
    if not chromium:
        print("without a browser")
        return
    path, _ = page_of(core)
    done = hawk.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                     "--virtual-time-budget=8000", "--dump-dom", "file://" + path])
    hawk.expect("SIGABRT" in done.stdout and "keep_one" in done.stdout, f"the first screen: {done.stdout[-600:]}")
    hawk.expect("<title>broken out" not in done.stdout, "a name broke out")


folder = hawk.temporary_folder()
name = '"' + "".join(f"\\{byte:03o}" for byte in HOSTILE.encode()) + '"'
program = hawk.compile_text(folder, "page", PROGRAM.replace("NAME", name), flags=["-O0", "-I", os.path.join(hawk.SOURCE,
                                                                                                         "tracer")])
core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
untraced, _ = hawk.crash([program], hawk.plain_environment(), folder)
hawk.run_checks(globals())
