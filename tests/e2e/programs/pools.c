/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pools of several shapes, each annotated; every live object is printed as "function bytes address"
 * before the abort. What was ended, reset or given back must not be found.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hawk_annotate.h"

#define NOINLINE __attribute__((noinline))

/** Bump allocation in [at, end); `start` is where reset goes back to. */
struct arena {
	char *start, *at, *end;
	size_t header;
};

static struct arena arena_over(void *memory, size_t size)
{
	struct arena arena = {.start = memory, .end = (char *)memory + size};

	arena.at = arena.start;
	arena.header = hawk_pool_header_bytes();
	return arena;
}

static inline __attribute__((always_inline)) void *arena_carve(struct arena *arena, size_t size)
{
	char *object = arena->at + arena->header;

	if (object + size > arena->end)
		abort();
	arena->at = object + (size + 15) / 16 * 16;
	if (arena->header)
		hawk_block_begin(object, size);
	return object;
}

static void arena_reset(struct arena *arena)
{
	if (arena->header)
		hawk_pool_reset(arena->start, arena->end);
	arena->at = arena->start;
}

static void report(const char *function, size_t size, const void *object)
{
	printf("%s %zu %p\n", function, size, object);
}

NOINLINE void *take_arena_memory(size_t size)
{
	void *memory = calloc(1, size);

	__asm__ volatile("" : "+r"(memory)); /* no tail call */
	return memory;
}

NOINLINE void *carve_kept(struct arena *arena, size_t size)
{
	void *object = arena_carve(arena, size);

	report(__func__, size, object);
	return object;
}

NOINLINE void *carve_doomed(struct arena *arena, size_t size)
{
	void *object = arena_carve(arena, size);

	__asm__ volatile("" : "+r"(object));
	return object;
}

static void run_bump_arena(void)
{
	struct arena arena = arena_over(take_arena_memory(1 << 20), 1 << 20);

	for (int i = 0; i < 500; i++)
		carve_doomed(&arena, (size_t)(i % 70));
	arena_reset(&arena);
	for (int i = 0; i < 300; i++) {
		carve_kept(&arena, (size_t)(i % 90));
		hawk_block_end(carve_doomed(&arena, 33));
	}
}

/** Slots of one size in memory from mmap, taken and given back in any order. */
NOINLINE void *take_slot(char *slot, size_t header, size_t size)
{
	if (header)
		hawk_block_begin(slot + header, size);
	__asm__ volatile("" : "+r"(slot));
	return slot + header;
}

static void run_slab(void)
{
	enum { SLOT = 112, SLOTS = 1000 };
	char *memory = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	size_t header = hawk_pool_header_bytes();

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < SLOTS; i++)
			take_slot(memory + SLOT * i, header, (size_t)(60 + round));
	for (int i = 0; i < SLOTS; i++) {
		if (i % 3)
			hawk_block_end(memory + SLOT * i + header);
		else
			report("take_slot", 62, memory + SLOT * i + header);
	}
}

/** As apr_pool: a pool's memory is an object of its parent; clearing a pool clears what is below.
 */
NOINLINE struct arena make_subpool(struct arena *parent, size_t size)
{
	void *memory = arena_carve(parent, size);

	report(__func__, size, memory);
	return arena_over(memory, size);
}

NOINLINE void *carve_nested(struct arena *arena, size_t size)
{
	void *object = arena_carve(arena, size);

	report(__func__, size, object);
	return object;
}

static void run_nested_pools(void)
{
	struct arena top = arena_over(take_arena_memory(1 << 18), 1 << 18);
	struct arena doomed = arena_over(carve_doomed(&top, 9000), 9000);

	for (int i = 0; i < 50; i++)
		carve_doomed(&doomed, 100);
	arena_reset(&top); /* the inner ones as well */
	for (int i = 0; i < 5; i++) {
		struct arena middle = make_subpool(&top, 20000);
		struct arena inner = make_subpool(&middle, 4000);

		carve_nested(&middle, 70);
		for (int j = 0; j < 20; j++)
			carve_nested(&inner, (size_t)(24 + j));
		carve_nested(&middle, 80);
	}
}

static void *run_thread(void *argument)
{
	struct arena *arena = argument;

	for (int i = 0; i < 20000; i++) {
		char *object = carve_doomed(arena, (size_t)(i % 50));

		hawk_block_end(object);
		if (i % 500 == 499)
			arena_reset(arena);
	}
	return NULL;
}

static void run_threads(void)
{
	enum { THREADS = 8 };
	static struct arena arenas[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		arenas[i] = arena_over(take_arena_memory(1 << 16), 1 << 16);
		pthread_create(&threads[i], NULL, run_thread, &arenas[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		arena_reset(&arenas[i]);
		carve_kept(&arenas[i], 1000);
	}
}

/** What no careful pool does: it must do no harm. */
static void run_mistakes(void)
{
	static char bytes[64] __attribute__((aligned(16)));
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *block = malloc(100);

	hawk_block_begin(block, 50);     /* no room before it: its header is malloc's */
	hawk_block_end(block);           /* no pool's object */
	hawk_block_begin(bytes + 17, 5); /* not aligned */
	hawk_block_begin(NULL, 5);
	hawk_block_end(NULL);
	hawk_block_end(bytes + 32);         /* never begun */
	hawk_pool_reset(bytes + 64, bytes); /* an empty range */
	mprotect(pages, 4096, PROT_NONE);
	hawk_block_begin(pages + 4096, 50); /* no room, and not even memory */
	hawk_block_end(pages + 4096);
	free(block);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* which would be malloc's */
	run_mistakes();
	run_bump_arena();
	run_slab();
	run_nested_pools();
	run_threads();
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
