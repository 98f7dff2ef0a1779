# SPDX-License-Identifier: Apache-2.0
"""The tracer's boundary: exactly the expected exports, no unexpected import, no lazy TLS, and the
magic number of the table nowhere in the file. Then by behaviour: frees leave no live header behind,
whatever the allocator does to dead memory (`gcc -O2` likes to delete such a store)."""

import os
import re

from support import hawk

EXPECTED = os.path.join(hawk.SOURCE, "tests", "e2e", "expected")


def read_list(name):
    with open(os.path.join(EXPECTED, name), encoding="ascii") as lines:
        return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def symbols(selector):
    done = hawk.run([hawk.need("nm"), "-D", selector, hawk.TRACER])
    hawk.expect_equal(done.returncode, 0, "nm")
    return {re.sub(r"@.*", "", line.split()[-1]) for line in done.stdout.splitlines()}


def check_symbols():
    exports = symbols("--defined-only")
    imports = symbols("--undefined-only")
    hawk.expect_equal(sorted(exports), sorted(read_list("tracer_exports.txt")), "exports")
    hawk.expect_equal(sorted(imports - read_list("tracer_imports.txt")), [],
                      "imports beyond the list")
    hawk.expect("__tls_get_addr" not in imports, "the tracer calls __tls_get_addr")


def check_dynamic_section():
    done = hawk.run([hawk.need("readelf"), "-dW", hawk.TRACER])
    needed = re.findall(r"NEEDED.*\[(.*?)\]", done.stdout)
    hawk.expect(set(needed) <= {"libc.so.6", "ld-linux-x86-64.so.2"}, f"it needs {needed}")
    for flag in ("NODELETE", "NOW"):
        hawk.expect(re.search(rf"Flags:.*\b{flag}\b", done.stdout), f"not linked with {flag}")
    hawk.expect("TEXTREL" not in done.stdout, "text relocations")
    hawk.expect("RUNPATH" not in done.stdout and "RPATH" not in done.stdout, "a run path")


def check_magic():
    for path in (hawk.TRACER, hawk.CORE):
        with open(path, "rb") as file:
            hawk.expect(b"HAWKTBL1" not in file.read(), f"{path} holds the table's magic")


def check_wipe(allocator):
    library = hawk.need_allocator(allocator)
    folder = hawk.temporary_folder()
    core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "dead"), "abort"],
                         hawk.tracer_environment(library), folder)
    analysis = core and hawk.analyze(core)
    if not analysis:
        return
    live = {"make_doomed": 0, "make_kept": 0}
    for site in analysis["sites"]:
        for name in set(hawk.functions_of(site)) & live.keys():
            live[name] += site["inuse_objects"]
    hawk.expect_equal(live, {"make_doomed": 0, "make_kept": 10}, f"live blocks on {allocator}")
    hawk.check_counters(analysis, f"dead on {allocator}")


check_symbols()
check_dynamic_section()
check_magic()
for name in hawk.ALLOCATORS:
    check_wipe(name)
hawk.finish()
