/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * mimalloc: mi_malloc and its family, in heaps, with alignments.
 */
#define ENTRIES_LIST "entries_mimalloc.def"

static void *heap(void);
#include "entries_family.h"

ENTRIES_FUNCTION(void *, mi_heap_new, void);
ENTRIES_FUNCTION(void, mi_heap_delete, void *heap);
ENTRIES_FUNCTION(void, mi_heap_destroy, void *heap);
ENTRIES_FUNCTION(bool, mi_heap_check_owned, void *heap, const void *pointer);
ENTRIES_FUNCTION(bool, mi_heap_contains_block, void *heap, const void *pointer);
ENTRIES_FUNCTION(bool, mi_check_owned, const void *pointer);

/** Each thread has a heap of its own, which it deletes in the end: its blocks live on. */
static __thread void *own_heap;

static void *heap(void)
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

ENTRIES_FUNCTION(void *, mi_malloc_small, size_t size);
ENTRIES_FUNCTION(void *, mi_zalloc_small, size_t size);
ENTRIES_FUNCTION(void *, mi_heap_malloc_small, void *own, size_t size);
ENTRIES_FUNCTION(int, mi_posix_memalign, void **pointer, size_t alignment, size_t size);
/* 1,024 bytes are the most that these make. */
MAKER_CALLS(mi_malloc_small, size <= 1024 ? CALL(mi_malloc_small)(size) : CALL(mi_malloc)(size))
MAKER_CALLS(mi_zalloc_small, size <= 1024 ? CALL(mi_zalloc_small)(size) : CALL(mi_zalloc)(size))
MAKER_CALLS(mi_heap_malloc_small, size <= 1024 ? CALL(mi_heap_malloc_small)(heap(), size)
					       : CALL(mi_heap_malloc)(heap(), size))

static __attribute__((noinline)) void *make_mi_posix_memalign(size_t size, size_t alignment)
{
	void *pointer = NULL;

	return CALL(mi_posix_memalign)(&pointer, alignment, size) ? NULL : ENTRIES_RESULT(pointer);
}

ENTRIES_FUNCTION(size_t, mi_good_size, size_t size);
ENTRIES_FUNCTION(char *, mi_strdup, const char *text);
ENTRIES_FUNCTION(char *, mi_strndup, const char *text, size_t most);
ENTRIES_FUNCTION(char *, mi_heap_strdup, void *own, const char *text);
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

static __attribute__((noinline)) void *make_doomed(void *own, size_t size)
{
	return ENTRIES_RESULT(CALL(mi_heap_malloc)(own, size));
}

/** A destroyed heap takes its blocks along, a deleted one leaves them. */
static const char *check_heaps(void)
{
	void *doomed = CALL(mi_heap_new)();
	void *deleted = CALL(mi_heap_new)();
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

static struct entries_function functions[] = {
#include "entries_standard.def"
#include ENTRIES_LIST
};

const struct entries_family entries_mimalloc = {
	.name = "mimalloc",
	.functions = functions,
	.count = sizeof(functions) / sizeof(functions[0]),
	.at_thread_end = delete_own_heap,
	.check = check_sizes,
};
