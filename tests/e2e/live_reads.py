# SPDX-License-Identifier: Apache-2.0
"""A process that is looked at stands still meanwhile: its memory is not read word by word. A question
takes about as many reads as the process has pages, and the answer is that of a core of it; of a process
that is killed meanwhile there is none."""

import os
import re
import subprocess
import tempfile
import time

from support import hawk

SCRIPT = """
my %h; $h{$_} = {a => [1..5], b => "x$_"} for 1..20000;
$| = 1; print "ready\\n"; sleep 1000;
"""
PAGE_BYTES = 4096


def resident_pages(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1])


def ask(source, *arguments, **options):
    done = hawk.run([hawk.CORE, *arguments, "--json", *source], **options)
    if "not permitted" in done.stderr:
        hawk.skip("processes may not be attached to here")
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), " ".join(arguments))
    return hawk.parse(done.stdout)


def check_reads(pid, counter, file, *arguments):
    """Counts reads: the question takes a few for each page (every thread has pages of its own)."""
    if os.path.exists(file):
        os.unlink(file)
    ask(["--pid", str(pid)], *arguments,
        env={**os.environ, "LD_PRELOAD": counter, "COUNT_READS": file})
    with open(file, encoding="ascii") as text:
        reads = int(text.read())
    pages = resident_pages(pid)
    hawk.expect(0 < reads < 10 * pages, f"{arguments}: {reads} reads of {pages} pages")


def sums(analysis):
    return [analysis[kind] for kind in ("definitely_lost", "indirectly_lost", "possibly_lost",
                                        "still_reachable")]


def leaks_of(source, *arguments):
    return sums(ask(source, "leaks", *arguments))


def check_answer(pid, folder):
    """The process gives the same answers as its core."""
    answers = [leaks_of(["--pid", str(pid)]), leaks_of([hawk.gcore(pid, folder)])]
    hawk.expect_equal(answers[0], answers[1], "leaks of a process and of its core")
    hawk.expect(answers[0][3]["objects"] > 50000, f"blocks: {answers[0]}")


def check_same_blocks(pid, folder, *questions):
    """Each block, as in a core of it."""
    core = hawk.gcore(pid, folder)
    for question in questions:
        answers = []
        for source in ["--pid", str(pid)], [core]:
            done = hawk.run([hawk.CORE, "blocks", *question, *source])
            hawk.expect_equal((done.returncode, done.stderr), (0, ""), f"blocks {question} {source}")
            # Types are of cores alone.
            answers.append(re.sub(r'"age_seconds":[\d.]+,|,"type":[^}]*| +[\d.]+  (\w+)(  .+)?$', r"\1", done.stdout,
                                  flags=re.M))
        hawk.expect(answers[0] and answers[0] == answers[1], f"blocks {question} of a process and of its core")


def check_slow_reader(pid):
    """A reader who takes their time does not keep the process from running."""
    with subprocess.Popen([hawk.CORE, "blocks", "--pid", str(pid)], stdout=subprocess.PIPE) as asked:
        asked.stdout.read(1)
        hawk.wait_for_state(pid, "S", "while nobody reads on", 10)
        hawk.expect(asked.poll() is None, "there is more to read")
        asked.stdout.close()


def start_perl():
    perl = hawk.spawn([hawk.need("perl"), "-e", SCRIPT], stdout=subprocess.PIPE, text=True,
                      env=hawk.tracer_environment(extra={"PERL_HASH_SEED": "0"}))
    hawk.expect_equal(perl.stdout.readline(), "ready\n", "perl")
    hawk.wait_for_state(perl.pid, "S", "perl")
    return perl


def kill_while_it_is_read(process, seconds, *arguments):
    """Asks of the process, and kills it so long after it stood still; (exit code, stdout, stderr)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        asked = subprocess.Popen([hawk.CORE, *arguments, "--pid", str(process.pid)], stdout=out, stderr=err)
        while asked.poll() is None and hawk.state_of(process.pid) != "t":
            pass
        time.sleep(seconds)
        process.kill()
        asked.wait(timeout=60)
        process.wait()
        out.seek(0)
        err.seek(0)
        return asked.returncode, out.read(), err.read()


def without_ages(text):
    return re.sub(r'<?[\d.]+ s\b|"age_seconds":[\d.]+', "...", text)


def check_killed(folder):
    """Whenever it is killed: the whole answer, or none; of a long one there is what was printed until then.
    What it answers is asked of the same process before: another may hold pointers in other registers."""
    program = hawk.compile_program(os.path.join(folder, "two_classes"), ["two_classes.cpp"], "g++")
    cut = 0
    for question in (["merge-paths", "--type=Apple"], ["retained", "--by=block"], ["refs"],
                     ["path", "--type=Apple", "--top=1"], ["path"], ["blocks", "--json", "--type=Apple"],
                     ["retained", "--json", "--by=tree", "--type=Apple"]):
        for step in (0, 5):
            process = hawk.spawn([program], stdout=subprocess.PIPE, text=True,
                                 env=hawk.tracer_environment())
            last = process.stdout.readline().strip()
            hawk.wait_for_state(process.pid, "S", "two_classes")
            arguments = [*question, last] if len(question) == 1 else question
            done = hawk.run([hawk.CORE, *arguments, "--pid", str(process.pid)])
            hawk.expect_equal((done.returncode, done.stderr), (0, ""), f"{arguments}")
            hawk.expect(re.search(r'\[(Apple|Pear)\]| 10,000 |_bytes|"kind":"new"', done.stdout),
                        f"{arguments}: {done.stdout[:300]!r}")
            wanted = without_ages(done.stdout)
            if step == 0 and question[0] == "blocks":
                check_same_blocks(process.pid, folder, question[1:], ["--json", "--function=main", "--type=Pear"])
            code, out, err = kill_while_it_is_read(process, step * 0.01, *arguments)
            cut += "ended while it was read" in err
            if code == hawk.EXIT_UNREADABLE:
                lines = without_ages(out[:out.rfind("\n") + 1])
                hawk.expect(wanted.startswith(lines) and (not lines or len(out) > 100000),
                            f"{arguments}: beside an error {out[:500]!r}")
            else:
                hawk.expect_equal((code, without_ages(out)), (0, wanted),
                                  f"{arguments}: killed after {step * 10} ms")
    hawk.expect(cut > 0, f"{cut} were killed in the midst of it")


def main():
    hawk.need("gcore")
    folder = hawk.temporary_folder()
    counter = hawk.compile_program(os.path.join(folder, "count_reads.so"), ["count_reads.c"],
                                   flags=["-shared", "-fPIC"])
    file = os.path.join(folder, "reads")
    perl = start_perl()
    site = ask(["--pid", str(perl.pid)], "sites")["sites"][0]["site"]
    for question in (["analyze"], ["leaks"], ["leaks", "--type=Nothing"], ["growth"], ["sites"],
                     ["retained"], ["retained", "--by=tree"], ["merge-paths"],
                     ["path", "--top=3", f"--site={site}"], ["schema", f"--site={site}"]):
        check_reads(perl.pid, counter, file, *question)
    check_answer(perl.pid, folder)
    check_same_blocks(perl.pid, folder, ["--json"], ["--json", "--top=20"], ["--json", "--size=16-40"], ["--top=3"], [])
    check_slow_reader(perl.pid)
    check_killed(folder)


main()
hawk.finish()
