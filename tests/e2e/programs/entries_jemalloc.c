/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * jemalloc: mallocx and its family, with flags.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "entries_standard.h"

#define LOG2(alignment) __builtin_ctzll(alignment)
#define ZERO            0x40
#define NO_CACHE        (1 << 8)
#define ARENA(number)   ((int)((number) + 1) << 20)

ENTRIES_FUNCTION(void *, mallocx, size_t size, int flags);
ENTRIES_FUNCTION(void *, rallocx, void *pointer, size_t size, int flags);
ENTRIES_FUNCTION(size_t, xallocx, void *pointer, size_t size, size_t extra, int flags);
ENTRIES_FUNCTION(size_t, sallocx, const void *pointer, int flags);
ENTRIES_FUNCTION(void, dallocx, void *pointer, int flags);
ENTRIES_FUNCTION(void, sdallocx, void *pointer, size_t size, int flags);
ENTRIES_FUNCTION(size_t, nallocx, size_t size, int flags);
ENTRIES_FUNCTION(int, mallctl, const char *name, void *old, size_t *old_size, void *new,
		 size_t new_size);

/* Several ways to call one function. */
#define mallocx_plain         mallocx
#define mallocx_zero_         mallocx
#define mallocx_aligned_      mallocx
#define mallocx_aligned_zero  mallocx
#define mallocx_own_arena     mallocx
#define rallocx_plain         rallocx
#define rallocx_aligned_      rallocx
#define dallocx_plain         dallocx
#define dallocx_without_cache dallocx

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

ENTRIES_MAKER(mallocx_plain, CALL(mallocx)(size, 0))
ENTRIES_MAKER(mallocx_zero_, CALL(mallocx)(size, ZERO))
ENTRIES_MAKER(mallocx_aligned_, CALL(mallocx)(size, LOG2(alignment)))
ENTRIES_MAKER(mallocx_aligned_zero, CALL(mallocx)(size, LOG2(alignment) | ZERO | NO_CACHE))
ENTRIES_MAKER(mallocx_own_arena, CALL(mallocx)(size, ARENA(own_arena()) | NO_CACHE))
ENTRIES_RESIZER(rallocx_plain, CALL(rallocx)(pointer, size, 0))
ENTRIES_RESIZER(rallocx_aligned_, CALL(rallocx)(pointer, size, LOG2(alignment)))
ENTRIES_FREER(dallocx_plain, CALL(dallocx)(pointer, 0))
ENTRIES_FREER(dallocx_without_cache, CALL(dallocx)(pointer, NO_CACHE))
ENTRIES_QUERY(sallocx, CALL(sallocx)(pointer, 0))

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

static struct entries_maker makers[] = {
	STANDARD_MAKERS,
	MAKER(mallocx_plain, false, false),
	MAKER(mallocx_zero_, false, true),
	MAKER(mallocx_aligned_, true, false),
	MAKER(mallocx_aligned_zero, true, true),
	MAKER(mallocx_own_arena, false, false),
};

static struct entries_resizer resizers[] = {
	STANDARD_RESIZERS,
	RESIZER(rallocx_plain, false, false),
	RESIZER(rallocx_aligned_, true, false),
	RESIZER(xallocx, false, true),
};

static struct entries_freer freers[] = {
	STANDARD_FREERS,
	FREER(dallocx_plain),
	FREER(dallocx_without_cache),
};

static struct entries_query queries[] = {
	QUERY(sallocx),
	{NULL, NULL, NULL, NULL},
};

const struct entries_family entries_jemalloc = {
	.name = "jemalloc",
	FAMILY_LISTS,
	.at_thread_end = NULL,
	.check = check_sizes,
};
