/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the free blocks of mimalloc's pages.
 */
#include "mimalloc.h"

enum { LISTS = 3, STATE_BITS = 3, HEAPS_MAX = 1 << 16, ALIGNS_WITHIN = 2 };

enum { THREAD_AWAY = 8 /* from a heap's list of delayed blocks to its thread's number */ };

bool hawk_mimalloc_read_page(const struct hawk_mimalloc_page_layout *layout,
			     enum hawk_mimalloc_start start, struct hawk_near *near,
			     uint64_t address, struct hawk_mimalloc_page *ret)
{
	uint8_t bytes[0x80];
	uint16_t capacity, used;

	if (address % 8 || hawk_near_read(near, address, bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	*ret = (struct hawk_mimalloc_page){.address = address};
	memcpy(&capacity, bytes + layout->capacity, sizeof(capacity));
	memcpy(&used, bytes + layout->used, sizeof(used));
	memcpy(&ret->block_bytes, bytes + layout->block_bytes, layout->short_bytes ? 4 : 8);
	memcpy(&ret->lists[0], bytes + layout->free, 8);
	memcpy(&ret->lists[1], bytes + layout->local_free, 8);
	memcpy(&ret->lists[2], bytes + layout->thread_free, 8);
	memcpy(&ret->heap, bytes + layout->heap, 8);
	if (layout->knows_thread)
		memcpy(&ret->thread, bytes + layout->thread, 8);
	ret->lists[2] &= ~(uint64_t)STATE_BITS;
	ret->capacity = capacity;
	ret->used = used;
	ret->aligns_within = bytes[layout->flags] & ALIGNS_WITHIN;
	if (start != HAWK_PAGE_BY_SLICE)
		memcpy(&ret->start, bytes + layout->start, start == HAWK_PAGE_BY_WORDS ? 4 : 8);
	if (start == HAWK_PAGE_BY_WORDS)
		ret->start *= 8;
	if (start == HAWK_PAGE_BY_WORDS || start == HAWK_PAGE_BY_BYTES)
		ret->start += address;
	return ret->block_bytes > 1 && ret->block_bytes < UINT64_C(1) << 47 && capacity;
}

void hawk_mimalloc_score(const struct hawk_mimalloc_page *page, unsigned *fit, unsigned *seen)
{
	uint64_t end = page->start + page->block_bytes * page->capacity;

	for (unsigned i = 0; i < LISTS; i++) {
		uint64_t first = page->lists[i];

		if (!first)
			continue;
		++*seen;
		*fit += first >= page->start && first < end &&
			(first - page->start) % page->block_bytes == 0;
	}
}

/* Returns the number of the page's arena plus 1: the heaps of the thread that owns it. 0 = it has
 * ended. */
static uint32_t arena_of(struct hawk_mimalloc *mimalloc, struct hawk_near *near,
			 const struct hawk_mimalloc_page *page, struct hawk_error **err)
{
	struct hawk_slab_heap *heap = &mimalloc->heap;
	uint64_t number = page->thread;
	struct hawk_slab_thread *thread;

	if (!number && page->heap && mimalloc->delayed_offset)
		(void)hawk_word(near, page->heap + mimalloc->delayed_offset + THREAD_AWAY, &number);
	*err = heap->threads ? NULL : hawk_slab_heap_threads(heap);
	thread = *err ? NULL : hawk_slab_heap_thread(heap, number & ~(uint64_t)STATE_BITS);
	if (!thread)
		return 0;
	if (thread->arena == HAWK_NOT_KNOWN) {
		thread->arena = (uint32_t)heap->arena_count;
		heap->arenas_known = true;
		*err = hawk_slab_heap_add_arena(heap, page->heap);
	}
	return thread->arena + 1;
}

struct hawk_error *hawk_mimalloc_add_page(struct hawk_mimalloc *mimalloc, struct hawk_near *near,
					  const struct hawk_mimalloc_page *page)
{
	struct hawk_error *err;
	uint32_t arena = arena_of(mimalloc, near, page, &err);

	if (err)
		return err;
	if (!hawk_array_reserve(&mimalloc->pages, mimalloc->page_count, &mimalloc->page_capacity,
				sizeof(*mimalloc->pages)))
		return &hawk_enomem;
	mimalloc->pages[mimalloc->page_count++] = *page;
	return hawk_slabs_add(&mimalloc->heap.slabs,
			      (struct hawk_slab){.start = page->start,
						 .object_bytes = page->block_bytes,
						 .count = page->capacity,
						 .arena = arena,
						 .aligns_within = page->aligns_within});
}

static int by_heap(const void *left, const void *right)
{
	const struct hawk_mimalloc_page *a = left, *b = right;

	return a->heap < b->heap ? -1 : a->heap > b->heap;
}

/* Marks blocks that other threads freed and that their heap has not taken back yet. */
static void mark_delayed(struct hawk_mimalloc *mimalloc, struct hawk_near *near)
{
	uint64_t last = 0, first;

	if (mimalloc->page_count)
		qsort(mimalloc->pages, mimalloc->page_count, sizeof(*mimalloc->pages), by_heap);
	for (size_t i = 0; i < mimalloc->page_count; i++) {
		uint64_t heap = mimalloc->pages[i].heap;

		if (heap == last || !heap)
			continue;
		last = heap;
		if (hawk_word(near, heap + mimalloc->delayed_offset, &first))
			hawk_slabs_mark_list(&mimalloc->heap.slabs, near,
					     &(struct hawk_slab_list){.first = first,
								      .state = HAWK_OBJECT_CACHED});
	}
}

/* Marks the blocks in a page's lists. The first two hold all free ones, but for those in the third.
 * A thread that moves the second list to the first is in both for a moment. */
static void mark_page(struct hawk_mimalloc *mimalloc, struct hawk_near *near,
		      const struct hawk_mimalloc_page *page, bool in_flux)
{
	uint64_t counts[LISTS] = {0};

	for (unsigned i = 0; i < LISTS; i++) {
		struct hawk_slab_list list = {.first = page->lists[i],
					      .object_bytes = page->block_bytes,
					      .state = HAWK_OBJECT_FREE};

		if (in_flux && i && list.first == page->lists[0])
			continue;
		if (i < 2 && !in_flux && !page->lists[1 - i] && page->used <= page->capacity)
			list.length = page->capacity - page->used;
		counts[i] = hawk_slabs_mark_list(&mimalloc->heap.slabs, near, &list);
	}
	mimalloc->heap.differing += page->capacity - counts[0] - counts[1] != page->used;
}

static void mark_free(struct hawk_mimalloc *mimalloc)
{
	struct hawk_near near = {.target = mimalloc->heap.target};
	bool in_flux = hawk_threads_are_inside(near.target, mimalloc->root);

	for (size_t i = 0; i < mimalloc->page_count; i++)
		mark_page(mimalloc, &near, &mimalloc->pages[i], in_flux);
	if (mimalloc->delayed_offset)
		mark_delayed(mimalloc, &near);
}

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	struct hawk_mimalloc *mimalloc = state;
	struct hawk_error *err;

	(void)claims;
	mimalloc->heap.target = target;
	err = hawk_mimalloc_read_map(mimalloc);
	if (!err && !mimalloc->page_count)
		err = hawk_mimalloc_read_segments(mimalloc);
	if (!err)
		err = hawk_slabs_finish(&mimalloc->heap.slabs, target);
	if (err)
		return err;
	mark_free(mimalloc);
	hawk_claims_sort(&mimalloc->heap.metadata);
	hawk_claims_sort(&mimalloc->heap.memory);
	*is_there = mimalloc->heap.slabs.count || mimalloc->heap.incomplete;
	return NULL;
}

static bool aligns_within(const void *state, uint64_t address)
{
	const struct hawk_mimalloc *mimalloc = state;
	const struct hawk_slab *slab = hawk_slabs_at(&mimalloc->heap.slabs, address);

	return slab && slab->aligns_within;
}

static void forget(void *state)
{
	struct hawk_mimalloc *mimalloc = state;

	free(mimalloc->pages);
	hawk_slab_heap_deinit(&mimalloc->heap);
}

const struct hawk_walker hawk_walker_mimalloc = {
	.name = "mimalloc",
	.small_granules = true,
	.state_bytes = sizeof(struct hawk_mimalloc),
	.find = find,
	.spans = hawk_slab_heap_spans,
	.begin = hawk_slab_heap_begin,
	.next = hawk_slab_heap_next,
	.verify = hawk_slab_heap_verify,
	.free_bytes = hawk_slab_heap_free_bytes,
	.describe = hawk_slab_heap_describe,
	.arena = hawk_slab_heap_arena,
	.thread_arenas = hawk_slab_heap_thread_arenas,
	.aligns_within = aligns_within,
	.forget = forget,
};
