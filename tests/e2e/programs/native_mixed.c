/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Several allocators in one process: allocates from the C library and from each library that is
 * named (libc.so.6 is a second one), frees a third, writes down every live block and its usable
 * size, and aborts.
 *
 *     native_mixed SEED [LIBRARY:ALLOCATE:FREE:USABLE-SIZE ...]
 *
 * SEED 0 makes few blocks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 3000, ALLOCATORS_MAX = 8 };

struct allocator {
	void *(*allocate)(size_t);
	void (*release)(void *);
	size_t (*usable)(void *);
};

static struct allocator allocators[ALLOCATORS_MAX] = {{malloc, free, malloc_usable_size}};
static void *blocks[ALLOCATORS_MAX][BLOCKS];
static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void load(struct allocator *allocator, char *words)
{
	const char *name = strtok(words, ":");
	void *library = strcmp(name, "libc.so.6") == 0
				? dlmopen(LM_ID_NEWLM, name, RTLD_NOW)
				: dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	*(void **)&allocator->allocate = dlsym(library, strtok(NULL, ":"));
	*(void **)&allocator->release = dlsym(library, strtok(NULL, ":"));
	*(void **)&allocator->usable = dlsym(library, strtok(NULL, ":"));
}

/* Mostly small; pointers go to and fro between allocators. */
static void fill(void **block, size_t size)
{
	for (size_t i = 0; i < size / 8 && i < 8; i++)
		block[i] = blocks[next_random() % ALLOCATORS_MAX][next_random() % BLOCKS];
}

int main(int count, char **arguments)
{
	int used = 1, each = strcmp(arguments[1], "0") == 0 ? 30 : BLOCKS;

	random_state = strtoull(arguments[1], NULL, 10) * 7919 + 1;
	for (int i = 2; i < count && used < ALLOCATORS_MAX; i++)
		load(&allocators[used++], arguments[i]);
	for (int i = 0; i < each * used; i++) {
		int which = i % used;
		size_t size = next_random() % 20 ? next_random() % 600 : next_random() % 200000;

		blocks[which][i / used] = allocators[which].allocate(size);
		fill(blocks[which][i / used], size);
	}
	for (int i = 0; i < each * used; i++)
		if (next_random() % 3 == 0) {
			allocators[i % used].release(blocks[i % used][i / used]);
			blocks[i % used][i / used] = NULL;
		}
	for (int i = 0; i < each * used; i++) {
		char line[64];
		void *block = blocks[i % used][i / used];
		int length = block ? snprintf(line, sizeof(line), "%#lx %zu\n",
					      (unsigned long)(uintptr_t)block,
					      allocators[i % used].usable(block))
				   : 0;

		if (length && write(STDOUT_FILENO, line, (size_t)length) != length)
			_exit(1);
	}
	abort();
}
