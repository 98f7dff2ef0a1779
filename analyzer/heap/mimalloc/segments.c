/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads mimalloc 2.x: segments of 32 MiB. A word of each segment, combined with its address, gives
 * a number. All segments of a process share it, and it also lies in the library's data.
 */
#include "mimalloc.h"

enum {
	SLICES = 512,
	SLICE_COUNT = 0, /* offset in a page's description: number of its slices */
	SEGMENTS_TRIED = 64,
	KEY_LOG2 = 48,
};

static const uint64_t segment_bytes = UINT64_C(32) << 20;
static const uint64_t huge_bytes = UINT64_C(1) << 31; /* a block size that means one block */

static const struct hawk_mimalloc_page_layout old_page = {
	.flags = 0xe,
	.capacity = 0xa,
	.free = 0x10,
	.used = 0x18,
	.block_bytes = 0x1c,
	.short_bytes = true,
	.local_free = 0x20,
	.thread_free = 0x28,
	.heap = 0x30,
};
static const struct hawk_mimalloc_page_layout new_page = {
	.flags = 0xe,
	.capacity = 0xa,
	.free = 0x10,
	.local_free = 0x18,
	.used = 0x20,
	.block_bytes = 0x28,
	.start = 0x30,
	.thread_free = 0x38,
	.heap = 0x40,
};

static const struct segment_layout {
	const char *version;
	uint16_t cookie, slice_count, info_slices, slices;
	uint16_t page_bytes; /**< of a page's description */
	uint16_t delayed;
	uint16_t gap; /**< bytes before small blocks; 0 = see gap_of() */
	enum hawk_mimalloc_start start;
	const struct hawk_mimalloc_page_layout *page;
} layouts[] = {
	{"2.0.9", 0xd8, 0xe0, 0xe8, 0x108, 0x50, 0xb18, 384, HAWK_PAGE_BY_SLICE, &old_page},
	{"2.0.6 to 2.0.8", 0xd8, 0xe0, 0xe8, 0x108, 0x50, 0xb18, 128, HAWK_PAGE_BY_SLICE,
	 &old_page},
	{"2.1.0 to 2.1.2", 0xd8, 0xe0, 0xe8, 0x108, 0x50, 0xb18, 0, HAWK_PAGE_BY_SLICE, &old_page},
	{"2.1.3 to 2.1.7", 0xd8, 0xe0, 0xe8, 0x108, 0x60, 8, 0, HAWK_PAGE_BY_POINTER, &new_page},
	{"2.1.8 to 2.3", 0xe0, 0xf8, 0x100, 0x120, 0x60, 8, 0, HAWK_PAGE_BY_POINTER, &new_page},
};

enum { LAYOUTS = sizeof(layouts) / sizeof(*layouts) };

/* Returns the bytes before a page's first block. */
static uint64_t gap_of(const struct segment_layout *layout, uint64_t block_bytes)
{
	if (layout->gap)
		return block_bytes >= 8 && block_bytes <= 1024 ? layout->gap : 0;
	if (block_bytes < 8)
		return 0;
	return block_bytes <= 64 ? 3 * block_bytes : block_bytes <= 512 ? block_bytes : 0;
}

static bool key_of(struct hawk_near *near, const struct segment_layout *layout, uint64_t segment,
		   uint64_t *ret)
{
	uint64_t word;

	if (!hawk_word(near, segment + layout->cookie, &word) || !word)
		return false;
	*ret = word ^ segment;
	return *ret >> KEY_LOG2; /* the key is random: addresses and counts are no keys */
}

/** Keys that segments may have, by layout. */
struct keys {
	struct hawk_near *near;
	uint64_t keys[LAYOUTS][SEGMENTS_TRIED];
	size_t counts[LAYOUTS];
};

static struct hawk_error *collect_keys(void *context, uint64_t segment)
{
	struct keys *keys = context;

	for (size_t i = 0; i < LAYOUTS; i++)
		if (keys->counts[i] < SEGMENTS_TRIED &&
		    key_of(keys->near, &layouts[i], segment, &keys->keys[i][keys->counts[i]]))
			keys->counts[i]++;
	return NULL;
}

/** The state of reading with one layout and key. */
struct reading {
	struct hawk_mimalloc *mimalloc;
	struct hawk_near *near;
	const struct segment_layout *layout;
	uint64_t key, place; /**< and where it is in a module's data */
	bool scoring;        /**< pages are tested, not taken */
	unsigned fit, seen;
};

static struct hawk_error *take_page(struct reading *reading, uint64_t segment, uint64_t index,
				    uint64_t slice_count)
{
	const struct segment_layout *layout = reading->layout;
	uint64_t address = segment + layout->slices + index * layout->page_bytes;
	uint64_t slice = segment + (index << HAWK_MIMALLOC_SLICE_LOG2);
	struct hawk_mimalloc_page page;

	if (!hawk_mimalloc_read_page(layout->page, layout->start, reading->near, address, &page) ||
	    !page.used)
		return NULL;
	if (layout->start == HAWK_PAGE_BY_SLICE) {
		if (page.block_bytes >= huge_bytes)
			page.block_bytes = slice_count << HAWK_MIMALLOC_SLICE_LOG2;
		page.start = slice + gap_of(layout, page.block_bytes);
	}
	if (page.start < slice)
		return NULL;
	hawk_mimalloc_score(&page, &reading->fit, &reading->seen);
	return reading->scoring ? NULL
				: hawk_mimalloc_add_page(reading->mimalloc, reading->near, &page);
}

static struct hawk_error *read_segment(void *context, uint64_t segment)
{
	struct reading *reading = context;
	const struct segment_layout *layout = reading->layout;
	uint64_t key, slices, first;
	struct hawk_error *err = NULL;

	if (!key_of(reading->near, layout, segment, &key) || key != reading->key ||
	    !hawk_word(reading->near, segment + layout->slice_count, &slices) ||
	    !hawk_word(reading->near, segment + layout->info_slices, &first) || !first ||
	    first >= SLICES)
		return NULL;
	if (!reading->scoring) {
		err = hawk_claims_add(&reading->mimalloc->heap.metadata, segment,
				      segment + (first << HAWK_MIMALLOC_SLICE_LOG2));
		if (!err)
			err = hawk_claims_add(&reading->mimalloc->heap.memory, segment,
					      segment + (slices << HAWK_MIMALLOC_SLICE_LOG2));
	}
	for (uint64_t i = first; !err && i < slices && i < SLICES;) {
		uint32_t count;

		if (!hawk_half(reading->near,
			       segment + layout->slices + i * layout->page_bytes + SLICE_COUNT,
			       &count) ||
		    !count)
			break;
		err = take_page(reading, segment, i, count);
		i += count;
	}
	return err;
}

static bool is_key(const struct keys *keys, size_t layout, uint64_t word)
{
	for (size_t i = 0; i < keys->counts[layout]; i++)
		if (keys->keys[layout][i] == word)
			return true;
	return false;
}

/* Finds the key of some segment that a module's data holds as well. */
static bool find_key(const struct keys *keys, size_t layout, uint64_t *ret, uint64_t *place)
{
	struct hawk_data_words words = {0};

	while (keys->counts[layout] && hawk_data_words_next(&words, keys->near, ret))
		if (*ret >> KEY_LOG2 && is_key(keys, layout, *ret)) {
			*place = words.at;
			return true;
		}
	return false;
}

struct hawk_error *hawk_mimalloc_read_segments(struct hawk_mimalloc *mimalloc)
{
	struct hawk_near near = {.target = mimalloc->heap.target};
	struct keys keys = {.near = &near};
	struct reading best = {.mimalloc = mimalloc, .near = &near};
	struct hawk_error *err =
		hawk_each_aligned(mimalloc->heap.target, segment_bytes, collect_keys, &keys);
	uint64_t best_share = 0, key = 0, place = 0;
	uint16_t cookie = 0;
	bool found = false;

	for (size_t i = 0; i < LAYOUTS && !err; i++) {
		struct reading reading = {.mimalloc = mimalloc,
					  .near = &near,
					  .layout = &layouts[i],
					  .scoring = true};
		uint64_t share;

		if (layouts[i].cookie != cookie) {
			cookie = layouts[i].cookie;
			found = find_key(&keys, i, &key, &place);
		}
		if (!found)
			continue;
		mimalloc->heap.incomplete = true;
		reading.key = key;
		err = hawk_each_aligned(mimalloc->heap.target, segment_bytes, read_segment,
					&reading);
		share = reading.seen ? UINT64_C(1000) * reading.fit / reading.seen : 0;
		if (share <= best_share || share < 900)
			continue;
		best_share = share;
		best.layout = &layouts[i];
		best.key = key;
		best.place = place;
	}
	if (err || !best.layout)
		return err;
	mimalloc->heap.incomplete = false;
	mimalloc->heap.version = best.layout->version;
	mimalloc->delayed_offset = best.layout->delayed;
	mimalloc->root = best.place;
	err = hawk_claims_add(&mimalloc->heap.metadata, best.place, best.place + sizeof(key));
	return err ? err
		   : hawk_each_aligned(mimalloc->heap.target, segment_bytes, read_segment, &best);
}
