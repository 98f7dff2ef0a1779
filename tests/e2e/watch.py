# SPDX-License-Identifier: Apache-2.0
"""watch shows which sites of a running process grow, by its counters, and does not stop it."""

import json
import os
import pty
import re
import subprocess

from support import hawk, json_schema

# One site grows by 20,000 bytes a turn, another one works and frees, a third one holds much from the start.
PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void *grow(void) { void *volatile it = malloc(20000); return it; }
__attribute__((noinline)) static void work(void) { void *volatile it = malloc(300000); free(it); }
__attribute__((noinline)) static void *begin(void) { void *volatile it = malloc(10000000); return it; }

int main(void)
{
	begin();
	for (;;) {
		grow();
		work();
		usleep(50000);
	}
}
"""


def start(*options):
    process = subprocess.Popen([program], env=hawk.tracer_environment(options=":".join(options) or None))
    hawk.wait_for_state(process.pid, "S", "it runs", 10)
    return process


def end(process):
    process.kill()
    process.wait()


def watch(pid, *arguments):
    done = hawk.run([hawk.CORE, "watch", "--pid", str(pid), "--interval=1", *arguments])
    if "not permitted" in done.stderr or "may not be traced" in done.stderr:
        hawk.skip("processes may not be read here")
    hawk.expect_columns(done.stdout, "watch")
    return done


def sites_of(look):
    """Names in the order of the list."""
    return [line.split()[-2] for line in look.split("site\n")[1].splitlines() if line.strip()]


def check_live():
    process = start("live=1")
    log = os.path.join(folder, "log")
    done = watch(process.pid, "--looks=3", f"--log={log}")
    end(process)
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "watch")
    first, _, last = done.stdout.split("\n\n")
    hawk.expect_equal((sites_of(first)[0], sites_of(last)[0]), ("begin", "grow"), f"the first sites: {done.stdout}")
    hawk.expect(re.search(r"^watched for 2\.\d s: \+[\d.]+ KiB live, now \+[\d.]+ KiB/s$", last, re.M), last)
    hawk.expect(re.search(r"^ +9\.5 MiB +0 B +0 B +1  begin ", last, re.M), last)
    lines = [json.loads(line) for line in hawk.read(log).splitlines()]
    schema = json_schema.load("watch-1.json")
    for line in lines:
        hawk.expect_equal(json_schema.validate(line, schema), [], "schema")
    grown = [site for line in lines for site in line["sites"] if site["function"] == "grow"]
    hawk.expect(len(lines) == len(grown) == 3, f"{len(lines)} lines, {len(grown)} of grow")
    for site in grown:
        hawk.expect_equal(site["inuse_bytes"], 20000 * site["inuse_objects"], "bytes of grow")
        hawk.expect_equal(site["inuse_bytes"], site["alloc_bytes"], "nothing is freed")
    hawk.expect(grown[0]["inuse_bytes"] < grown[1]["inuse_bytes"] < grown[2]["inuse_bytes"], f"{grown}")
    hawk.expect("begin" not in [site["function"] for line in lines[1:] for site in line["sites"]], "what does not change")


def check_without_live():
    process = start()
    look = watch(process.pid, "--looks=2").stdout.split("\n\n")[-1]
    end(process)
    hawk.expect("live=1 in HAWK_OPTS" in look, look)
    hawk.expect_equal(sites_of(look)[0], "work", look)
    hawk.expect(re.search(r" resident, (9\.[5-9]|1\d\.\d) MiB live in ", look), f"live: {look}")


def check_end_and_terminal():
    """A screen of 80 columns and 12 rows; it ends with the process."""
    process = start("live=1")
    ours, theirs = pty.openpty()
    with subprocess.Popen([hawk.CORE, "watch", "--pid", str(process.pid), "--interval=1"], stdout=theirs,
                          env={**os.environ, "TERM": "xterm"}) as watching:
        os.close(theirs)
        text = b""
        while text.count(b"\033[H\033[2J") < 2:
            text += os.read(ours, 65536)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            hawk.expect("TracerPid:\t0" in status.read(), "nobody traces it")
        end(process)
        hawk.expect_equal(watching.wait(20), 0, "exit code")
    text += os.read(ours, 65536)
    os.close(ours)
    hawk.expect(f"process {process.pid} has ended" in text.decode(), text)
    done = watch(process.pid)
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "there is no process" in done.stderr, done.stderr)


def check_refusals():
    with subprocess.Popen(["sleep", "100"]) as process:
        done = watch(process.pid)
        hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "is not traced" in done.stderr, done.stderr)
        process.kill()
    process = start("live=1")
    done = watch(process.pid, "--log=/dev/full")
    end(process)
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "No space left" in done.stderr, done.stderr)


folder = hawk.temporary_folder()
program = hawk.compile_text(folder, "program", PROGRAM, flags=["-g"])
hawk.run_checks(globals())
