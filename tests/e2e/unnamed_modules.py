# SPDX-License-Identifier: Apache-2.0
"""Cores that do not name the mapped files: the answers are the same, and each module says how it was found. The list
of files is taken out of kernel cores of a dynamic and a static program; qemu-user's cores never have one."""

import glob
import os
import shutil

from support import hawk
from support.core_surgery import without_file_note

LEAKY = r"""
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	char text[100];
};

struct node *kept;

int main(void)
{
	for (int i = 0; i < 500; i++) {
		struct node *node = calloc(1, sizeof(*node));

		node->next = kept;
		kept = node;
	}
	for (int i = 0; i < 10; i++)
		memset(malloc(500), 1, 500);
	abort();
}
"""
NAMES_MISSING = "the core does not say which files were mapped"


def real_paths(value):
    """/lib/libc.so.6 and /usr/lib/libc.so.6 may be one file."""
    if isinstance(value, list):
        return [real_paths(entry) for entry in value]
    if isinstance(value, dict):
        return {key: real_paths(entry) for key, entry in value.items()}
    return os.path.realpath(value) if isinstance(value, str) and value.startswith("/") else value


def answers(data):
    """What leaks and threads say of a core, and the modules."""
    core = hawk.write(os.path.join(folder, "asked"), data)
    found = [hawk.document(verb, core, codes=(hawk.EXIT_OK, hawk.EXIT_CONDITION)) for verb in ("leaks", "threads")]
    missing = [finding["text"] for document in found for finding in document.pop("missing")
               if finding["key"] != "names-missing"]
    for document in found:
        document.pop("missing_shown"), document.pop("missing_total")
    return real_paths(found), missing, hawk.analyze(core, codes=(hawk.EXIT_OK,))["modules"]


def found_by(modules):
    return {os.path.basename(module["path"]): module["found_by"] for module in modules}


def check_kernel_core(program, wanted):
    data = hawk.read(hawk.crash([program], hawk.plain_environment(), folder)[0])
    named, missing, modules = answers(data)
    hawk.expect_equal(missing, [], "missing with NT_FILE")
    hawk.expect_equal(set(found_by(modules).values()), {"mapping", "auxv"}, "found by, with NT_FILE")
    hawk.expect(named[0]["records"], "leaks are found")
    unnamed, missing, modules = answers(without_file_note(data))
    hawk.expect_equal(unnamed, named, f"answers of {program} without NT_FILE")
    hawk.expect(missing and all(text.startswith(NAMES_MISSING) for text in missing), f"{missing}")
    ways = found_by(modules)
    hawk.expect_equal({name.split(".")[0]: ways[name] for name in ways if name != "[vdso]"}, wanted, "found by")


def check_qemu_core(program):
    emulator = shutil.which("qemu-x86_64")
    if not emulator:
        return
    hawk.run([emulator, program], cwd=folder, env=hawk.plain_environment(), preexec_fn=hawk.allow_cores)
    core, = glob.glob(os.path.join(folder, f"qemu_{os.path.basename(program)}_*.core"))
    stack = hawk.document("threads", core)["threads"][0]["frames"]
    hawk.expect_equal([frame["function"] for frame in stack].count("main"), 1, f"main in qemu's core of {program}")
    lost = hawk.document("leaks", core, codes=(hawk.EXIT_CONDITION,))
    hawk.expect(lost["definitely_lost"]["objects"] in (9, 10), f"lost in qemu's core: {lost['definitely_lost']}")


folder = hawk.temporary_folder()
dynamic = hawk.compile_text(folder, "dynamic", LEAKY)
static = hawk.compile_text(folder, "static", LEAKY, flags=["-static"])
check_kernel_core(dynamic, {"dynamic": "auxv", "libc": "link_map", "ld-linux-x86-64": "link_map"})
check_kernel_core(static, {"static": "auxv"})
check_qemu_core(dynamic)
check_qemu_core(static)
hawk.finish()
