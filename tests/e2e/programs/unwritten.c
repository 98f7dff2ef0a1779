/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ten lost blocks and one that is held by a mapping of its own, of which MODE says what becomes:
 *
 *     unwritten MODE [abort|wait]
 *
 * "untouched": nobody ever writes to it (Rust's stack for signals); the block is held by a
 * variable. "kept out": it is not to be in cores. "again": nor was it, for some time. "many": as
 * "kept out", after more such mappings than anybody takes note of. "moved": as "kept out", but then
 * it moves elsewhere.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 64 << 10, LOST = 10, MANY = 200 };

static void *volatile held;

__attribute__((noinline)) static void site_lost(void)
{
	void *volatile block = malloc(100);

	block = NULL;
}

__attribute__((noinline)) static void *site_held(void)
{
	return malloc(200);
}

/* With a page without rights on either side, so that nothing is joined to it. */
static char *map(void)
{
	char *memory = mmap(NULL, 3 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + BYTES, BYTES, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	return memory + BYTES;
}

static void keep_out(void *memory, int advice)
{
#ifndef WITHOUT_MADVISE
	if (madvise(memory, BYTES, advice) != 0)
#endif
		exit(1);
}

static char *move(void *memory)
{
	char *place = map();

	if (mremap(memory, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
		exit(1);
	return place;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char *memory = map();

	if (!strcmp(mode, "untouched")) {
		sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = BYTES}, NULL);
		held = site_held();
	} else {
		for (int i = 0; i < MANY && !strcmp(mode, "many"); i++)
			keep_out(map(), MADV_DONTDUMP);
		keep_out(memory, MADV_DONTDUMP);
		if (!strcmp(mode, "again"))
			keep_out(memory, MADV_DODUMP);
		if (!strcmp(mode, "moved"))
			memory = move(memory);
		*(void *volatile *)memory = site_held();
	}
	for (int i = 0; i < LOST; i++)
		site_lost();
	puts("ready");
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "wait"))
		pause();
	abort();
}
