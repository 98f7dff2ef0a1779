# SPDX-License-Identifier: Apache-2.0
"""-o FILE: what standard output would get, in a file of mode 0600 that is complete or not there."""

import os
import resource
import signal
import stat
import subprocess

from support import cli_world, hawk

VERBS = (["analyze"], ["analyze", "--json"], ["blocks", "--json"], ["leaks"], ["growth"],
         ["sites", "--dot"], ["sql", "--format=csv"])
QUERY = "SELECT address, size FROM blocks"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
LIMIT_BYTES = 1 << 20


def question(verb, path, *options):
    query = [QUERY] if verb[0] == "sql" else []
    output = ["-o", path] if path else []
    return [hawk.CORE, *verb, *output, *options, core, *query]


def read(path):
    return hawk.read(path).decode()


def expect_empty(where, what):
    hawk.expect_equal(os.listdir(where), [], f"{what}: files left")


def check_same_answer():
    where = hawk.temporary_folder()
    for number, verb in enumerate(VERBS):
        path = os.path.join(where, str(number))
        plain = hawk.run(question(verb, None))
        written = hawk.run(question(verb, path))
        hawk.expect_equal(written.returncode, plain.returncode, f"{verb}: exit code")
        hawk.expect_equal(written.stdout, "", f"{verb}: standard output")
        hawk.expect(read(path) == plain.stdout, f"{verb}: another answer in the file")
        hawk.expect_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, f"{verb}: mode")
    hawk.expect_equal(len(os.listdir(where)), len(VERBS), "files")


def check_existing():
    where = hawk.temporary_folder()
    path = os.path.join(where, "answer")
    hawk.write(path, "precious")
    done = hawk.run(question(["analyze"], path))
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "existing file")
    hawk.expect("exists already; --force" in done.stderr, done.stderr)
    hawk.expect_equal(read(path), "precious", "existing file")
    done = hawk.run(question(["analyze"], path, "--force"))
    hawk.expect_equal(done.returncode, hawk.EXIT_OK, f"--force: {done.stderr}")
    hawk.expect(read(path) == hawk.run(question(["analyze"], None)).stdout, "--force: answer")
    hawk.expect_equal(os.listdir(where), ["answer"], "--force: files")


def check_links():
    """A symbolic link is replaced, and never what it leads to."""
    where = hawk.temporary_folder()
    target, link = os.path.join(where, "target"), os.path.join(where, "link")
    for verb in (["analyze"], ["redact"]):
        hawk.write(target, "precious")
        os.symlink(target, link)
        done = hawk.run(question(verb, link))
        hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, f"{verb}: a link")
        hawk.expect("--force" in done.stderr, done.stderr)
        done = hawk.run(question(verb, link, "--force"))
        hawk.expect_equal(done.returncode, hawk.EXIT_OK, f"{verb}: a link, with --force: {done.stderr}")
        hawk.expect_equal((read(target), os.path.islink(link)), ("precious", False), f"{verb}: a link, with --force")
        os.unlink(link)
    hawk.expect_equal(os.listdir(where), ["target"], "links: files")


def check_dash():
    """-o - is standard output."""
    where = hawk.temporary_folder()
    for verb in VERBS + (["html"], ["export", "--format=folded"], ["export", "--format=sqlite"]):
        plain, written = (subprocess.run(question(verb, path), capture_output=True, cwd=where, timeout=120)
                          for path in (None, "-"))
        hawk.expect_equal(written.returncode, hawk.EXIT_OK, f"{verb} -o -: {written.stderr}")
        hawk.expect(written.stdout and written.stdout == plain.stdout, f"{verb} -o -: another answer")
    expect_empty(where, "-o -")


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def check_no_room():
    where = hawk.temporary_folder()
    path = os.path.join(where, "answer")
    arguments = [hawk.CORE, "sql", "--format=csv", "-o", path, core, ENDLESS]
    done = subprocess.run(arguments, capture_output=True, timeout=120, preexec_fn=limit_files)
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, f"no room: {done.stderr}")
    hawk.expect(done.stderr.startswith(b"hawk-core: cannot write to " + path.encode()),
                f"no room: {done.stderr}")
    expect_empty(where, "no room")
    hawk.write(path, "precious")
    done = subprocess.run([*arguments[:3], "--force", *arguments[3:]], capture_output=True,
                          timeout=120, preexec_fn=limit_files)
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "no room, with --force")
    hawk.expect_equal(read(path), "precious", "no room, with --force")
    hawk.expect_equal(os.listdir(where), ["answer"], "no room, with --force: files")
    if os.path.exists("/dev/full"):
        done = hawk.run(question(["analyze"], "/dev/full"))
        hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "/dev/full")
        hawk.expect("cannot write to /dev/full" in done.stderr, done.stderr)


def written_bytes(process, where):
    """The size of the file that the process has in the folder, named or not."""
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            if os.readlink(f"/proc/{process.pid}/fd/{fd}").startswith(where):
                return os.stat(f"/proc/{process.pid}/fd/{fd}").st_size
        except FileNotFoundError:
            pass
    return 0


def has_unnamed_files(where):
    try:
        os.close(os.open(where, os.O_TMPFILE | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True


def check_killed():
    where = os.path.realpath(hawk.temporary_folder())
    if not has_unnamed_files(where):
        hawk.skip("the file system has no files without a name")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([hawk.CORE, "sql", "--format=csv", "-o",
                                    os.path.join(where, "answer"), core, ENDLESS],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        hawk.wait_for(lambda: written_bytes(process, where) > 0, 60, "bytes in the file")
        process.send_signal(number)
        hawk.expect_equal(process.wait(timeout=60), -number, "killed")
        expect_empty(where, number.name)
    check_killed_database(where)


def check_killed_database(where):
    """Stopped in the middle of a database, which has no name until it is complete."""
    path = os.path.join(where, "answer")
    for _ in range(50):
        process = subprocess.Popen([hawk.CORE, "export", "--format=sqlite", "-o", path, core],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not written_bytes(process, where):
            pass
        process.send_signal(signal.SIGSTOP)
        found = os.listdir(where)
        process.kill()
        process.wait(timeout=60)
        if found != ["answer"]:
            hawk.expect_equal(found, [], "files while a database is made")
            return expect_empty(where, "a database, SIGKILL")
        os.unlink(path)
    print("each database was complete before it could be stopped")


def check_no_answer():
    """Mistakes, and a target that cannot be written."""
    where = hawk.temporary_folder()
    path = os.path.join(where, "answer")
    for arguments, code in (
            (["analyze", "-o", path, "/no/core"], hawk.EXIT_UNREADABLE),
            (["sql", "-o", path, core, "SELECT nonsense"], hawk.EXIT_USAGE),
            (["refs", "-o", path, core, "0x10"], hawk.EXIT_CONDITION),
            (["analyze", "-o", os.path.join(where, "no", "folder"), core], hawk.EXIT_UNREADABLE),
            (["analyze", "-o", where, "--force", core], hawk.EXIT_UNREADABLE)):
        done = hawk.run([hawk.CORE, *arguments])
        hawk.expect_equal(done.returncode, code, f"{arguments}: {done.stderr}")
        hawk.expect_equal(done.stderr.count("\n"), 1, f"{arguments}: {done.stderr}")
        expect_empty(where, arguments)


def check_no_file():
    """Pipes and devices, and what standard output leads to, are written as they are."""
    plain = hawk.run(question(["analyze"], None)).stdout
    hawk.expect(hawk.run(question(["analyze"], "/dev/stdout")).stdout == plain, "a pipe")
    hawk.expect_equal(hawk.run(question(["analyze"], "/dev/null")).returncode, 0, "/dev/null")
    path = os.path.join(hawk.temporary_folder(), "answer")
    with open(path, "w", encoding="utf-8") as file:
        done = subprocess.run(question(["analyze"], "/dev/stdout"), stdout=file, timeout=60)
    hawk.expect(done.returncode == 0 and read(path) == plain, "standard output is a file")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(question(["analyze"], "/dev/stdout"), stdout=writing,
                          stderr=subprocess.PIPE, timeout=60)
    os.close(writing)
    hawk.expect_equal(done.stderr, b"", "closed pipe: messages")
    hawk.expect(done.returncode in (-signal.SIGPIPE, 141), f"closed pipe: {done.returncode}")


def check_shell():
    where = hawk.temporary_folder()
    path = os.path.join(where, "answer")
    done = hawk.run([hawk.CORE, "shell", core],
                    input=f"blocks -o {path}\nblocks -o {path}\nblocks --top 1 | wc -l\n")
    hawk.expect(read(path) == hawk.run(question(["blocks"], None)).stdout, "by the shell")
    hawk.expect("exists already" in done.stderr, f"twice: {done.stderr}")
    hawk.expect(done.stdout.strip().isdigit(), f"a pipe afterwards: {done.stdout}")
    hawk.expect_equal(os.listdir(where), ["answer"], "shell: files")


folder = hawk.temporary_folder()
core, _ = cli_world.crash(folder)
hawk.run_checks(globals())
