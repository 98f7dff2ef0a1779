/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * mimalloc: mi_malloc and its family, in heaps, with alignments.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "entries_standard.h"

struct mi_heap;

ENTRIES_FUNCTION(struct mi_heap *, mi_heap_new, void);
ENTRIES_FUNCTION(void, mi_heap_delete, struct mi_heap *heap);
ENTRIES_FUNCTION(void, mi_heap_destroy, struct mi_heap *heap);
ENTRIES_FUNCTION(struct mi_heap *, mi_heap_get_default, void);
ENTRIES_FUNCTION(bool, mi_heap_check_owned, struct mi_heap *heap, const void *pointer);
ENTRIES_FUNCTION(bool, mi_heap_contains_block, struct mi_heap *heap, const void *pointer);
ENTRIES_FUNCTION(bool, mi_check_owned, const void *pointer);

/** Each thread has a heap of its own, which it deletes in the end: its blocks live on. */
static __thread struct mi_heap *own_heap;

static struct mi_heap *heap(void)
{
	if (!own_heap)
		own_heap = CALL(mi_heap_new)();
	return own_heap;
}

static void delete_own_heap(void)
{
	if (own_heap)
		CALL(mi_heap_delete)(own_heap);
	own_heap = NULL;
}

ENTRIES_FUNCTION(void *, mi_malloc, size_t size);
ENTRIES_MAKER(mi_malloc, CALL(mi_malloc)(size))
ENTRIES_FUNCTION(void *, mi_heap_malloc, struct mi_heap *own, size_t size);
ENTRIES_MAKER(mi_heap_malloc, CALL(mi_heap_malloc)(heap(), size))
ENTRIES_FUNCTION(void *, mi_malloc_aligned, size_t size, size_t alignment);
ENTRIES_MAKER(mi_malloc_aligned, CALL(mi_malloc_aligned)(size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_malloc_aligned, struct mi_heap *own, size_t size,
		 size_t alignment);
ENTRIES_MAKER(mi_heap_malloc_aligned, CALL(mi_heap_malloc_aligned)(heap(), size, alignment))
ENTRIES_FUNCTION(void *, mi_malloc_aligned_at, size_t size, size_t alignment, size_t offset);
ENTRIES_MAKER(mi_malloc_aligned_at, CALL(mi_malloc_aligned_at)(size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_heap_malloc_aligned_at, struct mi_heap *own, size_t size,
		 size_t alignment, size_t offset);
ENTRIES_MAKER(mi_heap_malloc_aligned_at,
	      CALL(mi_heap_malloc_aligned_at)(heap(), size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_zalloc, size_t size);
ENTRIES_MAKER(mi_zalloc, CALL(mi_zalloc)(size))
ENTRIES_FUNCTION(void *, mi_heap_zalloc, struct mi_heap *own, size_t size);
ENTRIES_MAKER(mi_heap_zalloc, CALL(mi_heap_zalloc)(heap(), size))
ENTRIES_FUNCTION(void *, mi_zalloc_aligned, size_t size, size_t alignment);
ENTRIES_MAKER(mi_zalloc_aligned, CALL(mi_zalloc_aligned)(size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_zalloc_aligned, struct mi_heap *own, size_t size,
		 size_t alignment);
ENTRIES_MAKER(mi_heap_zalloc_aligned, CALL(mi_heap_zalloc_aligned)(heap(), size, alignment))
ENTRIES_FUNCTION(void *, mi_zalloc_aligned_at, size_t size, size_t alignment, size_t offset);
ENTRIES_MAKER(mi_zalloc_aligned_at, CALL(mi_zalloc_aligned_at)(size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_heap_zalloc_aligned_at, struct mi_heap *own, size_t size,
		 size_t alignment, size_t offset);
ENTRIES_MAKER(mi_heap_zalloc_aligned_at,
	      CALL(mi_heap_zalloc_aligned_at)(heap(), size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_calloc, size_t count, size_t size);
ENTRIES_MAKER(mi_calloc, CALL(mi_calloc)(1, size))
ENTRIES_FUNCTION(void *, mi_heap_calloc, struct mi_heap *own, size_t count, size_t size);
ENTRIES_MAKER(mi_heap_calloc, CALL(mi_heap_calloc)(heap(), 1, size))
ENTRIES_FUNCTION(void *, mi_mallocn, size_t count, size_t size);
ENTRIES_MAKER(mi_mallocn, CALL(mi_mallocn)(1, size))
ENTRIES_FUNCTION(void *, mi_heap_mallocn, struct mi_heap *own, size_t count, size_t size);
ENTRIES_MAKER(mi_heap_mallocn, CALL(mi_heap_mallocn)(heap(), 1, size))
ENTRIES_FUNCTION(void *, mi_calloc_aligned, size_t count, size_t size, size_t alignment);
ENTRIES_MAKER(mi_calloc_aligned, CALL(mi_calloc_aligned)(1, size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_calloc_aligned, struct mi_heap *own, size_t count, size_t size,
		 size_t alignment);
ENTRIES_MAKER(mi_heap_calloc_aligned, CALL(mi_heap_calloc_aligned)(heap(), 1, size, alignment))
ENTRIES_FUNCTION(void *, mi_memalign, size_t alignment, size_t size);
ENTRIES_MAKER(mi_memalign, CALL(mi_memalign)(alignment, size))
ENTRIES_FUNCTION(void *, mi_aligned_alloc, size_t alignment, size_t size);
ENTRIES_MAKER(mi_aligned_alloc, CALL(mi_aligned_alloc)(alignment, size))
ENTRIES_FUNCTION(void *, mi_valloc, size_t size);
ENTRIES_MAKER(mi_valloc, CALL(mi_valloc)(size))
ENTRIES_FUNCTION(void *, mi_new, size_t size);
ENTRIES_MAKER(mi_new, CALL(mi_new)(size))
ENTRIES_FUNCTION(void *, mi_new_nothrow, size_t size);
ENTRIES_MAKER(mi_new_nothrow, CALL(mi_new_nothrow)(size))
ENTRIES_FUNCTION(void *, mi_new_n, size_t count, size_t size);
ENTRIES_MAKER(mi_new_n, CALL(mi_new_n)(1, size))
ENTRIES_FUNCTION(void *, mi_new_aligned, size_t size, size_t alignment);
ENTRIES_MAKER(mi_new_aligned, CALL(mi_new_aligned)(size, alignment))
ENTRIES_FUNCTION(void *, mi_new_aligned_nothrow, size_t size, size_t alignment);
ENTRIES_MAKER(mi_new_aligned_nothrow, CALL(mi_new_aligned_nothrow)(size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_alloc_new, struct mi_heap *own, size_t size);
ENTRIES_MAKER(mi_heap_alloc_new, CALL(mi_heap_alloc_new)(heap(), size))
ENTRIES_FUNCTION(void *, mi_heap_alloc_new_n, struct mi_heap *own, size_t count, size_t size);
ENTRIES_MAKER(mi_heap_alloc_new_n, CALL(mi_heap_alloc_new_n)(heap(), 1, size))

ENTRIES_FUNCTION(void *, mi_malloc_small, size_t size);
ENTRIES_FUNCTION(void *, mi_zalloc_small, size_t size);
ENTRIES_FUNCTION(void *, mi_heap_malloc_small, struct mi_heap *own, size_t size);
ENTRIES_FUNCTION(int, mi_posix_memalign, void **pointer, size_t alignment, size_t size);
/* 1,024 bytes are the most that these make. */
ENTRIES_MAKER(mi_malloc_small, size <= 1024 ? CALL(mi_malloc_small)(size) : CALL(mi_malloc)(size))
ENTRIES_MAKER(mi_zalloc_small, size <= 1024 ? CALL(mi_zalloc_small)(size) : CALL(mi_zalloc)(size))
ENTRIES_MAKER(mi_heap_malloc_small, size <= 1024 ? CALL(mi_heap_malloc_small)(heap(), size)
						 : CALL(mi_heap_malloc)(heap(), size))

static __attribute__((noinline)) void *make_mi_posix_memalign(size_t size, size_t alignment)
{
	void *pointer = NULL;

	return CALL(mi_posix_memalign)(&pointer, alignment, size) ? NULL : ENTRIES_RESULT(pointer);
}

ENTRIES_FUNCTION(void *, mi_realloc, void *pointer, size_t size);
ENTRIES_RESIZER(mi_realloc, CALL(mi_realloc)(pointer, size))
ENTRIES_FUNCTION(void *, mi_reallocn, void *pointer, size_t count, size_t size);
ENTRIES_RESIZER(mi_reallocn, CALL(mi_reallocn)(pointer, 1, size))
ENTRIES_FUNCTION(void *, mi_reallocf, void *pointer, size_t size);
ENTRIES_RESIZER(mi_reallocf, CALL(mi_reallocf)(pointer, size))
ENTRIES_FUNCTION(void *, mi_rezalloc, void *pointer, size_t size);
ENTRIES_RESIZER(mi_rezalloc, CALL(mi_rezalloc)(pointer, size))
ENTRIES_FUNCTION(void *, mi_recalloc, void *pointer, size_t count, size_t size);
ENTRIES_RESIZER(mi_recalloc, CALL(mi_recalloc)(pointer, 1, size))
ENTRIES_FUNCTION(void *, mi_reallocarray, void *pointer, size_t count, size_t size);
ENTRIES_RESIZER(mi_reallocarray, CALL(mi_reallocarray)(pointer, 1, size))
ENTRIES_FUNCTION(void *, mi_new_realloc, void *pointer, size_t size);
ENTRIES_RESIZER(mi_new_realloc, CALL(mi_new_realloc)(pointer, size))
ENTRIES_FUNCTION(void *, mi_new_reallocn, void *pointer, size_t count, size_t size);
ENTRIES_RESIZER(mi_new_reallocn, CALL(mi_new_reallocn)(pointer, 1, size))
ENTRIES_FUNCTION(void *, mi_heap_realloc, struct mi_heap *own, void *pointer, size_t size);
ENTRIES_RESIZER(mi_heap_realloc, CALL(mi_heap_realloc)(heap(), pointer, size))
ENTRIES_FUNCTION(void *, mi_heap_reallocn, struct mi_heap *own, void *pointer, size_t count,
		 size_t size);
ENTRIES_RESIZER(mi_heap_reallocn, CALL(mi_heap_reallocn)(heap(), pointer, 1, size))
ENTRIES_FUNCTION(void *, mi_heap_reallocf, struct mi_heap *own, void *pointer, size_t size);
ENTRIES_RESIZER(mi_heap_reallocf, CALL(mi_heap_reallocf)(heap(), pointer, size))
ENTRIES_FUNCTION(void *, mi_heap_rezalloc, struct mi_heap *own, void *pointer, size_t size);
ENTRIES_RESIZER(mi_heap_rezalloc, CALL(mi_heap_rezalloc)(heap(), pointer, size))
ENTRIES_FUNCTION(void *, mi_heap_recalloc, struct mi_heap *own, void *pointer, size_t count,
		 size_t size);
ENTRIES_RESIZER(mi_heap_recalloc, CALL(mi_heap_recalloc)(heap(), pointer, 1, size))
ENTRIES_FUNCTION(void *, mi_realloc_aligned, void *pointer, size_t size, size_t alignment);
ENTRIES_RESIZER(mi_realloc_aligned, CALL(mi_realloc_aligned)(pointer, size, alignment))
ENTRIES_FUNCTION(void *, mi_realloc_aligned_at, void *pointer, size_t size, size_t alignment,
		 size_t offset);
ENTRIES_RESIZER(mi_realloc_aligned_at, CALL(mi_realloc_aligned_at)(pointer, size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_rezalloc_aligned, void *pointer, size_t size, size_t alignment);
ENTRIES_RESIZER(mi_rezalloc_aligned, CALL(mi_rezalloc_aligned)(pointer, size, alignment))
ENTRIES_FUNCTION(void *, mi_rezalloc_aligned_at, void *pointer, size_t size, size_t alignment,
		 size_t offset);
ENTRIES_RESIZER(mi_rezalloc_aligned_at, CALL(mi_rezalloc_aligned_at)(pointer, size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_recalloc_aligned, void *pointer, size_t count, size_t size,
		 size_t alignment);
ENTRIES_RESIZER(mi_recalloc_aligned, CALL(mi_recalloc_aligned)(pointer, 1, size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_realloc_aligned, struct mi_heap *own, void *pointer, size_t size,
		 size_t alignment);
ENTRIES_RESIZER(mi_heap_realloc_aligned,
		CALL(mi_heap_realloc_aligned)(heap(), pointer, size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_realloc_aligned_at, struct mi_heap *own, void *pointer,
		 size_t size, size_t alignment, size_t offset);
ENTRIES_RESIZER(mi_heap_realloc_aligned_at,
		CALL(mi_heap_realloc_aligned_at)(heap(), pointer, size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_heap_rezalloc_aligned, struct mi_heap *own, void *pointer, size_t size,
		 size_t alignment);
ENTRIES_RESIZER(mi_heap_rezalloc_aligned,
		CALL(mi_heap_rezalloc_aligned)(heap(), pointer, size, alignment))
ENTRIES_FUNCTION(void *, mi_heap_rezalloc_aligned_at, struct mi_heap *own, void *pointer,
		 size_t size, size_t alignment, size_t offset);
ENTRIES_RESIZER(mi_heap_rezalloc_aligned_at,
		CALL(mi_heap_rezalloc_aligned_at)(heap(), pointer, size, alignment, 0))
ENTRIES_FUNCTION(void *, mi_heap_recalloc_aligned, struct mi_heap *own, void *pointer, size_t count,
		 size_t size, size_t alignment);
ENTRIES_RESIZER(mi_heap_recalloc_aligned,
		CALL(mi_heap_recalloc_aligned)(heap(), pointer, 1, size, alignment))
ENTRIES_FUNCTION(void *, mi_expand, void *pointer, size_t size);
ENTRIES_RESIZER(mi_expand, CALL(mi_expand)(pointer, size))
ENTRIES_FUNCTION(void, mi_free, void *pointer);
ENTRIES_FREER(mi_free, CALL(mi_free)(pointer))
ENTRIES_FUNCTION(void, mi_cfree, void *pointer);
ENTRIES_FREER(mi_cfree, CALL(mi_cfree)(pointer))
ENTRIES_FUNCTION(void, vfree, void *pointer);
ENTRIES_FREER(vfree, CALL(vfree)(pointer))
ENTRIES_FUNCTION(void, __libc_free, void *pointer);
ENTRIES_FREER(__libc_free, CALL(__libc_free)(pointer))
ENTRIES_FUNCTION(void, mi_free_size, void *pointer, size_t size);
ENTRIES_FREER(mi_free_size, CALL(mi_free_size)(pointer, size))
ENTRIES_FUNCTION(size_t, mi_usable_size, const void *pointer);
ENTRIES_QUERY(mi_usable_size, CALL(mi_usable_size)(pointer))
ENTRIES_FUNCTION(size_t, mi_malloc_size, const void *pointer);
ENTRIES_QUERY(mi_malloc_size, CALL(mi_malloc_size)(pointer))
ENTRIES_FUNCTION(size_t, mi_malloc_usable_size, const void *pointer);
ENTRIES_QUERY(mi_malloc_usable_size, CALL(mi_malloc_usable_size)(pointer))
ENTRIES_FUNCTION(size_t, malloc_size, const void *pointer);
ENTRIES_QUERY(malloc_size, CALL(malloc_size)(pointer))

ENTRIES_FUNCTION(size_t, mi_good_size, size_t size);
ENTRIES_FUNCTION(char *, mi_strdup, const char *text);
ENTRIES_FUNCTION(char *, mi_strndup, const char *text, size_t most);
ENTRIES_FUNCTION(char *, mi_heap_strdup, struct mi_heap *own, const char *text);
ENTRIES_FUNCTION(int, mi_reallocarr, void *place, size_t count, size_t size);

static const char *check_offsets(void)
{
	for (size_t offset = 0; offset < 200; offset += 8) {
		char *pointer = CALL(mi_malloc_aligned_at)(300, 64, offset);

		if (((uintptr_t)pointer + offset) % 64)
			return "mi_malloc_aligned_at";
		memset(pointer, 5, 300);
		pointer = CALL(mi_realloc_aligned_at)(pointer, 3000, 128, offset + 8);
		if (((uintptr_t)pointer + offset + 8) % 128 || pointer[299] != 5)
			return "mi_realloc_aligned_at";
		CALL(mi_free)(pointer);
	}
	for (size_t alignment = 8; alignment <= (size_t)1 << 21; alignment *= 2) {
		char *pointer = CALL(mi_malloc)(100);

		memset(pointer, 6, 100);
		pointer = CALL(mi_realloc_aligned_at)(pointer, 200, alignment, 0);
		if ((uintptr_t)pointer % alignment || pointer[99] != 6)
			return "mi_realloc_aligned_at";
		pointer = CALL(mi_realloc)(pointer, 30000);
		if (pointer[99] != 6)
			return "mi_realloc of an aligned block";
		free(pointer);
	}
	return NULL;
}

static __attribute__((noinline)) void *make_doomed(struct mi_heap *own, size_t size)
{
	return ENTRIES_RESULT(CALL(mi_heap_malloc)(own, size));
}

/** A destroyed heap takes its blocks along, a deleted one leaves them. */
static const char *check_heaps(void)
{
	struct mi_heap *doomed = CALL(mi_heap_new)();
	struct mi_heap *deleted = CALL(mi_heap_new)();
	char *pointer = CALL(mi_heap_malloc)(deleted, 100);

	for (size_t size = 1; size < 40000; size += 1 + size / 4)
		make_doomed(doomed, size);
	if (!CALL(mi_heap_check_owned)(deleted, pointer) ||
	    !CALL(mi_heap_contains_block)(deleted, pointer) || !CALL(mi_check_owned)(malloc(10)) ||
	    CALL(mi_heap_contains_block)(doomed, pointer))
		return "mi_heap_check_owned";
	CALL(mi_heap_destroy)(doomed);
	CALL(mi_heap_delete)(deleted);
	memset(pointer, 1, 100);
	free(pointer);
	return NULL;
}

static const char *check_sizes(void)
{
	char *text;

	if (!mi_malloc)
		return NULL;
	for (size_t size = 1; size < 100000; size += 1 + size / 3) {
		void *pointer = CALL(mi_malloc)(size);

		if (CALL(mi_good_size)(size) != CALL(mi_usable_size)(pointer))
			return "mi_good_size";
		if (!CALL(mi_expand)(pointer, CALL(mi_usable_size)(pointer)) ||
		    CALL(mi_expand)(pointer, CALL(mi_usable_size)(pointer) + 1))
			return "mi_expand";
		if (CALL(mi_reallocarr)(&pointer, 2, size))
			return "mi_reallocarr";
		CALL(mi_free_size)(pointer, 2 * size);
	}
	text = CALL(mi_strndup)(CALL(mi_strdup)("four times"), 4);
	if (strcmp(text, "four") != 0 || strcmp(CALL(mi_heap_strdup)(heap(), "five"), "five") != 0)
		return "mi_strdup";
	delete_own_heap();
	text = (char *)check_offsets();
	return text ? text : check_heaps();
}

static struct entries_maker makers[] = {
	STANDARD_MAKERS,
	MAKER(mi_malloc, false, false),
	MAKER(mi_heap_malloc, false, false),
	MAKER(mi_malloc_aligned, true, false),
	MAKER(mi_heap_malloc_aligned, true, false),
	MAKER(mi_malloc_aligned_at, true, false),
	MAKER(mi_heap_malloc_aligned_at, true, false),
	MAKER(mi_zalloc, false, true),
	MAKER(mi_heap_zalloc, false, true),
	MAKER(mi_zalloc_aligned, true, true),
	MAKER(mi_heap_zalloc_aligned, true, true),
	MAKER(mi_zalloc_aligned_at, true, true),
	MAKER(mi_heap_zalloc_aligned_at, true, true),
	MAKER(mi_calloc, false, true),
	MAKER(mi_heap_calloc, false, true),
	MAKER(mi_mallocn, false, false),
	MAKER(mi_heap_mallocn, false, false),
	MAKER(mi_calloc_aligned, true, true),
	MAKER(mi_heap_calloc_aligned, true, true),
	MAKER(mi_memalign, true, false),
	MAKER(mi_aligned_alloc, true, false),
	MAKER(mi_valloc, false, false),
	MAKER(mi_new, false, false),
	MAKER(mi_new_nothrow, false, false),
	MAKER(mi_new_n, false, false),
	MAKER(mi_new_aligned, true, false),
	MAKER(mi_new_aligned_nothrow, true, false),
	MAKER(mi_heap_alloc_new, false, false),
	MAKER(mi_heap_alloc_new_n, false, false),
	MAKER(mi_malloc_small, false, false),
	MAKER(mi_zalloc_small, false, true),
	MAKER(mi_heap_malloc_small, false, false),
	MAKER(mi_posix_memalign, true, false),
};

static struct entries_resizer resizers[] = {
	STANDARD_RESIZERS,
	RESIZER(mi_realloc, false, false),
	RESIZER(mi_reallocn, false, false),
	RESIZER(mi_reallocf, false, false),
	RESIZER(mi_rezalloc, false, false),
	RESIZER(mi_recalloc, false, false),
	RESIZER(mi_reallocarray, false, false),
	RESIZER(mi_new_realloc, false, false),
	RESIZER(mi_new_reallocn, false, false),
	RESIZER(mi_heap_realloc, false, false),
	RESIZER(mi_heap_reallocn, false, false),
	RESIZER(mi_heap_reallocf, false, false),
	RESIZER(mi_heap_rezalloc, false, false),
	RESIZER(mi_heap_recalloc, false, false),
	RESIZER(mi_realloc_aligned, false, false),
	RESIZER(mi_realloc_aligned_at, true, false),
	RESIZER(mi_rezalloc_aligned, false, false),
	RESIZER(mi_rezalloc_aligned_at, true, false),
	RESIZER(mi_recalloc_aligned, false, false),
	RESIZER(mi_heap_realloc_aligned, false, false),
	RESIZER(mi_heap_realloc_aligned_at, true, false),
	RESIZER(mi_heap_rezalloc_aligned, false, false),
	RESIZER(mi_heap_rezalloc_aligned_at, true, false),
	RESIZER(mi_heap_recalloc_aligned, false, false),
	RESIZER(mi_expand, false, true),
};

static struct entries_freer freers[] = {
	STANDARD_FREERS, FREER(mi_free),     FREER(mi_cfree),
	FREER(vfree),    FREER(__libc_free), FREER(mi_free_size),
};

static struct entries_query queries[] = {
	QUERY(mi_usable_size), QUERY(mi_malloc_size),    QUERY(mi_malloc_usable_size),
	QUERY(malloc_size),    {NULL, NULL, NULL, NULL},
};

const struct entries_family entries_mimalloc = {
	.name = "mimalloc",
	FAMILY_LISTS,
	.at_thread_end = delete_own_heap,
	.check = check_sizes,
};
