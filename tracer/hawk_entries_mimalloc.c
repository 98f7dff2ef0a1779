/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * mimalloc: blocks of the thread's own heap without a wished alignment, and what takes any block.
 */
#include <errno.h>
#include <string.h>

#include "hawk_mimalloc.h"

HAWK_MIMALLOC_MAKE(mi_malloc, (size_t size), (size), NULL, HAWK_KIND_MALLOC, size, false)
HAWK_MIMALLOC_MAKE(mi_malloc_small, (size_t size), (size), NULL, HAWK_KIND_MALLOC, size, false)
HAWK_MIMALLOC_MAKE(mi_zalloc, (size_t size), (size), NULL, HAWK_KIND_CALLOC, size, true)
HAWK_MIMALLOC_MAKE(mi_zalloc_small, (size_t size), (size), NULL, HAWK_KIND_CALLOC, size, true)
HAWK_MIMALLOC_MAKE(mi_calloc, (size_t count, size_t size), (count, size), NULL, HAWK_KIND_CALLOC,
		   hawk_mimalloc_bytes(count, size), true)
HAWK_MIMALLOC_MAKE(mi_mallocn, (size_t count, size_t size), (count, size), NULL, HAWK_KIND_MALLOC,
		   hawk_mimalloc_bytes(count, size), false)
HAWK_MIMALLOC_MAKE(mi_new, (size_t size), (size), NULL, HAWK_KIND_NEW, size, false)
HAWK_MIMALLOC_MAKE(mi_new_nothrow, (size_t size), (size), NULL, HAWK_KIND_NEW, size, false)
HAWK_MIMALLOC_MAKE(mi_new_n, (size_t count, size_t size), (count, size), NULL, HAWK_KIND_NEW_ARRAY,
		   hawk_mimalloc_bytes(count, size), false)

HAWK_MIMALLOC_RESIZE(mi_realloc, (void *pointer, size_t size), (pointer, size), .size = size)
HAWK_MIMALLOC_RESIZE(mi_rezalloc, (void *pointer, size_t size), (pointer, size), .size = size,
		     .zero = true)
HAWK_MIMALLOC_RESIZE(mi_reallocn, (void *pointer, size_t count, size_t size),
		     (pointer, count, size), .size = hawk_mimalloc_bytes(count, size))
HAWK_MIMALLOC_RESIZE(mi_recalloc, (void *pointer, size_t count, size_t size),
		     (pointer, count, size), .size = hawk_mimalloc_bytes(count, size), .zero = true)

static void *(*next_mi_reallocarray)(void *pointer, size_t count, size_t size);

static void *entry_mi_reallocarray(void *pointer, size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	struct hawk_mimalloc_change change = {.size = hawk_mimalloc_bytes(count, size)};
	void *resized;

	if (!hawk_mimalloc_resize(&caller, pointer, change, &resized))
		return next_mi_reallocarray(pointer, count, size);
	if (!resized)
		errno = ENOMEM;
	return resized;
}

static int (*next_mi_reallocarr)(void *place, size_t count, size_t size);

/** The first argument is the address of a pointer, of any type. */
static int entry_mi_reallocarr(void *place, size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	struct hawk_mimalloc_change change = {.size = hawk_mimalloc_bytes(count, size)};
	void **pointer = place;
	void *resized;

	if (!place || !hawk_mimalloc_resize(&caller, *pointer, change, &resized))
		return next_mi_reallocarr(place, count, size);
	if (!resized)
		return ENOMEM;
	*pointer = resized;
	return 0;
}

static void *(*next_mi_reallocf)(void *pointer, size_t size);

static void *entry_mi_reallocf(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	struct hawk_mimalloc_change change = {.size = size};
	void *resized;

	if (!hawk_mimalloc_resize(&caller, pointer, change, &resized))
		return next_mi_reallocf(pointer, size);
	if (!resized)
		hawk_mimalloc_release(pointer);
	return resized;
}

/** There is no memory: mi_new() calls the handler until there is, or throws. The block of ours has
 * its header again then. */
static void *renew(void *pointer, size_t size)
{
	uint64_t old_size = hawk_header_size(hawk_header_of(pointer)->word0);
	void *copy = next_mi_new(size);

	if (!copy)
		return NULL;
	memcpy(copy, pointer, old_size < size ? old_size : size);
	hawk_mimalloc_release(pointer);
	return hawk_entry_bare(copy, size);
}

static void *(*next_mi_new_realloc)(void *pointer, size_t size);

static void *entry_mi_new_realloc(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	struct hawk_mimalloc_change change = {.size = size};
	void *resized;

	if (!hawk_mimalloc_resize(&caller, pointer, change, &resized))
		return next_mi_new_realloc(pointer, size);
	return resized ? resized : renew(pointer, size);
}

static void *(*next_mi_new_reallocn)(void *pointer, size_t count, size_t size);

static void *entry_mi_new_reallocn(void *pointer, size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	struct hawk_mimalloc_change change = {.size = hawk_mimalloc_bytes(count, size)};
	void *resized;

	if (!hawk_mimalloc_resize(&caller, pointer, change, &resized))
		return next_mi_new_reallocn(pointer, count, size);
	return resized ? resized : renew(pointer, change.size);
}

static void *(*next_mi_expand)(void *pointer, size_t size);

/** In place, or not at all. */
static void *expand(const struct hawk_frame_state *caller, void *pointer, size_t size)
{
	uint64_t offset = hawk_entry_offset(pointer);

	if (size > HAWK_TRACED_MAX || !next_mi_expand((char *)pointer - offset, size + offset))
		return NULL;
	hawk_resize_in_place(caller, pointer, size);
	return pointer;
}

static void *entry_mi_expand(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	if (!hawk_entry_offset(pointer))
		return next_mi_expand(pointer, size);
	return expand(&caller, pointer, size);
}

static void *(*next_mi__expand)(void *pointer, size_t size);

static void *entry_mi__expand(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *result;

	if (!hawk_entry_offset(pointer) || !next_mi_expand)
		return next_mi__expand(pointer, size);
	result = expand(&caller, pointer, size);
	if (!result)
		errno = ENOMEM;
	return result;
}

static void (*next_mi_free)(void *pointer);

static void entry_mi_free(void *pointer)
{
	if (!hawk_mimalloc_release(pointer))
		next_mi_free(pointer);
}

static void (*next_mi_cfree)(void *pointer);

static void entry_mi_cfree(void *pointer)
{
	if (!hawk_mimalloc_release(pointer))
		next_mi_cfree(pointer);
}

static void (*next_mi_free_size)(void *pointer, size_t size);

static void entry_mi_free_size(void *pointer, size_t size)
{
	if (!hawk_mimalloc_release(pointer))
		next_mi_free_size(pointer, size);
}

static void (*next_mi_free_aligned)(void *pointer, size_t alignment);

static void entry_mi_free_aligned(void *pointer, size_t alignment)
{
	if (!hawk_mimalloc_release(pointer))
		next_mi_free_aligned(pointer, alignment);
}

static void (*next_mi_free_size_aligned)(void *pointer, size_t size, size_t alignment);

static void entry_mi_free_size_aligned(void *pointer, size_t size, size_t alignment)
{
	if (!hawk_mimalloc_release(pointer))
		next_mi_free_size_aligned(pointer, size, alignment);
}

static size_t (*next_mi_usable_size)(const void *pointer);

static size_t entry_mi_usable_size(const void *pointer)
{
	return next_mi_usable_size(hawk_entry_base(pointer)) - hawk_entry_offset(pointer);
}

static size_t (*next_mi_malloc_size)(const void *pointer);

static size_t entry_mi_malloc_size(const void *pointer)
{
	return next_mi_malloc_size(hawk_entry_base(pointer)) - hawk_entry_offset(pointer);
}

static size_t (*next_mi_malloc_usable_size)(const void *pointer);

static size_t entry_mi_malloc_usable_size(const void *pointer)
{
	return next_mi_malloc_usable_size(hawk_entry_base(pointer)) - hawk_entry_offset(pointer);
}

static size_t (*next_mi_good_size)(size_t size);

static size_t entry_mi_good_size(size_t size)
{
	if (!hawk_entry_traces(size))
		return next_mi_good_size(size);
	return next_mi_good_size(size + HAWK_HEADER_BYTES) - HAWK_HEADER_BYTES;
}

static size_t (*next_mi_malloc_good_size)(size_t size);

static size_t entry_mi_malloc_good_size(size_t size)
{
	if (!hawk_entry_traces(size))
		return next_mi_malloc_good_size(size);
	return next_mi_malloc_good_size(size + HAWK_HEADER_BYTES) - HAWK_HEADER_BYTES;
}

static bool (*next_mi_check_owned)(const void *pointer);

static bool entry_mi_check_owned(const void *pointer)
{
	return next_mi_check_owned(hawk_entry_base(pointer));
}

const struct hawk_entry hawk_entries_mimalloc[] = {
	HAWK_MIMALLOC_ROW(mi_malloc, true),
	HAWK_MIMALLOC_ROW(mi_malloc_small, true),
	HAWK_MIMALLOC_ROW(mi_zalloc, true),
	HAWK_MIMALLOC_ROW(mi_zalloc_small, true),
	HAWK_MIMALLOC_ROW(mi_calloc, true),
	HAWK_MIMALLOC_ROW(mi_mallocn, true),
	HAWK_MIMALLOC_ROW(mi_new, true),
	HAWK_MIMALLOC_ROW(mi_new_nothrow, true),
	HAWK_MIMALLOC_ROW(mi_new_n, true),
	HAWK_MIMALLOC_ROW(mi_realloc, false),
	HAWK_MIMALLOC_ROW(mi_rezalloc, false),
	HAWK_MIMALLOC_ROW(mi_reallocn, false),
	HAWK_MIMALLOC_ROW(mi_recalloc, false),
	HAWK_MIMALLOC_ROW(mi_reallocarray, false),
	HAWK_MIMALLOC_ROW(mi_reallocarr, false),
	HAWK_MIMALLOC_ROW(mi_reallocf, false),
	HAWK_MIMALLOC_ROW(mi_new_realloc, false),
	HAWK_MIMALLOC_ROW(mi_new_reallocn, false),
	HAWK_MIMALLOC_ROW(mi_expand, false),
	HAWK_MIMALLOC_ROW(mi__expand, false),
	HAWK_MIMALLOC_ROW(mi_free, false),
	HAWK_MIMALLOC_ROW(mi_cfree, false),
	HAWK_MIMALLOC_ROW(mi_free_size, false),
	HAWK_MIMALLOC_ROW(mi_free_aligned, false),
	HAWK_MIMALLOC_ROW(mi_free_size_aligned, false),
	HAWK_MIMALLOC_ROW(mi_usable_size, false),
	HAWK_MIMALLOC_ROW(mi_malloc_size, false),
	HAWK_MIMALLOC_ROW(mi_malloc_usable_size, false),
	HAWK_MIMALLOC_ROW(mi_good_size, false),
	HAWK_MIMALLOC_ROW(mi_malloc_good_size, false),
	HAWK_MIMALLOC_ROW(mi_check_owned, false),
	{NULL, NULL, NULL, false},
};
