/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads mimalloc 3.x: a map of two levels leads from each slice of 64 KiB to its page.
 *
 *     up to 3.5:  a pointer in the library's data -> pointers to 2^18 parts of 2^13 entries
 *     3.6:        a pointer in the library's data -> | count | offset of a part | itself | size |
 *                 ... pointers to parts from 0x50 on
 */
#include "mimalloc.h"

enum {
	PART_LOG2 = 13,
	PART_MASK = (1 << PART_LOG2) - 1,
	PARTS = 1 << 18,
	PAGES_SAMPLED = 32,
	SELF_OFFSET = 0x10,
	FIRST_PART_OFFSET = 8,
	PARTS_OFFSET = 0x50,
};

static const struct hawk_mimalloc_page_layout old_page = {
	.thread = 0,
	.knows_thread = true,
	.free = 8,
	.used = 0x10,
	.capacity = 0x12,
	.local_free = 0x18,
	.thread_free = 0x20,
	.block_bytes = 0x28,
	.start = 0x30,
	.heap = 0x40,
};
static const struct hawk_mimalloc_page_layout new_page = {
	.flags = 8,
	.thread = 8,
	.knows_thread = true,
	.free = 0x10,
	.local_free = 0x18,
	.block_bytes = 0x20,
	.used = 0x28,
	.start = 0x30,
	.capacity = 0x38,
	.thread_free = 0x40,
	.heap = 0x50,
};

static const struct map_layout {
	const char *version;
	bool describes_itself;
	enum hawk_mimalloc_start start;
	const struct hawk_mimalloc_page_layout *page;
} layouts[] = {
	{"3.6", true, HAWK_PAGE_BY_BYTES, &new_page},
	{"3.0 to 3.3", false, HAWK_PAGE_BY_POINTER, &old_page},
	{"3.4", false, HAWK_PAGE_BY_WORDS, &old_page},
};

enum { LAYOUTS = sizeof(layouts) / sizeof(*layouts) };

/** The state of reading with one layout. */
struct reading {
	struct hawk_mimalloc *mimalloc;
	struct hawk_near *near;
	const struct map_layout *layout;
	uint64_t parts; /**< address of the pointers to parts */
	bool scoring;
	uint64_t last; /**< the last page taken: it has an entry for each of its slices */
	unsigned pages, wrong, fit, seen;
	uint64_t budget;
};

/* Returns true if the map has an entry for the slice. */
static bool has_entry(const struct reading *reading, uint64_t slice)
{
	uint64_t part, page;

	return hawk_word(reading->near, reading->parts + 8 * (slice >> PART_LOG2), &part) && part &&
	       hawk_word(reading->near, part + 8 * (slice & PART_MASK), &page) && page;
}

/* Returns true if the page's memory begins in the slice. */
static bool begins_in(const struct hawk_mimalloc_page *page, uint64_t slice)
{
	uint64_t first = page->start >> HAWK_MIMALLOC_SLICE_LOG2;

	return first == slice ||
	       (first > slice && page->address >> HAWK_MIMALLOC_SLICE_LOG2 == slice);
}

/* Returns true for an entry of a page that was given back. mimalloc 3.0.1 leaves these in the map,
 * for memory that is zero since then or holds other pages (commit bc10fe27). */
static bool is_left(const struct reading *reading, const struct hawk_mimalloc_page *page,
		    uint64_t slice)
{
	uint64_t own = page->address >> HAWK_MIMALLOC_SLICE_LOG2;

	return own < slice ? has_entry(reading, own) : own == slice && !page->start;
}

static struct hawk_error *take_page(struct reading *reading, uint64_t slice, uint64_t address)
{
	struct hawk_mimalloc *mimalloc = reading->mimalloc;
	struct hawk_mimalloc_page page = {.address = address};
	struct hawk_error *err;
	bool is_page;

	if (address == reading->last || !slice) /* slice 0 has a dummy page for NULL */
		return NULL;
	reading->last = address;
	is_page = hawk_mimalloc_read_page(reading->layout->page, reading->layout->start,
					  reading->near, address, &page) &&
		  begins_in(&page, slice);
	if (!is_page && is_left(reading, &page, slice))
		return NULL;
	reading->pages++;
	if (!is_page) {
		reading->wrong++;
		return NULL;
	}
	hawk_mimalloc_score(&page, &reading->fit, &reading->seen);
	if (reading->scoring || !page.used)
		return NULL;
	err = hawk_claims_add(&mimalloc->heap.metadata, address, address + 0x80);
	if (!err)
		err = hawk_claims_add(&mimalloc->heap.memory, slice << HAWK_MIMALLOC_SLICE_LOG2,
				      page.start + page.block_bytes * page.capacity);
	return err ? err : hawk_mimalloc_add_page(mimalloc, reading->near, &page);
}

static struct hawk_error *read_part(struct reading *reading, uint64_t part, uint64_t first_slice)
{
	uint64_t at = part, end = part + (UINT64_C(8) << PART_LOG2), page;
	struct hawk_error *err = NULL;

	if (!reading->scoring)
		err = hawk_claims_add(&reading->mimalloc->heap.metadata, part, end);
	for (; !err && hawk_next_word(reading->near, &at, end, &page); at += 8) {
		err = take_page(reading, first_slice + (at - part) / 8, page);
		if (reading->scoring &&
		    (reading->pages >= PAGES_SAMPLED || (reading->wrong && reading->pages < 4)))
			break;
	}
	hawk_charge(&reading->budget, at - part);
	return err;
}

static struct hawk_error *read_parts(struct reading *reading)
{
	uint64_t at = reading->parts, end = at + 8 * (uint64_t)PARTS, part;
	struct hawk_error *err = NULL;

	reading->last = 0;
	for (; !err && reading->budget && hawk_next_word(reading->near, &at, end, &part); at += 8) {
		if (part % 8 || !hawk_target_mapping_at(reading->mimalloc->heap.target, part))
			break; /* past the end of a shorter table */
		err = read_part(reading, part, (at - reading->parts) / 8 << PART_LOG2);
		if (reading->scoring && (reading->wrong || reading->pages >= PAGES_SAMPLED))
			break;
	}
	hawk_charge(&reading->budget, at - reading->parts);
	return err;
}

/* Finds the pointers to parts if a map begins at `map`. */
static bool find_parts(struct hawk_near *near, const struct map_layout *layout, uint64_t map,
		       uint64_t *ret)
{
	uint64_t self, first, offset;

	*ret = map;
	if (!layout->describes_itself)
		return true;
	*ret = map + PARTS_OFFSET;
	return hawk_word(near, map + SELF_OFFSET, &self) && self == map &&
	       hawk_word(near, map + FIRST_PART_OFFSET, &offset) &&
	       hawk_word(near, map + PARTS_OFFSET, &first) && first == map + offset;
}

/* Returns true if the pointer leads to a map: nine tenths of its entries must be pages. */
static bool try_map(struct reading *reading, uint64_t map)
{
	for (size_t i = 0; i < LAYOUTS; i++) {
		struct reading attempt = *reading;

		attempt.layout = &layouts[i];
		attempt.scoring = true;
		if (!find_parts(reading->near, &layouts[i], map, &attempt.parts))
			continue;
		read_parts(&attempt); /* takes nothing: no error */
		reading->budget = attempt.budget;
		if (!attempt.pages || attempt.wrong * 10 > attempt.pages ||
		    attempt.fit * 10 < attempt.seen * 9)
			continue;
		reading->layout = attempt.layout;
		reading->parts = attempt.parts;
		return true;
	}
	return false;
}

static bool find_map(struct reading *reading)
{
	const struct hawk_target *target = reading->near->target;
	struct hawk_data_words words = {0};
	uint64_t pointer;

	while (reading->budget && hawk_data_words_next(&words, reading->near, &pointer)) {
		const struct hawk_mapping *to =
			pointer % 4096 ? NULL : hawk_target_mapping_at(target, pointer);

		reading->mimalloc->root = words.at;
		if (to && hawk_is_anonymous(target, to) && try_map(reading, pointer))
			return true;
	}
	return false;
}

struct hawk_error *hawk_mimalloc_read_map(struct hawk_mimalloc *mimalloc)
{
	struct hawk_near near = {.target = mimalloc->heap.target};
	struct reading reading = {
		.mimalloc = mimalloc, .near = &near, .budget = hawk_budget_to_search};
	struct hawk_error *err;

	if (!find_map(&reading))
		return NULL;
	mimalloc->heap.version = reading.layout->version;
	reading.budget = hawk_budget_to_read(mimalloc->heap.target);
	err = reading.layout->describes_itself
		      ? hawk_claims_add(&mimalloc->heap.metadata, reading.parts - PARTS_OFFSET,
					reading.parts)
		      : NULL;
	if (!err)
		err = read_parts(&reading);
	mimalloc->heap.differing += !reading.budget;
	return err;
}
