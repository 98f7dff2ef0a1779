# SPDX-License-Identifier: Apache-2.0
"""Cores of AArch64 programs, which qemu-user writes: stacks with signed return addresses, across a signal handler and a
function without a frame; threads and what they wait for; leaks and roots; every block of a random heap. Dynamic and
static programs, C and C++."""

import glob
import os

from support import hawk

SYSROOT = "/usr/aarch64-linux-gnu"
STATIC = ["-static", "-Wl,-z,separate-code"]  # qemu keeps pages with headers only if they hold no code
SOURCE = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
struct base {
	virtual ~base() {}
	void *next;
};
struct derived : base {
	long number[4];
};
static base *make(void) { return new derived; }
#else
struct base {
	void *next;
};
static struct base *make(void) { return (struct base *)malloc(48); }
#endif

static struct base *kept;
static __thread struct base *volatile mine;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *work(void *unused)
{
	mine = make();
	printf("thread %p\n", (void *)mine);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	return unused;
}

static void *end(void *unused)
{
	mine = make();
	printf("lost %p\n", (void *)mine);
	return unused;
}

static void on_fault(int number)
{
	if (number == SIGSEGV)
		abort();
}

__attribute__((noinline)) static int leaf(int *at)
{
	return *at;
}

__attribute__((noinline)) static int middle(int depth)
{
	return depth ? middle(depth - 1) + 1 : leaf((int *)8) + 1;
}

int main(void)
{
	struct sigaction action = {};
	pthread_t thread;

	action.sa_handler = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	mine = make();
	printf("main %p\n", (void *)mine);
	for (int i = 0; i < 10; i++) {
		struct base *node = make();

		node->next = kept;
		kept = node;
	}
	printf("kept %p\n", (void *)kept);
	printf("lost %p\n", (void *)make());
	pthread_mutex_lock(&mutex);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	pthread_barrier_wait(&barrier);
	pthread_create(&thread, NULL, end, NULL);
	pthread_join(thread, NULL);
	usleep(50000);
	return middle(3);
}
"""


def run(program, *arguments):
    """The core of a program, and what it printed."""
    done = hawk.run([qemu, "-L", SYSROOT, program, *arguments], cwd=folder, env=hawk.plain_environment(),
                    preexec_fn=hawk.allow_cores)
    cores = glob.glob(os.path.join(folder, f"qemu_{os.path.basename(program)}_*.core"))
    if not cores:
        hawk.skip(f"qemu-user wrote no core: {done.stderr}")
    return cores[0], [line.split() for line in done.stdout.splitlines()]


def ask(verb, core, *arguments, codes=(hawk.EXIT_OK,)):
    return hawk.document(verb, "--sysroot", SYSROOT, *arguments, core, codes=codes)


def check_stacks(threads):
    names = [[hawk.plain_name(frame["function"] or "") for frame in thread["frames"]] for thread in threads]
    first = [name for name in names[0] if name in ("abort", "on_fault", "leaf", "middle", "main")]
    hawk.expect_equal(first, ["abort", "on_fault", "leaf"] + 4 * ["middle"] + ["main"], f"the stack {names[0]}")
    hawk.expect("work" in names[1], f"the thread's stack {names[1]}")
    guesses = [frame for thread in threads for frame in thread["frames"] if "confidence" in frame]
    hawk.expect_equal(guesses, [], "frames that are not proven")
    hawk.expect_equal(threads[1]["system_call"]["name"], "futex", "the system call of the thread that waits")
    waits = threads[1]["waits_for"]
    hawk.expect_equal((waits["kind"], waits["owner_tid"], waits["symbol"]), ("mutex", threads[0]["tid"], "mutex"),
                      "the thread waits for")


def check_leaks(core, printed):
    lost = {int(address, 16) for word, address in printed if word == "lost"}
    found = ask("leaks", core, "--full", codes=(hawk.EXIT_CONDITION,))
    examples = {int(record["example"], 16) for record in found["records"]
                if record["kind"] == "definitely_lost"}
    hawk.expect(examples and examples <= lost, f"{examples} are lost, of {lost}")
    hawk.expect_equal(found["definitely_lost"]["objects"], len(lost), f"lost: {found['definitely_lost']}")


def check_roots(core, printed):
    places = {word: address for word, address in printed}
    for word, kind, name in ("main", "tls", "mine"), ("thread", "tls", "mine"), ("kept", "module", "kept"):
        path = hawk.text_of("path", "--sysroot", SYSROOT, core, places[word])
        hawk.expect(name in path, f"{word} is held by {kind} `{name}`: {path}")


def check_program(name, compiler, flags, type_name=None):
    program = hawk.compile_text(folder, name, SOURCE, compiler, ["-O1", "-mbranch-protection=standard", *flags])
    core, printed = run(program)
    check_stacks(ask("threads", core)["threads"])
    check_leaks(core, printed)
    check_roots(core, printed)
    ask("verify", core)
    if type_name:
        hawk.expect(type_name in hawk.text_of("types", "--sysroot", SYSROOT, core), f"types name {type_name}")


def check_blocks():
    program = hawk.compile_program(os.path.join(folder, "truth"), ["native_truth.c"], compiler("gcc"), ["-O1", "-lrt"])
    core, truth = run(program, "1", "300", "2", "1", "arx")
    found = {int(block["address"], 16): block["size"] for block in hawk.blocks(core)}
    wrong = [line for line in truth if found.pop(int(line[0], 16), None) != int(line[1])]
    hawk.expect_equal(wrong, [], f"wrong of {len(truth)} blocks")
    hawk.expect(len(found) < 20, f"blocks that the program does not have: {found}")


def compiler(name):
    return f"aarch64-linux-gnu-{name}"


hawk.small_stacks()
qemu = hawk.need("qemu-aarch64")
hawk.need(compiler("gcc"), compiler("g++"))
folder = hawk.temporary_folder()
check_program("static", compiler("gcc"), STATIC)
check_program("dynamic", compiler("g++"), [], "derived")
check_blocks()
hawk.finish()
