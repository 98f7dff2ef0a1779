/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks that an allocator takes back as a whole: an arena of jemalloc that is reset or destroyed
 * in one of the ways there are (argument), or more heaps of mimalloc than the tracer remembers. A
 * few blocks are really lost. Ends in abort().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE     __attribute__((noinline))
#define WEAK         __attribute__((weak))
#define ARENA(index) ((int)((index) + 1) << 20)

enum { NO_CACHE = 1 << 8, ARENA_BLOCKS = 50, LOST_BLOCKS = 3, HEAPS = 1025 };

WEAK void *mallocx(size_t size, int flags);
WEAK int mallctl(const char *name, void *old, size_t *old_bytes, void *value, size_t value_bytes);
WEAK int mallctlnametomib(const char *name, size_t *mib, size_t *length);
WEAK int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_bytes, void *value,
		      size_t value_bytes);
WEAK void *mi_heap_new(void);
WEAK void *mi_heap_malloc(void *heap, size_t size);
WEAK void mi_heap_destroy(void *heap);

static void *volatile kept[ARENA_BLOCKS];
static void *volatile gone;
static void *heaps[HEAPS];

NOINLINE void *make_in_arena(unsigned arena)
{
	return mallocx(1000, ARENA(arena) | NO_CACHE);
}

NOINLINE void *make_lost(void)
{
	return malloc(100);
}

NOINLINE void *make_in_heap(void *heap)
{
	return mi_heap_malloc(heap, 200);
}

/** The number, as text where `format` has a %u. */
static int by_name(const char *format, unsigned arena)
{
	char name[64];

	snprintf(name, sizeof(name), format, arena);
	return mallctl(name, NULL, NULL, NULL, 0);
}

static int by_mib(const char *name, unsigned arena)
{
	size_t mib[3], length = 3;

	if (mallctlnametomib(name, mib, &length))
		abort();
	mib[1] = arena;
	return mallctlbymib(mib, length, NULL, NULL, NULL, 0);
}

static void use_arena(const char *way)
{
	unsigned arena;
	size_t bytes = sizeof(arena);

	if (mallctl("arenas.create", &arena, &bytes, NULL, 0))
		abort();
	for (int i = 0; i < ARENA_BLOCKS; i++)
		kept[i] = make_in_arena(arena);
	/* None of these takes a block back. */
	if (!by_name("arena.%u.reset", 0) || !by_mib("arena.0.destroy", 0) ||
	    by_name("arena.%u.purge", arena) || by_mib("arena.0.decay", arena))
		abort();
	if (!strcmp(way, "kept"))
		return;
	if (!strcmp(way, "reset")
		    ? by_name("arena.%u.reset", arena) || by_name("arena.%u.reset", arena)
	    : !strcmp(way, "destroy")   ? by_name("arena.%u.destroy", arena)
	    : !strcmp(way, "mib reset") ? by_mib("arena.0.reset", arena)
					: by_mib("arena.0.destroy", arena))
		abort();
	for (int i = 0; i < ARENA_BLOCKS; i++)
		kept[i] = NULL;
}

static void use_heaps(void)
{
	for (int i = 0; i < HEAPS; i++) {
		heaps[i] = mi_heap_new();
		gone = make_in_heap(heaps[i]);
	}
	gone = NULL;
	for (int i = 0; i < HEAPS; i++)
		mi_heap_destroy(heaps[i]);
}

/** What lies in registers and on the dead part of the stack says nothing of lost blocks. */
static NOINLINE void wipe_stack(void)
{
	volatile char bytes[16384];

	memset((char *)bytes, 0, sizeof(bytes));
}

int main(int argc, char **argv)
{
	(void)argc;
	for (int i = 0; i < LOST_BLOCKS; i++)
		gone = make_lost();
	gone = NULL;
	if (mallctl)
		use_arena(argv[1]);
	else
		use_heaps();
	wipe_stack();
	abort();
}
