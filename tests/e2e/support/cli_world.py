# SPDX-License-Identifier: Apache-2.0
"""A program of known content for the tests of the command line, and its core."""

import re
import signal

from support import hawk

SOURCE = r"""
#include <atomic>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vector>

struct Node { char text[40]; };
static void *kept[4096];
static int used;
static char table[64];
static volatile int three = 3; // or the loop would become three call sites

extern "C" __attribute__((noinline)) void make_small(void) { kept[used++] = malloc(24); }
extern "C" __attribute__((noinline)) void make_large(void) { kept[used++] = calloc(1, 300000); }
extern "C" __attribute__((noinline)) void make_node(void) { kept[used++] = new Node; }
extern "C" __attribute__((noinline)) void make_freed(void)
{
	void *volatile block = malloc(5000);
	free(block);
}
extern "C" __attribute__((noinline)) void fill_vector(void)
{
	auto *vector = new std::vector<Node>;
	for (int i = 0; i < 100; i++)
		vector->push_back(Node());
	kept[used++] = vector;
}

static std::atomic<bool> waits;

static void *wait_forever(void *)
{
	char local[64];
	printf("stack %p\n", (void *)local);
	fflush(stdout);
	waits = true;
	for (;;)
		pause();
	return local;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < 1000; i++)
		make_small();
	for (int i = 0; i < three; i++)
		make_large();
	for (int i = 0; i < 50; i++)
		make_node();
	for (int i = 0; i < 200; i++)
		make_freed();
	fill_vector();
	printf("table %p\nlarge %p\n", (void *)table, kept[1000]);
	fflush(stdout);
	pthread_create(&thread, nullptr, wait_forever, nullptr);
	while (!waits)
		usleep(1000);
	usleep(100000);
	if (argc > 1 && !strcmp(argv[1], "segv"))
		*(volatile int *)8 = 1;
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	pause();
	return 0;
}
"""


def build(folder, name="world"):
    return hawk.compile_text(folder, name, SOURCE, "g++", ["-O1"])


def crash(folder, how="segv", program=None, environment=None):
    """(core, addresses that the program printed by name)"""
    core, done = hawk.crash([program or build(folder), how],
                            environment or hawk.tracer_environment(), folder,
                            (signal.SIGSEGV, signal.SIGABRT))
    return core, {name: int(value, 16) for name, value in
                  re.findall(r"^(\w+) (0x[0-9a-f]+)", done.stdout, re.M)}
