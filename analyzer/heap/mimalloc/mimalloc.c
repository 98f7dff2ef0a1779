/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the free blocks of mimalloc's pages.
 */
#include "mimalloc.h"

enum { LISTS = 3, STATE_BITS = 3, HEAPS_MAX = 1 << 16, ALIGNS_WITHIN = 2 };

void hawk_mimalloc_deinit(struct hawk_mimalloc *mimalloc)
{
	free(mimalloc->pages);
	hawk_slabs_deinit(&mimalloc->slabs);
	hawk_claims_deinit(&mimalloc->metadata);
	hawk_claims_deinit(&mimalloc->memory);
	*mimalloc = (struct hawk_mimalloc){0};
}

bool hawk_mimalloc_read_page(const struct hawk_mimalloc_page_layout *layout, struct hawk_near *near,
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
	ret->lists[2] &= ~(uint64_t)STATE_BITS;
	ret->capacity = capacity;
	ret->used = used;
	ret->aligns_within = bytes[layout->flags] & ALIGNS_WITHIN;
	if (layout->start_kind == HAWK_PAGE_BY_POINTER) {
		memcpy(&ret->start, bytes + layout->start, 8);
	} else if (layout->start_kind == HAWK_PAGE_BY_BYTES) {
		memcpy(&ret->start, bytes + layout->start, 8);
		ret->start += address;
	} else if (layout->start_kind == HAWK_PAGE_BY_WORDS) {
		uint32_t words;

		memcpy(&words, bytes + layout->start, sizeof(words));
		ret->start = address + 8 * (uint64_t)words;
	}
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

struct hawk_error *hawk_mimalloc_add_page(struct hawk_mimalloc *mimalloc,
					  const struct hawk_mimalloc_page *page)
{
	struct hawk_slabs *slabs = &mimalloc->slabs;
	size_t before = slabs->count;
	struct hawk_error *err;

	if (!hawk_array_reserve(&mimalloc->pages, mimalloc->page_count, &mimalloc->page_capacity,
				sizeof(*mimalloc->pages)))
		return &hawk_enomem;
	mimalloc->pages[mimalloc->page_count++] = *page;
	err = hawk_slabs_add(slabs, page->start, page->block_bytes, page->capacity);
	if (slabs->count > before)
		slabs->items[before].aligns_within = page->aligns_within;
	return err;
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
			hawk_slabs_mark_list(&mimalloc->slabs, near, first, UINT64_MAX,
					     HAWK_OBJECT_CACHED);
	}
}

static void mark_free(struct hawk_mimalloc *mimalloc)
{
	struct hawk_near near = {.target = mimalloc->target};

	for (size_t i = 0; i < mimalloc->page_count; i++) {
		const struct hawk_mimalloc_page *page = &mimalloc->pages[i];
		uint64_t counts[LISTS];

		for (unsigned j = 0; j < LISTS; j++)
			counts[j] = hawk_slabs_mark_list(&mimalloc->slabs, &near, page->lists[j],
							 UINT64_MAX, HAWK_OBJECT_FREE);
		mimalloc->differing += page->capacity - counts[0] - counts[1] != page->used;
	}
	if (mimalloc->delayed_offset)
		mark_delayed(mimalloc, &near);
}

static struct hawk_error *find(struct hawk_mimalloc *mimalloc)
{
	struct hawk_error *err = hawk_mimalloc_read_map(mimalloc);

	if (!err && !mimalloc->page_count)
		err = hawk_mimalloc_read_segments(mimalloc);
	if (!err && mimalloc->page_count)
		err = hawk_slabs_finish(&mimalloc->slabs, mimalloc->target);
	if (err || !mimalloc->page_count)
		return err;
	mark_free(mimalloc);
	hawk_claims_sort(&mimalloc->metadata);
	hawk_claims_sort(&mimalloc->memory);
	free(mimalloc->pages);
	mimalloc->pages = NULL;
	return NULL;
}

struct hawk_error *hawk_mimalloc_find(const struct hawk_target *target, struct hawk_mimalloc *ret,
				      bool *is_there)
{
	struct hawk_mimalloc mimalloc = {.target = target};
	struct hawk_error *err = find(&mimalloc);

	*is_there = !err && (mimalloc.slabs.count || mimalloc.layout_unknown);
	if (*is_there)
		*ret = mimalloc;
	else
		hawk_mimalloc_deinit(&mimalloc);
	return err;
}
