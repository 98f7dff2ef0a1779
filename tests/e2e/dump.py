# SPDX-License-Identifier: Apache-2.0
"""dump writes a core of a process that goes on: gdb and hawk-core say of it what they say of gcore's and of the process."""

import os
import re
import resource
import signal
import subprocess

from support import core_surgery, hawk

# Four threads wait. Memory: pages in the middle of 32 MiB, shared memory; if asked for: a reservation, which gcore would
# write, and a page kept out of cores.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *map(size_t bytes, int rights, int flags)
{
	return mmap(NULL, bytes, rights, flags | MAP_ANONYMOUS, -1, 0);
}

static void *wait_here(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int count, char **words)
{
	size_t touched = strtoul(words[1], NULL, 10);
	char *sparse = map(32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *reserved = NULL, *secret = NULL;
	char *shared = map(8192, PROT_READ | PROT_WRITE, MAP_SHARED);
	pthread_t thread;

	for (size_t i = 0; i < touched; i += 4096)
		sparse[(4 << 20) + i] = (char)(i / 4096 % 255 + 1);
	strcpy(shared, "memory of many processes");
	if (count > 2) {
		reserved = map(1ul << 40, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
		secret = map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		strcpy(secret, "a secret of this process");
		madvise(secret, 4096, MADV_DONTDUMP);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, wait_here, malloc(100));
	printf("%zx %zx %zx\n", (size_t)sparse, (size_t)reserved, (size_t)secret);
	fflush(stdout);
	wait_here(NULL);
}
"""


def start(size=4096, *more):
    process = subprocess.Popen([program, str(size), *more], stdout=subprocess.PIPE, text=True, cwd=cores,
                               preexec_fn=hawk.allow_cores)
    places = [int(word, 16) for word in process.stdout.readline().split()]
    hawk.wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 4, 10, "threads")
    return process, places


def end(process):
    process.kill()
    process.stdout.close()
    process.wait()


def dump(pid, name, **options):
    path = os.path.join(folder, name)
    done = hawk.run([hawk.CORE, "dump", "--force", "--pid", str(pid), "-o", path], **options)
    if "not permitted" in done.stderr:
        hawk.skip("processes may not be attached to here")
    return path, done


def segments(core):
    """File offset, bytes in the file and rights, by address."""
    return {address: (offset, size, flags)
            for _, kind, flags, offset, address, size in core_surgery.program_headers(hawk.read(core))
            if kind == core_surgery.PT_LOAD}


def backtraces(core):
    text = hawk.run([hawk.need("gdb"), "-nx", "-batch", "-ex", "thread apply all bt", program, core]).stdout
    return re.findall(r"^(?:#\d+ .*|Thread \d+ \(.*)$", text, re.M)


def answers(*source):
    """Without what a core does not know: names of threads, data of modules that was not written."""
    leaks, threads, blocks = (hawk.run([hawk.CORE, *verb, *source])
                              for verb in (["leaks", "--json"], ["threads", "--json"], ["blocks"]))
    hawk.expect_equal((leaks.returncode, threads.returncode, leaks.stderr), (0, 0, ""), f"{source}")
    found = hawk.parse(leaks.stdout)
    return ([found[kind] for kind in ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")],
            {thread["tid"]: [frame["function"] for frame in thread["frames"]]
             for thread in hawk.parse(threads.stdout)["threads"]}, blocks.stdout)


def check_against_others():
    """Stacks as in gcore's core, answers as those of the process and of gcore's core."""
    process, _ = start()
    core, done = dump(process.pid, "core")
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "dump")
    hawk.expect(re.search(rf"^process {process.pid} was stopped for [\d.]+ (us|ms|s)$", done.stdout, re.M), done.stdout)
    other = hawk.gcore(process.pid, folder)
    hawk.expect_equal(backtraces(core), backtraces(other), "gdb's stacks")
    mine = answers(core)
    hawk.expect_equal(mine, answers("--pid", str(process.pid)), "the process")
    hawk.expect_equal(mine, answers(other), "gcore's core")
    hawk.expect_equal(mine, answers(dump(process.pid, "core.zst")[0]), "compressed")
    end(process)


def check_stored():
    """As in the kernel's core, which leaves out memory that was never written."""
    process, (_, reserved, secret) = start(4096, "more")
    core, _ = dump(process.pid, "core")
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
        kernel_pages = {int(line.split("-")[0], 16) for line in maps if "[v" in line}
    process.send_signal(signal.SIGSEGV)
    process.wait()
    end(process)
    data, mine = hawk.read(core), segments(core)
    hawk.expect(b"a secret of this process" not in data, "MADV_DONTDUMP")
    hawk.expect(b"memory of many processes" in data, "shared memory")
    hawk.expect(len(data) > 32 << 20 and os.stat(core).st_blocks * 512 < 4 << 20, "holes")
    hawk.expect_equal([mine[at][1] for at in (reserved, secret)], [0, 0], "stored")
    for name in os.listdir(cores):
        for address, (_, size, flags) in segments(os.path.join(cores, name)).items():
            hawk.expect(mine[address][1:] == (size, flags) or not size or address in kernel_pages,
                        f"{address:#x}: {mine[address]}, the kernel's {size, flags}")


def check_states():
    """A stopped process stays stopped; one that is gone has no core; a full disk is an error."""
    process, _ = start()
    os.kill(process.pid, signal.SIGSTOP)
    hawk.wait_for_state(process.pid, "T", "stopped")
    hawk.expect_equal(dump(process.pid, "core")[1].returncode, 0, "stopped before")
    hawk.wait_for_state(process.pid, "T", "afterwards")
    os.kill(process.pid, signal.SIGCONT)
    hawk.wait_for_state(process.pid, "S", "goes on")
    path, done = dump(process.pid, "full", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "File too large" in done.stderr, done.stderr)
    hawk.expect(not os.path.exists(path), "a file was left")
    end(process)
    done = dump(process.pid, "core")[1]
    hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and "there is no process" in done.stderr, done.stderr)


def check_no_room():
    """Where a copy finds no room, the process stands until all is written; killed then, it has no core."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (40 << 20, 40 << 20))
    process, (sparse, *_) = start(24 << 20)
    path, done = dump(process.pid, "held", preexec_fn=limit)
    hawk.expect("s: no room for a copy of its memory" in done.stdout, done.stdout + done.stderr)
    whole = segments(path)[sparse][0] + (4 << 20)
    hawk.expect_equal(hawk.read(path)[whole:whole + (24 << 20):4096], bytes(i % 255 + 1 for i in range(6144)), "memory")
    path = os.path.join(folder, "killed.zst")
    with subprocess.Popen([hawk.CORE, "dump", "--pid", str(process.pid), "-o", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, preexec_fn=limit) as dumping:
        while dumping.poll() is None and hawk.state_of(process.pid) != "t":
            pass
        end(process)
        text = dumping.communicate()[1]
    hawk.expect(dumping.returncode in (hawk.EXIT_OK, hawk.EXIT_UNREADABLE), f"killed: {text!r}")
    hawk.expect_equal(os.path.exists(path), not dumping.returncode, "a core of all, or none")


folder, cores = hawk.temporary_folder(), hawk.temporary_folder()
program = hawk.compile_text(folder, "program", PROGRAM, flags=["-g", "-pthread"])
hawk.run_checks(globals())
