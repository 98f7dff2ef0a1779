# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=900
"""The tests of perl and of Tcl, from Debian's source packages, run by Debian's interpreters."""

import os
import re

from support import hawk, suites

PERL = ["op/hash.t", "op/sort.t", "op/split.t", "op/push.t", "op/closure.t", "op/local.t",
        "re/subst.t", "re/qr_gc.t", "op/repeat.t", "op/fork.t"]
PERL_LONG = ["op/pack.t", "op/sprintf.t", "op/substr.t", "op/threads.t", "re/pat.t", "op/magic.t",
             "re/regexp.t", "op/utfhash.t", "op/taint.t", "op/tie.t", "op/tr.t", "op/each.t"]
TCL = ["string.test", "list.test", "dict.test", "encoding.test", "lsearch.test", "append.test",
       "interp.test", "split.test"]
TCL_LONG = ["regexp.test", "reg.test", "format.test", "scan.test", "binary.test", "oo.test",
            "namespace.test", "trace.test", "coroutine.test", "var.test", "zlib.test"]


def perl_verdicts(text):
    return re.findall(r"^(?:not )?ok \d+|^1\.\.\d+", text, re.M)


def tcl_verdicts(text):
    return re.findall(r"^==== \S+ .*FAILED|^\S+\.test:\s+Total.*", text, re.M)


perl, tclsh = "/usr/bin/perl", hawk.need("tclsh8.6")
folder = hawk.temporary_folder()
found = suites.sources(folder, "perl", "tcl8.6")
for test in PERL + (PERL_LONG if suites.LONG else []):
    suites.same([perl, "-I../lib", test], f"perl: {test}", os.path.join(found["perl"], "t"),
                extra={"PERL_CORE": "1"}, outcome=perl_verdicts)
for test in TCL + (TCL_LONG if suites.LONG else []):
    suites.same([tclsh, test], f"tcl: {test}", os.path.join(found["tcl8.6"], "tests"), code=0,
                outcome=tcl_verdicts)
hawk.finish()
