# SPDX-License-Identifier: Apache-2.0
"""A process that is looked at stands still meanwhile: its memory is not read word by word. A question
takes about as many reads as the process has pages, and the answer is that of a core of it."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import hawk  # noqa: E402

SCRIPT = """
my %h; $h{$_} = {a => [1..5], b => "x$_"} for 1..20000;
$| = 1; print "ready\\n"; sleep 1000;
"""
PAGE_BYTES = 4096


def resident_pages(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1])


def sleeps(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"


def ask(source, *arguments, **options):
    done = hawk.run([hawk.CORE, *arguments, "--json", *source], **options)
    if "not permitted" in done.stderr:
        hawk.skip("processes may not be attached to here")
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), " ".join(arguments))
    return json.loads(done.stdout)


def check_reads(pid, counter, file, *arguments):
    """That question takes fewer reads than two for each page."""
    ask(["--pid", str(pid)], *arguments,
        env={**os.environ, "LD_PRELOAD": counter, "COUNT_READS": file})
    with open(file, encoding="ascii") as text:
        reads = int(text.read())
    pages = resident_pages(pid)
    hawk.expect(0 < reads < 2 * pages, f"{arguments}: {reads} reads of {pages} pages")


def check_answer(pid, folder):
    """Of the process as of its core."""
    answers = [[analysis[kind] for kind in ("definitely_lost", "indirectly_lost", "possibly_lost",
                                            "still_reachable")]
               for analysis in (ask(["--pid", str(pid)], "leaks"),
                                ask([hawk.gcore(pid, folder)], "leaks", "--no-cache"))]
    hawk.expect_equal(answers[0], answers[1], "leaks of a process and of its core")
    hawk.expect(answers[0][3]["objects"] > 50000, f"blocks: {answers[0]}")


def main():
    folder = hawk.temporary_folder()
    counter = hawk.compile_program(os.path.join(folder, "count_reads.so"), ["count_reads.c"],
                                   flags=["-shared", "-fPIC"])
    file = os.path.join(folder, "reads")
    perl = hawk.spawn([hawk.need("perl"), "-e", SCRIPT], stdout=hawk.subprocess.PIPE, text=True,
                      env=hawk.tracer_environment(extra={"PERL_HASH_SEED": "0"}))
    hawk.expect_equal(perl.stdout.readline(), "ready\n", "perl")
    hawk.wait_for(lambda: sleeps(perl.pid), 60, "perl to sleep")
    site = ask(["--pid", str(perl.pid)], "sites")["sites"][0]["site"]
    for question in (["analyze"], ["leaks"], ["leaks", "--type=Nothing"], ["growth"], ["sites"],
                     ["retained"], ["retained", "--by=tree"], ["merge-paths"],
                     ["path", "--top=3", f"--site={site}"], ["schema", f"--site={site}"]):
        check_reads(perl.pid, counter, file, *question)
    check_answer(perl.pid, folder)


main()
hawk.finish()
