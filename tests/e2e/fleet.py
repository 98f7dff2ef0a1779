# SPDX-License-Identifier: Apache-2.0
# ctest: processors=2
"""A cluster for the rows of a fleet (samples/fleet): the figures of `ledger`, of 1,000 made snapshots and some real ones; rows
loaded twice; a replica of each shard gone, and a whole shard."""

import json
import os
import random
import signal
import socket
import subprocess

from support import hawk, ledger_model

SCRIPT = os.path.join(hawk.SOURCE, "samples", "fleet", "fleet.sh")
SNAPSHOTS = 1000
PORTS = 44
PROGRAM = r"""
#include <stdlib.h>
static void *kept[100];
static void *make_cell(void) { return malloc(1000); }
int main(int count, char **arguments)
{
	(void)count;
	for (int i = 0; i < atoi(arguments[1]); i++)
		kept[i] = make_cell();
	abort();
}
"""


def free_ports():
    """The first of as many free ports as the cluster takes."""
    for _ in range(50):
        first = random.randrange(20000, 30000, 50)
        try:
            for port in range(first, first + PORTS):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    return hawk.skip("no free ports")


def fleet(*arguments):
    return hawk.run([SCRIPT, "--no-install", "--folder", os.path.join(folder, "cluster"), "--ports", str(ports), *arguments],
                    timeout=200)


def pid_of(name):
    return int(hawk.read(os.path.join(folder, "cluster", f"{name}.pid")))


def write_rows(name, rows):
    path = os.path.join(folder, name)
    hawk.write(path, "".join(json.dumps(row) + "\n" for row in rows))
    return path


def crash_some():
    """Cores of a small program, and their rows."""
    program = hawk.compile_text(folder, "shop", PROGRAM)
    for count in (10, 20, 30, 50):
        core, _ = hawk.crash([program, str(count)], hawk.tracer_environment(), hawk.temporary_folder())
        yield core, [json.loads(line) for line in hawk.text_of("export", "--format=ndjson", core).splitlines()]


def check_answer(what):
    done = fleet("ask", "JSONEachRow")
    if not hawk.expect_equal(done.returncode, 0, f"{what}: {done.stderr[-1000:]}"):
        return
    answer = {row["signature"]: row for row in map(json.loads, done.stdout.splitlines())}
    hawk.expect_equal(set(answer), set(wanted), f"{what}: signatures")
    for signature, row in wanted.items():
        found = answer.get(signature, {})
        for key in ("snapshots", "median_bytes", "maximum_bytes"):
            hawk.expect_equal(int(found.get(key, -1)), getattr(row, key), f"{what}: {key} of {signature}")
        for key in ("first_build", "last_build"):
            hawk.expect_equal(found.get(key), getattr(row, key), f"{what}: {key} of {signature}")
        rate, theirs = row.bytes_per_hour, found.get("bytes_per_hour")
        hawk.expect((rate is None) == (theirs is None), f"{what}: whether there is a slope: {rate}, {theirs}")
        hawk.expect(rate is None or abs(theirs - rate) <= 1e-6 * abs(rate) + 1e-6, f"{what}: slope {theirs} is {rate}")


def check_ledger(cores):
    """The same figures from the cores themselves."""
    document = hawk.document("ledger", *cores)
    hawk.expect_equal(document["snapshots"], len(cores), "snapshots of the ledger")
    for site in document["sites"]:
        row = wanted[site["signature"]]
        hawk.expect_equal([site["snapshots"], site["median_bytes"], site["maximum_bytes"]],
                          [row.snapshots, row.median_bytes, row.maximum_bytes], f"ledger: {site['functions'][:1]}")


def kill(*names):
    for name in names:
        os.kill(pid_of(name), signal.SIGKILL)


def check_cluster(rows, cores):
    half = len(rows) // 2
    hawk.expect_equal(fleet("load", write_rows("all", rows)).returncode, 0, "load")
    check_answer("loaded once")
    check_ledger(cores)
    again = rows[half:] + rows[:half // 3]
    random.Random(1).shuffle(again)
    done = fleet("--host", "web-1", "load", write_rows("again", again), write_rows("last", rows[half // 3:half]))
    hawk.expect_equal(done.returncode, 0, f"load again: {done.stderr[-1000:]}")
    check_answer("loaded twice")
    kill("server-1", "server-4")
    check_answer("a replica of each shard killed")
    kill("server-3")
    done = fleet("ask", "JSONEachRow")
    hawk.expect(done.returncode != 0 and not done.stdout.strip(), f"a shard is gone, and this is the answer: {done.stdout[:300]}")


for program_name in ("clickhouse-server", "clickhouse-client", "java"):
    hawk.need(program_name)
if not os.path.exists("/usr/share/java/zookeeper.jar"):
    hawk.skip("no ZooKeeper")
folder = hawk.temporary_folder()
ports = free_ports()
some_cores, some_rows = zip(*crash_some())
all_rows = [*ledger_model.made_rows(SNAPSHOTS), *(row for rows_of_core in some_rows for row in rows_of_core)]
wanted = ledger_model.model([row for row in all_rows if row["what"] == "live"])
try:
    started = fleet("start")
    if hawk.expect_equal(started.returncode, 0, f"start: {started.stdout[-500:]} {started.stderr[-1500:]}"):
        check_cluster(all_rows, some_cores)
finally:
    try:
        fleet("stop")
    except subprocess.SubprocessError:
        pass
hawk.finish()
