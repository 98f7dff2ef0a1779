/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers to and from a pool: an arena known by its start, an object that only the arena's last
 * words name, one that nobody names, and a block that only an object of the pool names.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk_annotate.h"

#define NOINLINE __attribute__((noinline))

enum { ARENA = 6 << 20 };

static char *arena, *at;
static void *volatile named;

NOINLINE void make_arena(void)
{
	arena = at = malloc(ARENA);
	memset(arena, 0, ARENA);
}

static inline __attribute__((always_inline)) void *carve(size_t size)
{
	char *object = at + hawk_pool_header_bytes();

	at = object + (size + 15) / 16 * 16 + 64; /* and room that is the arena's own */
	memset(object, 0, size);
	hawk_block_begin(object, size);
	return object;
}

NOINLINE void make_named(void)
{
	named = carve(100);
}

NOINLINE void *make_held_by_arena(void)
{
	void *object = carve(200);

	__asm__ volatile("" : "+r"(object));
	return object;
}

NOINLINE void make_lost(void)
{
	carve(300);
}

NOINLINE void *make_held_by_object(void)
{
	void *block = malloc(400);

	__asm__ volatile("" : "+r"(block));
	return block;
}

NOINLINE void fill(void)
{
	make_named();
	make_lost();
	*(void *volatile *)(arena + ARENA - 8) = make_held_by_arena();
	*(void *volatile *)named = make_held_by_object();
	make_lost();
}

/* With an argument, the arena is known only by where it will go on. */
int main(int argc, char **argv)
{
	char room[4096];

	make_arena();
	fill();
	(void)argv;
	if (argc > 1)
		arena = NULL;
	memset(room, 0, sizeof(room)); /* what fill() has left on the stack */
	__asm__ volatile("" : : "r"(room) : "memory");
	abort();
}
