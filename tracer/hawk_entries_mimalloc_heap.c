/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * mimalloc: blocks of a heap that the program names, copies of strings, and the heaps themselves.
 *
 * mi_heap_destroy() takes back all blocks of a heap at once: their headers are un-sealed first. It
 * does so only with heaps that the program has made; for any other it moves the blocks to the
 * thread's own heap, where they live on. Which of the two a heap is that is not known here cannot
 * be told: it is counted as discarded, so that the analyzer has its doubts.
 */
#include <string.h>

#include "hawk_mimalloc.h"

HAWK_MIMALLOC_MAKE(mi_heap_malloc, (struct mi_heap * heap, size_t size), (heap, size), heap,
		   HAWK_KIND_MALLOC, size, false)
HAWK_MIMALLOC_MAKE(mi_heap_malloc_small, (struct mi_heap * heap, size_t size), (heap, size), heap,
		   HAWK_KIND_MALLOC, size, false)
HAWK_MIMALLOC_MAKE(mi_heap_zalloc, (struct mi_heap * heap, size_t size), (heap, size), heap,
		   HAWK_KIND_CALLOC, size, true)
HAWK_MIMALLOC_MAKE(mi_heap_calloc, (struct mi_heap * heap, size_t count, size_t size),
		   (heap, count, size), heap, HAWK_KIND_CALLOC, hawk_mimalloc_bytes(count, size),
		   true)
HAWK_MIMALLOC_MAKE(mi_heap_mallocn, (struct mi_heap * heap, size_t count, size_t size),
		   (heap, count, size), heap, HAWK_KIND_MALLOC, hawk_mimalloc_bytes(count, size),
		   false)
HAWK_MIMALLOC_MAKE(mi_heap_alloc_new, (struct mi_heap * heap, size_t size), (heap, size), heap,
		   HAWK_KIND_NEW, size, false)
HAWK_MIMALLOC_MAKE(mi_heap_alloc_new_n, (struct mi_heap * heap, size_t count, size_t size),
		   (heap, count, size), heap, HAWK_KIND_NEW_ARRAY, hawk_mimalloc_bytes(count, size),
		   false)

HAWK_MIMALLOC_RESIZE(mi_heap_realloc, (struct mi_heap * heap, void *pointer, size_t size),
		     (heap, pointer, size), .heap = heap, .size = size)
HAWK_MIMALLOC_RESIZE(mi_heap_rezalloc, (struct mi_heap * heap, void *pointer, size_t size),
		     (heap, pointer, size), .heap = heap, .size = size, .zero = true)
HAWK_MIMALLOC_RESIZE(mi_heap_reallocn,
		     (struct mi_heap * heap, void *pointer, size_t count, size_t size),
		     (heap, pointer, count, size), .heap = heap,
		     .size = hawk_mimalloc_bytes(count, size))
HAWK_MIMALLOC_RESIZE(mi_heap_recalloc,
		     (struct mi_heap * heap, void *pointer, size_t count, size_t size),
		     (heap, pointer, count, size), .heap = heap,
		     .size = hawk_mimalloc_bytes(count, size), .zero = true)

static void *(*next_mi_heap_reallocf)(struct mi_heap *heap, void *pointer, size_t size);

static void *entry_mi_heap_reallocf(struct mi_heap *heap, void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	struct hawk_mimalloc_change change = {.heap = heap, .size = size};
	void *resized;

	if (!hawk_mimalloc_resize(&caller, pointer, change, &resized))
		return next_mi_heap_reallocf(heap, pointer, size);
	if (!resized)
		hawk_mimalloc_release(pointer);
	return resized;
}

/** NULL: no text, or no memory with room for a header. */
static char *copy_text(const struct hawk_frame_state *caller, struct mi_heap *heap,
		       const char *text, size_t most)
{
	size_t length = 0;
	char *copy;

	while (text && length < most && text[length])
		length++;
	copy = text ? hawk_mimalloc_make(caller, heap, HAWK_KIND_MALLOC, length + 1, false) : NULL;
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

static char *(*next_mi_strdup)(const char *text);

static char *entry_mi_strdup(const char *text)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	char *copy = copy_text(&caller, NULL, text, SIZE_MAX);

	return copy ? copy : next_mi_strdup(text);
}

static char *(*next_mi_strndup)(const char *text, size_t most);

static char *entry_mi_strndup(const char *text, size_t most)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	char *copy = copy_text(&caller, NULL, text, most);

	return copy ? copy : next_mi_strndup(text, most);
}

static char *(*next_mi_mbsdup)(const char *text);

static char *entry_mi_mbsdup(const char *text)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	char *copy = copy_text(&caller, NULL, text, SIZE_MAX);

	return copy ? copy : next_mi_mbsdup(text);
}

static char *(*next_mi_heap_strdup)(struct mi_heap *heap, const char *text);

static char *entry_mi_heap_strdup(struct mi_heap *heap, const char *text)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	char *copy = copy_text(&caller, heap, text, SIZE_MAX);

	return copy ? copy : next_mi_heap_strdup(heap, text);
}

static char *(*next_mi_heap_strndup)(struct mi_heap *heap, const char *text, size_t most);

static char *entry_mi_heap_strndup(struct mi_heap *heap, const char *text, size_t most)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	char *copy = copy_text(&caller, heap, text, most);

	return copy ? copy : next_mi_heap_strndup(heap, text, most);
}

static bool (*next_mi_heap_check_owned)(struct mi_heap *heap, const void *pointer);

static bool entry_mi_heap_check_owned(struct mi_heap *heap, const void *pointer)
{
	return next_mi_heap_check_owned(heap, hawk_entry_base(pointer));
}

static bool (*next_mi_heap_contains_block)(struct mi_heap *heap, const void *pointer);

static bool entry_mi_heap_contains_block(struct mi_heap *heap, const void *pointer)
{
	return next_mi_heap_contains_block(heap, hawk_entry_base(pointer));
}

/** As mimalloc.h declares it. */
typedef bool visitor(const struct mi_heap *heap, const void *area, void *block, size_t block_bytes,
		     void *data);

static bool (*next_mi_heap_visit_blocks)(const struct mi_heap *heap, bool all_blocks,
					 visitor *visit, void *data);

struct visit {
	visitor *visit;
	void *data;
};

/** The user's pointer of a block of ours; NULL if it is none. An aligned one starts further back.
 */
static void *find_pointer(void *block, size_t bytes)
{
	for (size_t offset = HAWK_HEADER_BYTES; block && offset < bytes;
	     offset += HAWK_GRANULE_BYTES)
		if (hawk_header_valid((char *)block + offset))
			return (char *)block + offset;
	return NULL;
}

static bool visit_translated(const struct mi_heap *heap, const void *area, void *block,
			     size_t bytes, void *data)
{
	struct visit *visit = data;
	char *pointer = find_pointer(block, bytes);

	if (!pointer)
		return visit->visit(heap, area, block, bytes, visit->data);
	return visit->visit(heap, area, pointer, bytes - (size_t)(pointer - (char *)block),
			    visit->data);
}

static bool entry_mi_heap_visit_blocks(const struct mi_heap *heap, bool all_blocks, visitor *visit,
				       void *data)
{
	struct visit translated = {.visit = visit, .data = data};

	if (!visit)
		return next_mi_heap_visit_blocks(heap, all_blocks, visit, data);
	return next_mi_heap_visit_blocks(heap, all_blocks, visit_translated, &translated);
}

enum { HEAPS_MAX = 1024 };

/** Heaps that the program has made. Of more than fit, stale headers stay behind, and are said to.
 */
static struct mi_heap *heaps[HEAPS_MAX];

static void remember_heap(struct mi_heap *heap)
{
	for (unsigned i = 0; heap && i < HEAPS_MAX; i++) {
		struct mi_heap *nobody = NULL;

		if (!__atomic_load_n(&heaps[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&heaps[i], &nobody, heap, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
}

static bool forget_heap(struct mi_heap *heap)
{
	for (unsigned i = 0; heap && i < HEAPS_MAX; i++)
		if (__atomic_load_n(&heaps[i], __ATOMIC_RELAXED) == heap) {
			__atomic_store_n(&heaps[i], NULL, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

static struct mi_heap *(*next_mi_heap_new)(void);

static struct mi_heap *entry_mi_heap_new(void)
{
	struct mi_heap *heap = next_mi_heap_new();

	remember_heap(heap);
	return heap;
}

static struct mi_heap *(*next_mi_heap_new_in_arena)(int arena);

static struct mi_heap *entry_mi_heap_new_in_arena(int arena)
{
	struct mi_heap *heap = next_mi_heap_new_in_arena(arena);

	remember_heap(heap);
	return heap;
}

static void (*next_mi_heap_delete)(struct mi_heap *heap);

static void entry_mi_heap_delete(struct mi_heap *heap)
{
	forget_heap(heap);
	next_mi_heap_delete(heap);
}

static bool unseal_block(const struct mi_heap *heap, const void *area, void *block, size_t bytes,
			 void *data)
{
	void *pointer = find_pointer(block, bytes);

	(void)heap;
	(void)area;
	(void)data;
	if (pointer)
		hawk_detach(pointer);
	return true;
}

static void (*next_mi_heap_destroy)(struct mi_heap *heap);

static void entry_mi_heap_destroy(struct mi_heap *heap)
{
	bool known = forget_heap(heap);

	if (known && next_mi_heap_visit_blocks)
		next_mi_heap_visit_blocks(heap, true, unseal_block, NULL);
	else if (heap)
		hawk_record_discarded(1);
	next_mi_heap_destroy(heap);
}

const struct hawk_entry hawk_entries_mimalloc_heap[] = {
	HAWK_MIMALLOC_ROW(mi_heap_malloc, true),
	HAWK_MIMALLOC_ROW(mi_heap_malloc_small, true),
	HAWK_MIMALLOC_ROW(mi_heap_zalloc, true),
	HAWK_MIMALLOC_ROW(mi_heap_calloc, true),
	HAWK_MIMALLOC_ROW(mi_heap_mallocn, true),
	HAWK_MIMALLOC_ROW(mi_heap_alloc_new, true),
	HAWK_MIMALLOC_ROW(mi_heap_alloc_new_n, true),
	HAWK_MIMALLOC_ROW(mi_heap_realloc, false),
	HAWK_MIMALLOC_ROW(mi_heap_rezalloc, false),
	HAWK_MIMALLOC_ROW(mi_heap_reallocn, false),
	HAWK_MIMALLOC_ROW(mi_heap_recalloc, false),
	HAWK_MIMALLOC_ROW(mi_heap_reallocf, false),
	HAWK_MIMALLOC_ROW(mi_strdup, true),
	HAWK_MIMALLOC_ROW(mi_strndup, true),
	HAWK_MIMALLOC_ROW(mi_mbsdup, true),
	HAWK_MIMALLOC_ROW(mi_heap_strdup, true),
	HAWK_MIMALLOC_ROW(mi_heap_strndup, true),
	HAWK_MIMALLOC_ROW(mi_heap_check_owned, false),
	HAWK_MIMALLOC_ROW(mi_heap_contains_block, false),
	HAWK_MIMALLOC_ROW(mi_heap_visit_blocks, false),
	HAWK_MIMALLOC_ROW(mi_heap_new, false),
	HAWK_MIMALLOC_ROW(mi_heap_new_in_arena, false),
	HAWK_MIMALLOC_ROW(mi_heap_delete, false),
	HAWK_MIMALLOC_ROW(mi_heap_destroy, false),
	{NULL, NULL, NULL, false},
};
