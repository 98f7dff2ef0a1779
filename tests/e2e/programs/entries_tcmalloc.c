/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * gperftools: tc_malloc, tc_new and their family.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "entries_standard.h"

struct nothrow;

ENTRIES_FUNCTION(void *, tc_malloc, size_t size);
ENTRIES_FUNCTION(void *, tc_malloc_skip_new_handler, size_t size);
ENTRIES_FUNCTION(void *, tc_calloc, size_t count, size_t size);
ENTRIES_FUNCTION(void *, tc_realloc, void *pointer, size_t size);
ENTRIES_FUNCTION(void *, tc_memalign, size_t alignment, size_t size);
ENTRIES_FUNCTION(int, tc_posix_memalign, void **pointer, size_t alignment, size_t size);
ENTRIES_FUNCTION(void *, tc_valloc, size_t size);
ENTRIES_FUNCTION(void *, tc_pvalloc, size_t size);
ENTRIES_FUNCTION(size_t, tc_malloc_size, const void *pointer);
ENTRIES_FUNCTION(size_t, malloc_size, const void *pointer);
ENTRIES_FUNCTION(size_t, MallocExtension_GetAllocatedSize, const void *pointer);
ENTRIES_FUNCTION(size_t, tc_nallocx, size_t size, int flags);
ENTRIES_FUNCTION(size_t, nallocx, size_t size, int flags);

ENTRIES_MAKER(tc_malloc, CALL(tc_malloc)(size))
ENTRIES_MAKER(tc_malloc_skip_new_handler, CALL(tc_malloc_skip_new_handler)(size))
ENTRIES_MAKER(tc_calloc, CALL(tc_calloc)(1, size))
ENTRIES_MAKER(tc_memalign, CALL(tc_memalign)(alignment, size))
ENTRIES_MAKER(tc_valloc, CALL(tc_valloc)(size))
#define realloc_null tc_realloc
ENTRIES_MAKER(realloc_null, CALL(tc_realloc)(NULL, size))

static __attribute__((noinline)) void *make_tc_posix_memalign(size_t size, size_t alignment)
{
	void *pointer = NULL;

	return CALL(tc_posix_memalign)(&pointer, alignment, size) ? NULL : ENTRIES_RESULT(pointer);
}

ENTRIES_FUNCTION(void *, tc_new, size_t size);
ENTRIES_MAKER(tc_new, CALL(tc_new)(size))
ENTRIES_FUNCTION(void *, tc_new_nothrow, size_t size, const struct nothrow *tag);
ENTRIES_MAKER(tc_new_nothrow, CALL(tc_new_nothrow)(size, NULL))
ENTRIES_FUNCTION(void *, tc_new_aligned, size_t size, size_t alignment);
ENTRIES_MAKER(tc_new_aligned, CALL(tc_new_aligned)(size, alignment))
ENTRIES_FUNCTION(void *, tc_new_aligned_nothrow, size_t size, size_t alignment,
		 const struct nothrow *tag);
ENTRIES_MAKER(tc_new_aligned_nothrow, CALL(tc_new_aligned_nothrow)(size, alignment, NULL))
ENTRIES_FUNCTION(void *, tc_newarray, size_t size);
ENTRIES_MAKER(tc_newarray, CALL(tc_newarray)(size))
ENTRIES_FUNCTION(void *, tc_newarray_nothrow, size_t size, const struct nothrow *tag);
ENTRIES_MAKER(tc_newarray_nothrow, CALL(tc_newarray_nothrow)(size, NULL))
ENTRIES_FUNCTION(void *, tc_newarray_aligned, size_t size, size_t alignment);
ENTRIES_MAKER(tc_newarray_aligned, CALL(tc_newarray_aligned)(size, alignment))
ENTRIES_FUNCTION(void *, tc_newarray_aligned_nothrow, size_t size, size_t alignment,
		 const struct nothrow *tag);
ENTRIES_MAKER(tc_newarray_aligned_nothrow, CALL(tc_newarray_aligned_nothrow)(size, alignment, NULL))

ENTRIES_RESIZER(tc_realloc, CALL(tc_realloc)(pointer, size))
ENTRIES_FUNCTION(void, tc_free, void *pointer);
ENTRIES_FREER(tc_free, CALL(tc_free)(pointer))
ENTRIES_FUNCTION(void, tc_cfree, void *pointer);
ENTRIES_FREER(tc_cfree, CALL(tc_cfree)(pointer))
ENTRIES_FUNCTION(void, tc_delete, void *pointer);
ENTRIES_FREER(tc_delete, CALL(tc_delete)(pointer))
ENTRIES_FUNCTION(void, tc_deletearray, void *pointer);
ENTRIES_FREER(tc_deletearray, CALL(tc_deletearray)(pointer))
ENTRIES_FUNCTION(void, tc_delete_nothrow, void *pointer, const struct nothrow *tag);
ENTRIES_FREER(tc_delete_nothrow, CALL(tc_delete_nothrow)(pointer, NULL))
ENTRIES_FUNCTION(void, tc_deletearray_nothrow, void *pointer, const struct nothrow *tag);
ENTRIES_FREER(tc_deletearray_nothrow, CALL(tc_deletearray_nothrow)(pointer, NULL))
ENTRIES_FUNCTION(void, __libc_free, void *pointer);
ENTRIES_FREER(__libc_free, CALL(__libc_free)(pointer))
ENTRIES_QUERY(tc_malloc_size, CALL(tc_malloc_size)(pointer))
ENTRIES_QUERY(malloc_size, CALL(malloc_size)(pointer))
ENTRIES_QUERY(MallocExtension_GetAllocatedSize, CALL(MallocExtension_GetAllocatedSize)(pointer))

/** The sized deletes must be told the right size and alignment. */
ENTRIES_FUNCTION(void, tc_free_sized, void *pointer, size_t size);
ENTRIES_FUNCTION(void, tc_delete_sized, void *pointer, size_t size);
ENTRIES_FUNCTION(void, tc_deletearray_sized, void *pointer, size_t size);
ENTRIES_FUNCTION(void, tc_delete_aligned, void *pointer, size_t alignment);
ENTRIES_FUNCTION(void, tc_deletearray_aligned, void *pointer, size_t alignment);
ENTRIES_FUNCTION(void, tc_delete_sized_aligned, void *pointer, size_t size, size_t alignment);
ENTRIES_FUNCTION(void, tc_deletearray_sized_aligned, void *pointer, size_t size, size_t alignment);
ENTRIES_FUNCTION(void, tc_delete_aligned_nothrow, void *pointer, size_t alignment,
		 const struct nothrow *tag);
ENTRIES_FUNCTION(void, tc_deletearray_aligned_nothrow, void *pointer, size_t alignment,
		 const struct nothrow *tag);

static void pair_sized(size_t size)
{
	CALL(tc_free_sized)(CALL(tc_malloc)(size), size);
	CALL(tc_free_sized)(malloc(size), size);
	CALL(tc_delete_sized)(CALL(tc_new)(size), size);
	CALL(tc_deletearray_sized)(CALL(tc_newarray)(size), size);
	CALL(tc_delete_aligned)(CALL(tc_new_aligned)(size, 64), 64);
	CALL(tc_deletearray_aligned)(CALL(tc_newarray_aligned)(size, 64), 64);
	CALL(tc_delete_sized_aligned)(CALL(tc_new_aligned)(size, 64), size, 64);
	CALL(tc_deletearray_sized_aligned)(CALL(tc_newarray_aligned)(size, 64), size, 64);
	CALL(tc_delete_aligned_nothrow)(CALL(tc_new_aligned)(size, 64), 64, NULL);
	CALL(tc_deletearray_aligned_nothrow)(CALL(tc_newarray_aligned)(size, 64), 64, NULL);
}

static const char *check_sizes(void)
{
	void *pointer;

	if (!tc_malloc)
		return NULL;
	for (size_t size = 1; size < 100000; size += 1 + size / 3) {
		pair_sized(size);
		pointer = CALL(tc_malloc)(size);
		if (CALL(tc_malloc_size)(pointer) != CALL(tc_nallocx)(size, 0) ||
		    CALL(nallocx)(size, 0) != CALL(tc_nallocx)(size, 0))
			return "tc_nallocx";
		CALL(tc_free)(pointer);
	}
	if (CALL(tc_malloc)(SIZE_MAX) || CALL(tc_malloc)(SIZE_MAX - 20) ||
	    CALL(tc_calloc)(SIZE_MAX / 2, 3) || CALL(tc_new_nothrow)(SIZE_MAX - 4, NULL) ||
	    CALL(tc_posix_memalign)(&pointer, 24, 100) == 0)
		return "tc_malloc of everything";
	pointer = CALL(tc_pvalloc)(5000);
	if ((uintptr_t)pointer % 4096 || CALL(tc_malloc_size)(pointer) < 8192)
		return "tc_pvalloc";
	if (CALL(tc_realloc)(pointer, SIZE_MAX - 4))
		return "tc_realloc to everything";
	if (CALL(tc_realloc)(pointer, 0))
		return "tc_realloc to nothing";
	return NULL;
}

static struct entries_maker makers[] = {
	STANDARD_MAKERS,
	MAKER(tc_malloc, false, false),
	MAKER(tc_malloc_skip_new_handler, false, false),
	MAKER(tc_calloc, false, true),
	MAKER(tc_memalign, true, false),
	MAKER(tc_valloc, false, false),
	MAKER(tc_posix_memalign, true, false),
	MAKER(realloc_null, false, false),
	MAKER(tc_new, false, false),
	MAKER(tc_new_nothrow, false, false),
	MAKER(tc_new_aligned, true, false),
	MAKER(tc_new_aligned_nothrow, true, false),
	MAKER(tc_newarray, false, false),
	MAKER(tc_newarray_nothrow, false, false),
	MAKER(tc_newarray_aligned, true, false),
	MAKER(tc_newarray_aligned_nothrow, true, false),
};

static struct entries_resizer resizers[] = {
	STANDARD_RESIZERS,
	RESIZER(tc_realloc, false, false),
};

static struct entries_freer freers[] = {
	STANDARD_FREERS,
	FREER(tc_free),
	FREER(tc_cfree),
	FREER(tc_delete),
	FREER(tc_deletearray),
	FREER(tc_delete_nothrow),
	FREER(tc_deletearray_nothrow),
	FREER(__libc_free),
};

static struct entries_query queries[] = {
	QUERY(tc_malloc_size),
	QUERY(malloc_size),
	QUERY(MallocExtension_GetAllocatedSize),
	{NULL, NULL, NULL, NULL},
};

const struct entries_family entries_tcmalloc = {
	.name = "tcmalloc",
	FAMILY_LISTS,
	.at_thread_end = NULL,
	.check = check_sizes,
};
