/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * mimalloc: blocks of the thread's own heap, or of a named one, with a wished alignment.
 */
#include "hawk_mimalloc.h"

enum { PAGE_BYTES = 4096 };

/** mimalloc goes on from the old block's offset, where none is said. */
static size_t offset_now(const void *pointer, size_t alignment)
{
	return alignment ? (uintptr_t)pointer % alignment : 0;
}

HAWK_MIMALLOC_MAKE_ALIGNED(mi_malloc_aligned, (size_t size, size_t alignment), (size, alignment),
			   NULL, HAWK_KIND_ALIGNED, size, alignment, 0, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_malloc_aligned_at, (size_t size, size_t alignment, size_t offset),
			   (size, alignment, offset), NULL, HAWK_KIND_ALIGNED, size, alignment,
			   offset, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_zalloc_aligned, (size_t size, size_t alignment), (size, alignment),
			   NULL, HAWK_KIND_ALIGNED, size, alignment, 0, true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_zalloc_aligned_at, (size_t size, size_t alignment, size_t offset),
			   (size, alignment, offset), NULL, HAWK_KIND_ALIGNED, size, alignment,
			   offset, true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_calloc_aligned, (size_t count, size_t size, size_t alignment),
			   (count, size, alignment), NULL, HAWK_KIND_ALIGNED,
			   hawk_mimalloc_bytes(count, size), alignment, 0, true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_calloc_aligned_at,
			   (size_t count, size_t size, size_t alignment, size_t offset),
			   (count, size, alignment, offset), NULL, HAWK_KIND_ALIGNED,
			   hawk_mimalloc_bytes(count, size), alignment, offset, true)
HAWK_MIMALLOC_RESIZE(mi_realloc_aligned, (void *pointer, size_t size, size_t alignment),
		     (pointer, size, alignment), .size = size, .alignment = alignment,
		     .offset = offset_now(pointer, alignment))
HAWK_MIMALLOC_RESIZE(mi_realloc_aligned_at,
		     (void *pointer, size_t size, size_t alignment, size_t offset),
		     (pointer, size, alignment, offset), .size = size, .alignment = alignment,
		     .offset = offset)
HAWK_MIMALLOC_RESIZE(mi_rezalloc_aligned, (void *pointer, size_t size, size_t alignment),
		     (pointer, size, alignment), .size = size, .alignment = alignment,
		     .offset = offset_now(pointer, alignment), .zero = true)
HAWK_MIMALLOC_RESIZE(mi_rezalloc_aligned_at,
		     (void *pointer, size_t size, size_t alignment, size_t offset),
		     (pointer, size, alignment, offset), .size = size, .alignment = alignment,
		     .offset = offset, .zero = true)
HAWK_MIMALLOC_RESIZE(mi_recalloc_aligned,
		     (void *pointer, size_t count, size_t size, size_t alignment),
		     (pointer, count, size, alignment), .size = hawk_mimalloc_bytes(count, size),
		     .alignment = alignment, .offset = offset_now(pointer, alignment), .zero = true)
HAWK_MIMALLOC_RESIZE(mi_recalloc_aligned_at,
		     (void *pointer, size_t count, size_t size, size_t alignment, size_t offset),
		     (pointer, count, size, alignment, offset),
		     .size = hawk_mimalloc_bytes(count, size), .alignment = alignment,
		     .offset = offset, .zero = true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_heap_malloc_aligned,
			   (struct mi_heap * heap, size_t size, size_t alignment),
			   (heap, size, alignment), heap, HAWK_KIND_ALIGNED, size, alignment, 0,
			   false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_heap_malloc_aligned_at,
			   (struct mi_heap * heap, size_t size, size_t alignment, size_t offset),
			   (heap, size, alignment, offset), heap, HAWK_KIND_ALIGNED, size,
			   alignment, offset, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_heap_zalloc_aligned,
			   (struct mi_heap * heap, size_t size, size_t alignment),
			   (heap, size, alignment), heap, HAWK_KIND_ALIGNED, size, alignment, 0,
			   true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_heap_zalloc_aligned_at,
			   (struct mi_heap * heap, size_t size, size_t alignment, size_t offset),
			   (heap, size, alignment, offset), heap, HAWK_KIND_ALIGNED, size,
			   alignment, offset, true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_heap_calloc_aligned,
			   (struct mi_heap * heap, size_t count, size_t size, size_t alignment),
			   (heap, count, size, alignment), heap, HAWK_KIND_ALIGNED,
			   hawk_mimalloc_bytes(count, size), alignment, 0, true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_heap_calloc_aligned_at,
			   (struct mi_heap * heap, size_t count, size_t size, size_t alignment,
			    size_t offset),
			   (heap, count, size, alignment, offset), heap, HAWK_KIND_ALIGNED,
			   hawk_mimalloc_bytes(count, size), alignment, offset, true)
HAWK_MIMALLOC_RESIZE(mi_heap_realloc_aligned,
		     (struct mi_heap * heap, void *pointer, size_t size, size_t alignment),
		     (heap, pointer, size, alignment), .heap = heap, .size = size,
		     .alignment = alignment, .offset = offset_now(pointer, alignment))
HAWK_MIMALLOC_RESIZE(mi_heap_realloc_aligned_at,
		     (struct mi_heap * heap, void *pointer, size_t size, size_t alignment,
		      size_t offset),
		     (heap, pointer, size, alignment, offset), .heap = heap, .size = size,
		     .alignment = alignment, .offset = offset)
HAWK_MIMALLOC_RESIZE(mi_heap_rezalloc_aligned,
		     (struct mi_heap * heap, void *pointer, size_t size, size_t alignment),
		     (heap, pointer, size, alignment), .heap = heap, .size = size,
		     .alignment = alignment, .offset = offset_now(pointer, alignment), .zero = true)
HAWK_MIMALLOC_RESIZE(mi_heap_rezalloc_aligned_at,
		     (struct mi_heap * heap, void *pointer, size_t size, size_t alignment,
		      size_t offset),
		     (heap, pointer, size, alignment, offset), .heap = heap, .size = size,
		     .alignment = alignment, .offset = offset, .zero = true)
HAWK_MIMALLOC_RESIZE(mi_heap_recalloc_aligned,
		     (struct mi_heap * heap, void *pointer, size_t count, size_t size,
		      size_t alignment),
		     (heap, pointer, count, size, alignment), .heap = heap,
		     .size = hawk_mimalloc_bytes(count, size), .alignment = alignment,
		     .offset = offset_now(pointer, alignment), .zero = true)
HAWK_MIMALLOC_RESIZE(mi_heap_recalloc_aligned_at,
		     (struct mi_heap * heap, void *pointer, size_t count, size_t size,
		      size_t alignment, size_t offset),
		     (heap, pointer, count, size, alignment, offset), .heap = heap,
		     .size = hawk_mimalloc_bytes(count, size), .alignment = alignment,
		     .offset = offset, .zero = true)
HAWK_MIMALLOC_RESIZE(mi_aligned_recalloc,
		     (void *pointer, size_t count, size_t size, size_t alignment),
		     (pointer, count, size, alignment), .size = hawk_mimalloc_bytes(count, size),
		     .alignment = alignment, .offset = offset_now(pointer, alignment), .zero = true)
HAWK_MIMALLOC_RESIZE(mi_aligned_offset_recalloc,
		     (void *pointer, size_t count, size_t size, size_t alignment, size_t offset),
		     (pointer, count, size, alignment, offset),
		     .size = hawk_mimalloc_bytes(count, size), .alignment = alignment,
		     .offset = offset, .zero = true)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_memalign, (size_t alignment, size_t size), (alignment, size), NULL,
			   HAWK_KIND_ALIGNED, size, alignment, 0, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_aligned_alloc, (size_t alignment, size_t size), (alignment, size),
			   NULL, HAWK_KIND_ALIGNED, size, alignment, 0, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_valloc, (size_t size), (size), NULL, HAWK_KIND_ALIGNED, size,
			   PAGE_BYTES, 0, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_pvalloc, (size_t size), (size), NULL, HAWK_KIND_ALIGNED,
			   (size + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES, PAGE_BYTES, 0, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_new_aligned, (size_t size, size_t alignment), (size, alignment), NULL,
			   HAWK_KIND_NEW, size, alignment, 0, false)
HAWK_MIMALLOC_MAKE_ALIGNED(mi_new_aligned_nothrow, (size_t size, size_t alignment),
			   (size, alignment), NULL, HAWK_KIND_NEW, size, alignment, 0, false)

static int (*next_mi_posix_memalign)(void **place, size_t alignment, size_t size);

static int entry_mi_posix_memalign(void **place, size_t alignment, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	void *made = NULL;
	int error;

	if (place && alignment && alignment % sizeof(void *) == 0)
		made = hawk_mimalloc_make_aligned(&caller, NULL, HAWK_KIND_ALIGNED, size, alignment,
						  0, false);
	if (made) {
		*place = made;
		return 0;
	}
	error = next_mi_posix_memalign(place, alignment, size);
	if (!error)
		hawk_entry_bare(*place, size);
	return error;
}

const struct hawk_entry hawk_entries_mimalloc_aligned[] = {
	HAWK_MIMALLOC_ROW(mi_malloc_aligned, true),
	HAWK_MIMALLOC_ROW(mi_malloc_aligned_at, true),
	HAWK_MIMALLOC_ROW(mi_zalloc_aligned, true),
	HAWK_MIMALLOC_ROW(mi_zalloc_aligned_at, true),
	HAWK_MIMALLOC_ROW(mi_calloc_aligned, true),
	HAWK_MIMALLOC_ROW(mi_calloc_aligned_at, true),
	HAWK_MIMALLOC_ROW(mi_realloc_aligned, false),
	HAWK_MIMALLOC_ROW(mi_realloc_aligned_at, false),
	HAWK_MIMALLOC_ROW(mi_rezalloc_aligned, false),
	HAWK_MIMALLOC_ROW(mi_rezalloc_aligned_at, false),
	HAWK_MIMALLOC_ROW(mi_recalloc_aligned, false),
	HAWK_MIMALLOC_ROW(mi_recalloc_aligned_at, false),
	HAWK_MIMALLOC_ROW(mi_heap_malloc_aligned, true),
	HAWK_MIMALLOC_ROW(mi_heap_malloc_aligned_at, true),
	HAWK_MIMALLOC_ROW(mi_heap_zalloc_aligned, true),
	HAWK_MIMALLOC_ROW(mi_heap_zalloc_aligned_at, true),
	HAWK_MIMALLOC_ROW(mi_heap_calloc_aligned, true),
	HAWK_MIMALLOC_ROW(mi_heap_calloc_aligned_at, true),
	HAWK_MIMALLOC_ROW(mi_heap_realloc_aligned, false),
	HAWK_MIMALLOC_ROW(mi_heap_realloc_aligned_at, false),
	HAWK_MIMALLOC_ROW(mi_heap_rezalloc_aligned, false),
	HAWK_MIMALLOC_ROW(mi_heap_rezalloc_aligned_at, false),
	HAWK_MIMALLOC_ROW(mi_heap_recalloc_aligned, false),
	HAWK_MIMALLOC_ROW(mi_heap_recalloc_aligned_at, false),
	HAWK_MIMALLOC_ROW(mi_aligned_recalloc, false),
	HAWK_MIMALLOC_ROW(mi_aligned_offset_recalloc, false),
	HAWK_MIMALLOC_ROW(mi_memalign, true),
	HAWK_MIMALLOC_ROW(mi_aligned_alloc, true),
	HAWK_MIMALLOC_ROW(mi_valloc, true),
	HAWK_MIMALLOC_ROW(mi_pvalloc, true),
	HAWK_MIMALLOC_ROW(mi_new_aligned, true),
	HAWK_MIMALLOC_ROW(mi_new_aligned_nothrow, true),
	HAWK_MIMALLOC_ROW(mi_posix_memalign, true),
	{NULL, NULL, NULL, false},
};
