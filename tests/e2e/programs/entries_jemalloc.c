/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * jemalloc: mallocx and its family, with flags.
 */
#define LOG2(alignment)       __builtin_ctzll(alignment)
#define ZERO                  0x40
#define NO_CACHE              (1 << 8)
#define ARENA(number)         ((int)((number) + 1) << 20)
#define SIZE_FLAGS(value)     (size_t size, int flags), (size, value)
#define OLD_SIZE_FLAGS(value) (void *pointer, size_t size, int flags), (pointer, size, value)
#define OLD_FLAGS(value)      (void *pointer, int flags), (pointer, value)
#define ENTRIES_LIST          "entries_jemalloc.def"

static unsigned own_arena(void);
#include "entries_family.h"

ENTRIES_FUNCTION(size_t, xallocx, void *pointer, size_t size, size_t extra, int flags);
ENTRIES_FUNCTION(void, sdallocx, void *pointer, size_t size, int flags);
ENTRIES_FUNCTION(size_t, nallocx, size_t size, int flags);
ENTRIES_FUNCTION(int, mallctl, const char *name, void *old, size_t *old_size, void *new,
		 size_t new_size);

/** An arena of the program's own. */
static unsigned own_arena(void)
{
	static unsigned arena;
	unsigned known = __atomic_load_n(&arena, __ATOMIC_RELAXED), fresh = 0;
	size_t size = sizeof(fresh);

	if (known)
		return known;
	if (CALL(mallctl)("arenas.create", &fresh, &size, NULL, 0))
		abort();
	__atomic_store_n(&arena, fresh, __ATOMIC_RELAXED);
	return fresh;
}

/** In place: between `size` and 20 bytes more. */
static __attribute__((noinline)) void *resize_xallocx(void *pointer, size_t size, size_t alignment)
{
	size_t got = CALL(xallocx)(pointer, size, 0, 0);

	(void)alignment;
	if (got != CALL(sallocx)(pointer, 0))
		abort();
	/* It may have found no way to shrink: the caller may use `size` bytes all the same. */
	return got >= size ? ENTRIES_RESULT(pointer) : NULL;
}

static const char *check_sdallocx(void)
{
	for (size_t size = 1; size < 100000; size += 1 + size / 3) {
		for (int alignment = 0; alignment < 14; alignment++) {
			char *pointer = CALL(mallocx)(size, alignment);

			if (CALL(nallocx)(size, alignment) != CALL(sallocx)(pointer, alignment))
				return "nallocx";
			CALL(sdallocx)(pointer, size, alignment);
			pointer = CALL(mallocx)(size, alignment);
			CALL(sdallocx)(pointer, CALL(nallocx)(size, alignment), alignment);
		}
	}
	return NULL;
}

static const char *check_sizes(void)
{
	void *pointer;

	if (!mallocx)
		return NULL;
	if (CALL(nallocx)(SIZE_MAX, 0) || CALL(nallocx)(SIZE_MAX - 20, 0))
		return "nallocx of everything";
	if (CALL(mallocx)(SIZE_MAX, 0) || CALL(mallocx)(SIZE_MAX - 20, 6) || CALL(mallocx)(100, 62))
		return "mallocx of everything";
	pointer = CALL(mallocx)(1000, 0);
	memset(pointer, 7, 1000);
	if (CALL(rallocx)(pointer, SIZE_MAX - 4, 0) || CALL(rallocx)(pointer, (size_t)1 << 60, 0) ||
	    CALL(xallocx)(pointer, SIZE_MAX - 4, 0, 0) != CALL(sallocx)(pointer, 0) ||
	    CALL(xallocx)(pointer, 1000, SIZE_MAX - 1000, 0) != CALL(sallocx)(pointer, 0))
		return "rallocx to everything";
	for (int i = 0; i < 1000; i++)
		if (((char *)pointer)[i] != 7)
			return "a refused rallocx";
	free(pointer);
	return check_sdallocx();
}

static struct entries_function functions[] = {
#include "entries_standard.def"
#include ENTRIES_LIST
};

const struct entries_family entries_jemalloc = {
	.name = "jemalloc",
	.functions = functions,
	.count = sizeof(functions) / sizeof(functions[0]),
	.check = check_sizes,
};
