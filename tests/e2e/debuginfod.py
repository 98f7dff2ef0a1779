# SPDX-License-Identifier: Apache-2.0
"""Files that are elsewhere: below --module-dir under any name, and on a debuginfod server, which may lie, send too much or
have nothing. The server is a stand-in on the loopback; without --debuginfod it is never asked."""

import ctypes
import http.server
import os
import shutil
import subprocess
import threading

from support import hawk

CRASH = """
#include <stdlib.h>

__attribute__((noinline)) void give_up(void)
{
	abort();
}

int main(void)
{
	give_up();
	return 0;
}
"""
PACKAGE = '{"type":"deb","os":"debian","name":"libfoo2","version":"1:1.2-3~x","architecture":"amd64"}'
CHUNK = b"x" * 65536
asked = []
served = {}  # {"/buildid/ID/debuginfo": contents}, or None for an answer without an end


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        if self.path not in served:
            self.send_error(404)
            return
        contents = served[self.path]
        self.send_response(200)
        if contents is not None:
            self.send_header("Content-Length", str(len(contents)))
        self.end_headers()
        try:
            while contents is None:
                self.wfile.write(CHUNK)
            self.wfile.write(contents)
        except OSError:
            pass  # the client has had enough

    def log_message(self, *_):
        pass


def ask(*options, **variables):
    """Names of the crashed thread's frames, with lines, and what is missing."""
    cache = os.path.join(folder, "cache")
    shutil.rmtree(cache, ignore_errors=True)
    environment = dict(hawk.plain_environment(), XDG_CACHE_HOME=cache, HOME=folder, no_proxy="*", **variables)
    document = hawk.document("threads", *options, core, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL), env=environment)
    names = {frame["function"]: frame["line"] for frame in document["threads"][0]["frames"]}
    return names, " ".join(finding["text"] for finding in document["missing"])


def expect_lines(what, names, missing):
    hawk.expect(names.get("give_up") and names.get("main"), f"{what}: {names}, {missing}")


def expect_none(what, wanted, names, missing):
    hawk.expect("main" not in names and wanted in missing, f"{what}: {names}, {missing}")


def serve(executable=b"", debuginfo=b""):
    served.clear()
    for kind, contents in (("executable", executable), ("debuginfo", debuginfo)):
        if contents != b"":
            served[f"/buildid/{build_id}/{kind}"] = contents


def check_module_directory():
    tree = os.path.join(folder, "tree", "deep", "down")
    os.makedirs(tree)
    os.symlink("..", os.path.join(tree, "ring"))
    os.mkfifo(os.path.join(tree, "fifo"))
    expect_none("an empty tree", "it is part of the package libfoo2 1:1.2-3~x (deb)", *ask(f"--module-dir={folder}/tree"))
    hawk.write(os.path.join(tree, "b"), stripped)
    names, _ = ask(f"--module-dir={folder}/tree")
    hawk.expect("main" not in names and "abort" in names, f"stripped: {names}")
    hawk.write(os.path.join(tree, "a"), debug)
    expect_lines("program and debug file", *ask(f"--module-dir={folder}/tree"))
    done = hawk.run([hawk.CORE, "threads", f"--module-dir={folder}/none", core])
    hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, "a directory that is not there")


def check_server(url):
    serve(stripped, debug)
    expect_none("no option", "no file was found", *ask(DEBUGINFOD_URLS=url))
    hawk.expect_equal(asked, [], "without --debuginfod")
    expect_lines("a whole server", *ask(f"--debuginfod={url}"))
    expect_lines("the environment's server", *ask("--debuginfod", DEBUGINFOD_URLS=url))
    hawk.expect(os.listdir(os.path.join(folder, "cache")), "the cache is below XDG_CACHE_HOME")
    serve(debuginfo=debug)
    names, _ = ask(f"--debuginfod={url}")
    hawk.expect(names.get("give_up"), f"only the debug file: {names}")
    serve()
    expect_none("an empty server", "no file was found", *ask(f"--debuginfod={url}"))
    serve(hawk.read(other), hawk.read(other))
    expect_none("a lying server", "is not the file with build-id", *ask(f"--debuginfod={url}"))
    serve(b"no ELF file", b"")
    expect_none("a text", "is not the file with build-id", *ask(f"--debuginfod={url}"))
    serve(None, None)
    expect_none("an endless answer", "--max-download allows", *ask(f"--debuginfod={url}", "--max-download=1M"))
    serve(stripped, debug)
    expect_none("a large file", "--max-download allows", *ask(f"--debuginfod={url}", "--max-download=1k"))
    done = hawk.run([hawk.CORE, "threads", "--debuginfod", core], env=hawk.plain_environment())
    hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, "--debuginfod without a server")


folder = hawk.temporary_folder()
program = hawk.compile_text(folder, "program", CRASH, flags=["-Wl,--build-id=sha1", "-Xlinker", f"--package-metadata={PACKAGE}"])
other = hawk.compile_text(folder, "other", CRASH.replace("give_up", "go_on"), flags=["-Wl,--build-id=sha1"])
core = hawk.crash([program], hawk.plain_environment(), folder)[0]
subprocess.run(["objcopy", "--only-keep-debug", program, f"{folder}/debug"], check=True)
subprocess.run(["objcopy", "--strip-all", program, f"{folder}/stripped"], check=True)
debug, stripped = hawk.read(f"{folder}/debug"), hawk.read(f"{folder}/stripped")
notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
build_id = notes.split("Build ID: ")[1].split()[0]
for name in ("program", "debug", "stripped"):
    os.remove(os.path.join(folder, name))

check_module_directory()
try:
    ctypes.CDLL("libdebuginfod.so.1")
except OSError:
    print("libdebuginfod.so.1 is not installed: only --module-dir was checked")
    hawk.finish()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
check_server(f"http://127.0.0.1:{server.server_address[1]}")
server.shutdown()
hawk.finish()
