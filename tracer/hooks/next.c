/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks up the next allocator. dlsym() itself may call calloc and free: these calls use the
 * bootstrap heap.
 */
#include "next.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "table/arena.h"
#include "init.h"
#include "unwind/loader.h"

struct hawk_next hawk_next;

/* Defined here and not in init.c, because unit tests of the recorder link only this file. */
enum hawk_phase hawk_phase;

char *hawk_bootstrap;
static size_t bootstrap_used;

void *hawk_bootstrap_allocate(size_t bytes)
{
	size_t at;

	if (!hawk_bootstrap)
		hawk_bootstrap = hawk_arena_private(HAWK_BOOTSTRAP_BYTES, HAWK_EXTENT_BOOTSTRAP);
	if (!hawk_bootstrap || bytes > HAWK_BOOTSTRAP_BYTES)
		return NULL;
	at = __atomic_fetch_add(&bootstrap_used, (bytes + 15) & -(size_t)16, __ATOMIC_RELAXED);
	return at + bytes <= HAWK_BOOTSTRAP_BYTES ? hawk_bootstrap + at : NULL;
}

/**
 * Returns the aligned functions that the program takes from us although its free() is not ours.
 * Another library that wraps the family before us wraps all of it.
 */
static uint32_t find_elsewhere(void)
{
	const struct {
		const char *name;
		void *ours;
	} functions[] = {
		[HAWK_CALL_MEMALIGN] = {"memalign", memalign},
		[HAWK_CALL_ALIGNED_ALLOC] = {"aligned_alloc", aligned_alloc},
		[HAWK_CALL_POSIX_MEMALIGN] = {"posix_memalign", posix_memalign},
		[HAWK_CALL_VALLOC] = {"valloc", valloc},
		[HAWK_CALL_PVALLOC] = {"pvalloc", pvalloc},
	};
	uint32_t elsewhere = 0;

	for (uint32_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (hawk_loader_is_first(functions[i].name, functions[i].ours))
			elsewhere |= 1u << i;
	return elsewhere;
}

bool hawk_next_resolve(void)
{
	struct hawk_next next = {
		.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"),
		.free = (void (*)(void *))dlsym(RTLD_NEXT, "free"),
		.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc"),
		.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc"),
		.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign"),
		.aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc"),
		.posix_memalign =
			(int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign"),
		.valloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "valloc"),
		.pvalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc"),
		.malloc_usable_size = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size"),
		.madvise = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise"),
		.sigaltstack = (int (*)(const stack_t *, stack_t *))dlsym(RTLD_NEXT, "sigaltstack"),
	};

	if (!next.malloc || !next.free || !next.calloc || !next.realloc)
		return false;
	if (!hawk_loader_is_first("free", (void *)free)) {
		next.elsewhere = find_elsewhere();
		next.reallocarray =
			(void *(*)(void *, size_t, size_t))dlsym(RTLD_NEXT, "reallocarray");
	}
	hawk_next = next;
	return true;
}
