/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The three acts, in terms of mimalloc's most general functions.
 */
#include "hawk_mimalloc.h"

#include <errno.h>
#include <string.h>

enum {
	PLAIN_LOG2 = 4,
	/** mimalloc takes no offset together with an alignment beyond some size, at least this. */
	ALIGNMENT_WITH_OFFSET_MAX = 64 << 10,
	ALIGNMENT_OF_ANY = 8, /**< every block has it: no offset is heeded up to this */
};

static struct {
	void *(*malloc)(size_t size);
	void *(*zalloc)(size_t size);
	void *(*heap_malloc)(struct mi_heap *heap, size_t size);
	void *(*heap_zalloc)(struct mi_heap *heap, size_t size);
	void *(*aligned)(size_t size, size_t alignment, size_t offset);
	void *(*zaligned)(size_t size, size_t alignment, size_t offset);
	void *(*heap_aligned)(struct mi_heap *heap, size_t size, size_t alignment, size_t offset);
	void *(*heap_zaligned)(struct mi_heap *heap, size_t size, size_t alignment, size_t offset);
	void *(*realloc)(void *pointer, size_t size);
	void *(*rezalloc)(void *pointer, size_t size);
	void *(*heap_realloc)(struct mi_heap *heap, void *pointer, size_t size);
	void *(*heap_rezalloc)(struct mi_heap *heap, void *pointer, size_t size);
	void *(*realloc_at)(void *pointer, size_t size, size_t alignment, size_t offset);
	void *(*rezalloc_at)(void *pointer, size_t size, size_t alignment, size_t offset);
	void *(*heap_realloc_at)(struct mi_heap *heap, void *pointer, size_t size, size_t alignment,
				 size_t offset);
	void *(*heap_rezalloc_at)(struct mi_heap *heap, void *pointer, size_t size,
				  size_t alignment, size_t offset);
	void (*free)(void *pointer);
	size_t (*usable_size)(const void *pointer);
} next;

static void *call_plain(struct mi_heap *heap, size_t size, bool zero)
{
	if (heap)
		return zero ? next.heap_zalloc(heap, size) : next.heap_malloc(heap, size);
	return zero ? next.zalloc(size) : next.malloc(size);
}

static void *call_aligned(struct mi_heap *heap, size_t size, size_t alignment, size_t offset,
			  bool zero)
{
	if (heap)
		return zero ? next.heap_zaligned(heap, size, alignment, offset)
			    : next.heap_aligned(heap, size, alignment, offset);
	return zero ? next.zaligned(size, alignment, offset)
		    : next.aligned(size, alignment, offset);
}

static void *call_resize(void *base, const struct hawk_mimalloc_change *change, size_t size)
{
	struct mi_heap *heap = change->heap;

	if (heap)
		return change->zero ? next.heap_rezalloc(heap, base, size)
				    : next.heap_realloc(heap, base, size);
	return change->zero ? next.rezalloc(base, size) : next.realloc(base, size);
}

static void *call_resize_aligned(void *base, const struct hawk_mimalloc_change *change, size_t size,
				 size_t offset)
{
	struct mi_heap *heap = change->heap;
	size_t alignment = change->alignment;

	if (heap)
		return change->zero ? next.heap_rezalloc_at(heap, base, size, alignment, offset)
				    : next.heap_realloc_at(heap, base, size, alignment, offset);
	return change->zero ? next.rezalloc_at(base, size, alignment, offset)
			    : next.realloc_at(base, size, alignment, offset);
}

void *hawk_mimalloc_make(const struct hawk_frame_state *caller, struct mi_heap *heap,
			 enum hawk_block_kind kind, size_t size, bool zero)
{
	if (!hawk_entry_traces(size))
		return NULL;
	return hawk_finish(call_plain(heap, size + HAWK_HEADER_BYTES, zero), caller, kind,
			   PLAIN_LOG2, size);
}

void *hawk_mimalloc_make_aligned(const struct hawk_frame_state *caller, struct mi_heap *heap,
				 enum hawk_block_kind kind, size_t size, size_t alignment,
				 size_t offset, bool zero)
{
	if (!hawk_entry_traces_aligned(size, alignment))
		return NULL;
	if (alignment <= ALIGNMENT_OF_ANY)
		return hawk_mimalloc_make(caller, heap, kind, size, zero);
	if (alignment <= ALIGNMENT_WITH_OFFSET_MAX) {
		if (offset % HAWK_GRANULE_BYTES || offset > HAWK_TRACED_MAX)
			return NULL; /* the pointer could not have a header */
		return hawk_finish(call_aligned(heap, size + HAWK_HEADER_BYTES, alignment,
						offset + HAWK_HEADER_BYTES, zero),
				   caller, kind, PLAIN_LOG2, size);
	}
	if (offset)
		return NULL;
	return hawk_finish(call_aligned(heap, size + alignment, alignment, 0, zero), caller, kind,
			   (unsigned)__builtin_ctzll(alignment), size);
}

/** Another block instead, where the old one's header does not suit the new alignment. */
static void *move(const struct hawk_frame_state *caller, void *pointer,
		  const struct hawk_mimalloc_change *change)
{
	uint64_t offset = hawk_entry_offset(pointer);
	size_t usable = next.usable_size((char *)pointer - offset) - offset;
	size_t size = change->size;
	char *copy = hawk_mimalloc_make_aligned(caller, change->heap, HAWK_KIND_REALLOC, size,
						change->alignment, change->offset, change->zero);

	if (!copy)
		copy = hawk_entry_bare(call_aligned(change->heap, size, change->alignment,
						    change->offset, change->zero),
				       size);
	if (!copy)
		return NULL;
	memcpy(copy, pointer, usable < size ? usable : size);
	hawk_mimalloc_release(pointer);
	return copy;
}

static bool fits_in_place(const struct hawk_mimalloc_change *change)
{
	return change->alignment <= ALIGNMENT_WITH_OFFSET_MAX &&
	       change->offset % HAWK_GRANULE_BYTES == 0 && change->offset <= HAWK_TRACED_MAX;
}

bool hawk_mimalloc_resize(const struct hawk_frame_state *caller, void *pointer,
			  struct hawk_mimalloc_change change, void **ret)
{
	bool aligned = change.alignment > ALIGNMENT_OF_ANY;
	struct hawk_resize resize;
	uint64_t offset;
	void *base;

	if (!pointer) {
		*ret = hawk_mimalloc_make_aligned(caller, change.heap, HAWK_KIND_REALLOC,
						  change.size, aligned ? change.alignment : 1,
						  aligned ? change.offset : 0, change.zero);
		return *ret;
	}
	offset = hawk_entry_offset(pointer);
	if (!offset || change.alignment & (change.alignment - 1))
		return false;
	*ret = NULL;
	if (change.size > HAWK_TRACED_MAX) {
		errno = ENOMEM;
		return true;
	}
	if (hawk_bootstrap_owns(pointer)) {
		*ret = hawk_leave_bootstrap(caller, pointer, change.size);
		return true;
	}
	if (aligned && !fits_in_place(&change)) {
		*ret = move(caller, pointer, &change);
		return true;
	}
	hawk_resize_begin(&resize, pointer);
	base = aligned ? call_resize_aligned(hawk_resize_base(&resize), &change,
					     change.size + offset, change.offset + offset)
		       : call_resize(hawk_resize_base(&resize), &change, change.size + offset);
	*ret = hawk_resize_end(&resize, caller, base, change.size);
	return true;
}

bool hawk_mimalloc_release(void *pointer)
{
	return hawk_entry_release(pointer, next.free);
}

/** Looked up, not replaced: that is done by name in the files of the entry points. */
const struct hawk_entry hawk_entries_mimalloc_core[] = {
	{"mi_malloc", NULL, (void **)&next.malloc, false},
	{"mi_zalloc", NULL, (void **)&next.zalloc, false},
	{"mi_heap_malloc", NULL, (void **)&next.heap_malloc, false},
	{"mi_heap_zalloc", NULL, (void **)&next.heap_zalloc, false},
	{"mi_malloc_aligned_at", NULL, (void **)&next.aligned, false},
	{"mi_zalloc_aligned_at", NULL, (void **)&next.zaligned, false},
	{"mi_heap_malloc_aligned_at", NULL, (void **)&next.heap_aligned, false},
	{"mi_heap_zalloc_aligned_at", NULL, (void **)&next.heap_zaligned, false},
	{"mi_realloc", NULL, (void **)&next.realloc, false},
	{"mi_rezalloc", NULL, (void **)&next.rezalloc, false},
	{"mi_heap_realloc", NULL, (void **)&next.heap_realloc, false},
	{"mi_heap_rezalloc", NULL, (void **)&next.heap_rezalloc, false},
	{"mi_realloc_aligned_at", NULL, (void **)&next.realloc_at, false},
	{"mi_rezalloc_aligned_at", NULL, (void **)&next.rezalloc_at, false},
	{"mi_heap_realloc_aligned_at", NULL, (void **)&next.heap_realloc_at, false},
	{"mi_heap_rezalloc_aligned_at", NULL, (void **)&next.heap_rezalloc_at, false},
	{"mi_free", NULL, (void **)&next.free, false},
	{"mi_usable_size", NULL, (void **)&next.usable_size, false},
	{NULL, NULL, NULL, false},
};
