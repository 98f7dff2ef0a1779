# SPDX-License-Identifier: Apache-2.0
"""handler, fed as the kernel feeds it, by standard input and socket: whole cores, cut-off ones, too little room, two
at once."""

import concurrent.futures
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import time

from support import hawk

FILES = ["core.zst", "process.txt", "report.hawk", "report.json", "report.txt"]


def start(*options, second, pid=os.getpid(), **arguments):
    command = [hawk.CORE, "handler", f"--to={place}", "--min-free=1", *options]
    return subprocess.Popen([*command, str(pid), "11", str(second), "or/d er"],
                            stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **arguments)


def feed(process, part):
    try:
        _, errors = process.communicate(part, timeout=120)
    except BrokenPipeError:
        errors = process.stderr.read()
    return process.returncode, errors.decode()


def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def files_of(second, pid=os.getpid()):
    path = os.path.join(place, f"or_d_er.{pid}.{second}")
    return path, sorted(os.listdir(path)) if os.path.isdir(path) else None


def check_whole():
    code, errors = feed(start("--keep=30", second=100), data)
    path, names = files_of(100)
    hawk.expect_equal((code, errors, names), (0, "", FILES), "a whole core")
    plain = hawk.run([hawk.CORE, "analyze", "core.zst"], cwd=path)
    hawk.expect_equal(hawk.read(os.path.join(path, "report.txt")).decode(), plain.stdout, "report.txt")
    with open(os.path.join(path, "report.json"), encoding="utf-8") as file:
        hawk.expect_equal(json.load(file)["process"]["signal"], 11, "report.json")
    done = hawk.run([hawk.CORE, "leaks", "report.hawk"], cwd=path)
    hawk.expect(done.returncode in (0, 1), f"a snapshot: {done.stderr}")
    hawk.expect("== maps ==" in hawk.read(os.path.join(path, "process.txt")).decode(), "process.txt")
    hawk.expect_equal(os.stat(path).st_mode & 0o777, 0o700, "mode")
    listed = json.loads(hawk.run([hawk.CORE, "list", "--json", place]).stdout)["cores"]
    hawk.expect(os.path.join(path, "core.zst") in [entry["path"] for entry in listed], "list")


def check_cut_off():
    """A directory, a core and a report as far as it goes, or a sentence."""
    for i, size in enumerate([0, 3, 64, len(data) // 3, len(data) * 5 // 6]):
        code, errors = feed(start("--keep=30", second=200 + i), data[:size])
        names = files_of(200 + i)[1]
        if size < 4:
            hawk.expect(code == hawk.EXIT_UNREADABLE and "standard input" in errors, f"{size} bytes: {code} {errors}")
        else:
            hawk.expect("core.zst" in names and code == hawk.EXIT_PARTIAL, f"{size} bytes: {code} {errors}")
        if size > len(data) // 2:
            hawk.expect_equal(names, FILES, f"{size} bytes: {errors}")


def check_limits():
    noise = data + os.urandom(8 << 20)
    code, errors = feed(start("--keep=30", "--max-size=100k", second=300), noise)
    hawk.expect("the core is cut off behind" in errors and "limit of size" in errors, errors)
    hawk.expect("core.zst" in files_of(300)[1], "cut off by --max-size")
    code, errors = feed(start("--keep=30", second=301, preexec_fn=limit_files(3 << 20)), noise)
    hawk.expect("limit of size" in errors and "core.zst" in files_of(301)[1], f"ulimit -f: {errors}")
    room = os.statvfs(place)
    code, errors = feed(start("--keep=30", f"--min-free={room.f_bavail * room.f_frsize * 2}", second=302), data)
    hawk.expect("limit of free space" in errors, errors)
    process = start("--keep=30", "--max-time=1", second=303)
    process.stdin.write(data[:100000])
    process.stdin.flush()
    hawk.expect(process.wait(timeout=60) is not None, "waits for ever")
    hawk.expect("limit of time" in process.stderr.read().decode(), "--max-time")
    process.stdin.close()


def check_full_disk():
    """No room at all: a sentence, and no core."""
    code, errors = feed(start("--keep=30", second=400, preexec_fn=limit_files(64 << 10)), data)
    hawk.expect(code == hawk.EXIT_UNREADABLE and "core.zst" in errors, f"{code} {errors}")
    hawk.expect("core.zst" not in files_of(400)[1], "a core")


def check_owner():
    """Files of another user's process are his, and written with his rights."""
    if os.geteuid():
        return
    nobody = 65534
    other = subprocess.Popen(["sleep", "100"], user=nobody, group=nobody)
    code, errors = feed(start("--keep=30", second=450, pid=other.pid), data)
    path, names = files_of(450, other.pid)
    hawk.expect_equal((code, errors, names), (0, "", FILES), "another user's process")
    hawk.expect_equal({os.stat(os.path.join(path, name)).st_uid for name in [".", *names]}, {nobody}, "owners")
    other.kill()
    other.wait()


def check_no_core():
    code, errors = feed(start("--keep=30", "--no-core", second=500), data)
    hawk.expect_equal((code, errors, files_of(500)[1]), (0, "", FILES[1:]), "--no-core")


def check_two_at_once():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        feeds = [pool.submit(feed, start("--keep=30", second=600 + i), data) for i in range(2)]
        hawk.expect_equal([fed.result() for fed in feeds], [(0, "")] * 2, "two at once")
    hawk.expect_equal((files_of(600)[1], files_of(601)[1]), (FILES, FILES), "files")
    lock = os.open(place, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    code, errors = feed(start("--max-time=1", second=602), data[:1000])
    hawk.expect(code == hawk.EXIT_PARTIAL and "another handler works in" in errors, f"{code} {errors}")
    os.close(lock)


def check_keep():
    """The oldest go; what somebody else has put there stays."""
    os.mkdir(os.path.join(place, "notes"))
    feed(start("--keep=2", second=700), data)
    left = sorted(name for name in os.listdir(place) if name.startswith("or_d_er"))
    hawk.expect_equal([name.split(".")[-1] for name in left], ["601", "700"], "kept")
    hawk.expect(os.path.isdir(os.path.join(place, "notes")), "a foreign directory")


def check_like_the_kernel():
    """Nothing but standard input is open: complaints go to the log, and not into a file with a number of theirs."""
    def close():
        os.close(1)
        os.close(2)
    process = subprocess.Popen([hawk.CORE, "handler", f"--to={place}", "--min-free=1", str(os.getpid()), "11", "800",
                                "x"], stdin=subprocess.PIPE, preexec_fn=close)
    process.communicate(data[:3], timeout=120)
    hawk.expect_equal(process.returncode, hawk.EXIT_UNREADABLE, "three bytes")
    log = hawk.read(os.path.join(place, "handler.log")).decode()
    hawk.expect("standard input: is no ELF core" in log, log)


REQUEST = struct.pack("<IIQ", 16, 16, 15)


def send_to(path, request, mark, part):
    """The kernel's side of the socket. Returns the answer; the server has closed the connection then."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(60)
        peer.connect(path)
        peer.sendall(request)
        answer = peer.recv(100) if request.startswith(REQUEST[:4]) and len(request) == len(REQUEST) else b""
        try:
            peer.sendall(mark + part)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(100):
                pass
        except OSError:
            pass  # it has hung up
    return answer


def check_socket():
    """A request and the core, a core alone (Linux 6.16), and peers that break the rules."""
    hawk.run(["rm", "-rf", place])
    os.mkdir(place)
    path = os.path.join(folder, "socket")
    with open(path, "w", encoding="utf-8"):
        pass
    server = [hawk.CORE, "handler", f"--to={place}", "--min-free=1", f"--socket={path}"]
    done = hawk.run(server)
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "cannot listen" in done.stderr, "a file, not a socket")
    os.remove(path)
    serving = hawk.spawn(server, stderr=subprocess.PIPE, text=True)
    hawk.wait_for(lambda: hawk.listens(path), 60, "the server listens")
    hawk.expect_equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the socket")
    bad = [b"", b"\1", REQUEST[:9], b"\3\0\0\0", struct.pack("<IIQ", 1 << 30, 16, 15),
           struct.pack("<IIQ", 16, 8, 15), struct.pack("<IIQ", 16, 16, 1)]
    for request in bad:
        send_to(path, request, b"", b"")
    send_to(path, REQUEST, struct.pack("<I", 3), b"")
    hawk.expect_equal(os.listdir(place), [], "directories of bad peers")
    answer = send_to(path, REQUEST, bytes(4), data)
    hawk.expect_equal(answer, struct.pack("<IIQ", 16, 0, 9), "answer")
    time.sleep(1)  # a directory has the second in its name
    send_to(path, data, b"", b"")
    serving.terminate()
    errors = serving.communicate()[1]
    hawk.expect_equal(len(errors.splitlines()), len(bad) + 1, errors)
    found = [os.path.join(place, name) for name in os.listdir(place)]
    hawk.expect_equal([(".".join(name.split(".")[-3:-1]), sorted(os.listdir(name))) for name in found],
                      [(f"{place}/{hawk.read('/proc/self/comm').decode().strip()}.{os.getpid()}", FILES)] * 2, "crashes")


def check_install():
    done = hawk.run([hawk.CORE, "handler", f"--to={place}", "--no-core", "--install"])
    hawk.expect(f"handler --to={place} --no-core %P %s %t %e\n" in done.stdout, done.stdout)
    hawk.expect(f"handler --to={place} --no-core %%P %%s %%t %%e" in done.stdout, done.stdout)
    done = hawk.run([hawk.CORE, "handler", f"--to={place}", "--socket=/run/s", "--install"])
    hawk.expect(f"@/run/s\n" in done.stdout and f"handler --to={place} --socket=/run/s\n" in done.stdout, done.stdout)
    done = hawk.run([hawk.CORE, "handler", f"--to=/{'long' * 40}", "--install"])
    hawk.expect(done.returncode == 1 and "more than the 127 bytes" in done.stdout, done.stdout)
    hawk.expect_equal(hawk.run([hawk.CORE, "handler", "1", "2"]).returncode, hawk.EXIT_USAGE, "no --to")


folder = hawk.temporary_folder()
place = os.path.join(folder, "place")
os.mkdir(place)
core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "100", "--crash", "segv"],
                     hawk.plain_environment(), folder, signals=(signal.SIGSEGV,))
data = hawk.read(core)
hawk.run_checks(globals())
