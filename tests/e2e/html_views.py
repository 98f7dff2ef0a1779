# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
# ctest: long=firefox
# ctest: for=build views firefox
"""The page of `html` in browsers: it is what its sources build; each view by its address, before and after a reload, with
the sums of `analyze`; what axe-core says of each, light and dark; hostile names."""

import os
import shutil
import sys

from support import firefox, hawk, readers

PAGE = os.path.join(hawk.SOURCE, "analyzer", "report", "html", "page")
# A function's name cannot hold these, a scope's can.
HOSTILE = "</script><script>document.title='broken out'</script>\u202e"
PROGRAM = r"""
#include "hawk_annotate.h"
#include <stdlib.h>
static void *kept[64], *lost;
static void keep_one(int i) { HAWK_SCOPE(NAME); kept[i] = malloc(1000); hawk_annotate_type(kept[i], "Cell"); }
static void keep_list(int count) { void **all = 0; for (int i = 0; i < count; i++) { void **one = malloc(64); *one = all; all = one; } kept[63] = all; }
static void lose(void) { lost = malloc(5000); lost = 0; }
int main(int count, char **arguments)
{
	int cells = atoi(arguments[1]);
	(void)count;
	for (int i = 0; i < cells; i++)
		keep_one(i);
	keep_list(100);
	lose();
	abort();
}
"""


def build_page():
    """A copy of the sources beside the packages: the bundler looks for these in the folders above."""
    packages = readers.packages(PAGE, "page")
    folder = os.path.dirname(packages)
    for name in ("src", "build.mjs", "page.html"):
        source, target = os.path.join(PAGE, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    built = os.path.join(folder, "built.html")
    done = hawk.run([hawk.need("node"), os.path.join(folder, "build.mjs"), built])
    hawk.expect_equal(done.returncode, 0, f"build.mjs: {done.stderr[-2000:]}")
    hawk.expect(hawk.read(built) == hawk.read(os.path.join(PAGE, "dist", "page.html")),
                "dist/page.html is not what the sources make: run npm ci and npm run build in " + PAGE)


def make_cores():
    name = '"' + "".join(f"\\{byte:03o}" for byte in HOSTILE.encode()) + '"'
    program = hawk.compile_text(folder, "views", PROGRAM.replace("NAME", name),
                                flags=["-O0", "-I", os.path.join(hawk.SOURCE, "tracer")])
    for count in (10, 60):
        yield hawk.crash([program, str(count)], hawk.tracer_environment(), hawk.temporary_folder())[0]


def make_server_core():
    """A C++ program with long names, cycles and suspects."""
    program = hawk.compile_program(os.path.join(folder, "server"), ["session_server.cpp"], "g++", ["-O1", "-std=c++17"])
    return hawk.crash([program, "1000"], hawk.tracer_environment(), hawk.temporary_folder())[0]


def make_page(name, *arguments):
    path = os.path.join(folder, name)
    hawk.text_of("html", "--force", "-o", path, *arguments, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL))
    return path


def check_views():
    chromium = hawk.need("chromium")
    packages = readers.packages(PAGE, "page")
    plain = make_page("plain.html", "--with-source", "--source-dir", folder, core)
    compared = make_page("compared.html", "--base", base, core)
    server = make_page("server.html", make_server_core())
    total = hawk.analyze(core)["heap"]["inuse_bytes"]
    done = readers.read_with("html_views.mjs", packages, chromium, plain, compared, server, str(total), folder)
    for problem in done.get("problems", ["nothing came back"]):
        hawk.expect(False, problem)
    hawk.expect(len(done.get("views", [])) >= 20, f"views: {done.get('views')}")
    hawk.expect("live" in done.get("profiles", []) and "lost" in done.get("profiles", []), f"{done.get('profiles')}")


def check_firefox():
    browser = firefox.Firefox()
    page = make_page("firefox.html", core)
    blank = len(browser.picture())
    for view, wanted in (("summary", "SIGABRT"), ("table", "keep_one"), ("leaks", "lose"), ("stacks", "views")):
        browser.open_report(page, "#" + view)
        text = browser.property("body", "innerText")
        hawk.expect(wanted in text, f"{view} has no {wanted}: {text[:400]}")
        hawk.expect(len(browser.picture()) > 3 * blank, f"{view} is not drawn")
    hawk.expect_equal(browser.errors(), [], "errors of the page")


if sys.argv[1] == "build":
    build_page()
else:
    folder = hawk.temporary_folder()
    base, core = make_cores()
    {"views": check_views, "firefox": check_firefox}[sys.argv[1]]()
hawk.finish()
