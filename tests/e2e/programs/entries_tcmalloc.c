/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * gperftools: tc_malloc, tc_new and their family.
 */
#define ENTRIES_LIST "entries_tcmalloc.def"
#include "entries_family.h"

ENTRIES_FUNCTION(int, tc_posix_memalign, void **pointer, size_t alignment, size_t size);
ENTRIES_FUNCTION(void *, tc_pvalloc, size_t size);
ENTRIES_FUNCTION(size_t, tc_nallocx, size_t size, int flags);
ENTRIES_FUNCTION(size_t, nallocx, size_t size, int flags);

MAKER_CALLS(realloc_null, CALL(tc_realloc)(NULL, size))

static __attribute__((noinline)) void *make_tc_posix_memalign(size_t size, size_t alignment)
{
	void *pointer = NULL;

	return CALL(tc_posix_memalign)(&pointer, alignment, size) ? NULL : ENTRIES_RESULT(pointer);
}

/** The sized deletes must be told the right size and alignment. */
ENTRIES_FUNCTION(void, tc_free_sized, void *pointer, size_t size);
ENTRIES_FUNCTION(void, tc_delete_sized, void *pointer, size_t size);
ENTRIES_FUNCTION(void, tc_deletearray_sized, void *pointer, size_t size);
ENTRIES_FUNCTION(void, tc_delete_aligned, void *pointer, size_t alignment);
ENTRIES_FUNCTION(void, tc_deletearray_aligned, void *pointer, size_t alignment);
ENTRIES_FUNCTION(void, tc_delete_sized_aligned, void *pointer, size_t size, size_t alignment);
ENTRIES_FUNCTION(void, tc_deletearray_sized_aligned, void *pointer, size_t size, size_t alignment);
ENTRIES_FUNCTION(void, tc_delete_aligned_nothrow, void *pointer, size_t alignment, const void *tag);
ENTRIES_FUNCTION(void, tc_deletearray_aligned_nothrow, void *pointer, size_t alignment,
		 const void *tag);

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

static struct entries_function functions[] = {
#include "entries_standard.def"
#include ENTRIES_LIST
};

const struct entries_family entries_tcmalloc = {
	.name = "tcmalloc",
	.functions = functions,
	.count = sizeof(functions) / sizeof(functions[0]),
	.check = check_sizes,
};
