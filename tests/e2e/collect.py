# SPDX-License-Identifier: Apache-2.0
"""collect: processes that were killed, failed or ended well beside it, before it, as another user and in another PID
namespace; files that are no tables."""

import json
import os
import re
import subprocess

from support import hawk

SOURCE = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 100; i++)
		if (!malloc(1000))
			return 9;
	if (write(1, "x", 1) != 1 || argc < 2)
		return 9;
	for (;;) {
		char c;
		if (read(0, &c, 1) < 1)
			return atoi(argv[1]);
	}
}
"""
REPORTS = ["process.txt", "report.hawk", "report.json", "report.txt", "table.hawk"]
NOBODY = 65534


def start(code="0", wrapper=(), **arguments):
    """Starts a traced program that waits. It ends with `code` where its standard input is closed."""
    environment = hawk.tracer_environment(options=f"table={tables}/app-%p.hawk")
    preload = [f"{name}={environment[name]}" for name in ("LD_PRELOAD", "HAWK_OPTS")]
    process = hawk.spawn([*wrapper, "env", *preload, program, code], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, **arguments)
    process.stdout.read(1)
    return process


def kill(process):
    process.kill()
    process.wait()


def leave(process):
    process.stdin.close()
    process.wait()


def reports():
    return {name.split(".")[-2]: os.path.join(to, name) for name in os.listdir(to)}


def check_report(path, end, owner=os.geteuid()):
    hawk.expect_equal(sorted(os.listdir(path)), REPORTS, "files")
    hawk.expect_equal((os.stat(path).st_uid, os.stat(path).st_mode & 0o777), (owner, 0o700), "directory")
    notes = hawk.read(os.path.join(path, "process.txt")).decode()
    hawk.expect(re.search(end, notes), notes)
    with open(os.path.join(path, "report.json"), encoding="utf-8") as file:
        document = json.load(file)
    sizes = [site["inuse_bytes"] for site in document["sites"]]
    hawk.expect(100 * 1000 in sizes, f"sites {sizes}")
    hawk.expect_equal(hawk.run([hawk.CORE, "analyze", os.path.join(path, "table.hawk")]).stdout,
                      hawk.read(os.path.join(path, "report.txt")).decode(), "report.txt")


def is_watched(server, process):
    """Returns true if the server holds a pidfd of the process."""
    wanted = f"\nPid:\t{process.pid}\n".encode()
    folder = f"/proc/{server.pid}/fdinfo"
    for name in os.listdir(folder):
        try:
            if wanted in hawk.read(os.path.join(folder, name)):
                return True
        except FileNotFoundError:
            pass  # closed meanwhile
    return False


def check_beside_it():
    early, gone = start(), start()
    kill(gone)
    server = hawk.spawn([hawk.CORE, "collect", f"--to={to}", f"--table-dir={tables}"], stderr=subprocess.PIPE,
                              text=True)
    hawk.wait_for(lambda: str(gone.pid) in reports(), 60, "a process that was dead before")
    processes = [early] + [start(code) for code in ("0", "3", "0")]
    for process in processes:
        hawk.wait_for(lambda process=process: is_watched(server, process), 60, "a pidfd")
    for process in processes[:2]:
        kill(process)
    for process in processes[2:]:
        leave(process)
    hawk.wait_for(lambda: not os.listdir(tables), 60, "all files are taken")
    found = reports()
    hawk.expect_equal(set(found), {str(process.pid) for process in [gone] + processes[:3]}, "reports")
    told = "how it ended is not known"  # before Linux 6.15
    check_report(found[str(gone.pid)], told)
    for process in processes[:2]:
        check_report(found[str(process.pid)], f"(signal 9 .Killed.|{told})\n(.*\n)*== comm ==\napp\n")
    check_report(found[str(processes[2].pid)], f"(exit code 3|{told})\n")
    server.terminate()
    hawk.expect_equal(server.communicate()[1], "", "complaints")


def once(*options):
    return hawk.run([hawk.CORE, "collect", f"--to={to}", f"--table-dir={tables}", "--once", *options])


def check_others():
    """Another user's, and one in a PID namespace, of which only root can know that it is gone."""
    if os.geteuid():
        return
    other = start(user=NOBODY, group=NOBODY)
    inner = start(wrapper=["unshare", "--pid", "--fork"])
    hawk.expect_equal(once().stderr, "", "both live")
    hawk.expect_equal(len(os.listdir(tables)), 2, "files of living processes")
    kill(other)
    leave(inner)
    done = once("--keep=2")
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "--once")
    check_report(reports()[str(other.pid)], "how it ended", NOBODY)
    hawk.expect_equal((len(reports()), os.listdir(tables)), (2, []), "--keep=2")


def check_no_tables():
    """Names that do not matter, and a table that is cut off."""
    process = start()
    kill(process)
    table = os.path.join(tables, f"app-{process.pid}.hawk")
    with open(os.path.join(tables, "cut"), "wb") as file:
        file.write(hawk.read(table)[:5000])
    with open(table, "r+b") as file:
        file.truncate(32768)
    os.mkfifo(os.path.join(tables, "fifo"))
    os.mkdir(os.path.join(tables, "folder"))
    os.symlink(table, os.path.join(tables, "link"))
    os.symlink("/dev/zero", os.path.join(tables, "zero"))
    done = once()
    hawk.expect_equal(sorted(os.listdir(tables)), ["cut", "fifo", "folder", "link", "zero"], done.stderr)
    hawk.expect("table-file-cut" in hawk.read(os.path.join(reports()[str(process.pid)], "report.json")).decode(), "a finding")


def check_no_place():
    process = start()
    kill(process)
    done = hawk.run([hawk.CORE, "collect", f"--to={to}/none", f"--table-dir={tables}", "--once"])
    hawk.expect("stays: there is no report of it" in done.stderr, done.stderr)
    hawk.expect(os.path.exists(os.path.join(tables, f"app-{process.pid}.hawk")), "the table is gone")
    hawk.expect_equal(hawk.run([hawk.CORE, "collect", "--once"]).returncode, hawk.EXIT_USAGE, "no --to")
    done = hawk.run([hawk.CORE, "collect", f"--to={to}", f"--table-dir={to}/none"])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "no such directory")


folder = hawk.temporary_folder()
program = hawk.compile_text(folder, "app", SOURCE)
to, tables = os.path.join(folder, "to"), os.path.join(folder, "tables")
for path in (folder, to, tables):
    os.makedirs(path, exist_ok=True)
    os.chmod(path, 0o1777 if path == tables else 0o711)
hawk.run_checks(globals())
