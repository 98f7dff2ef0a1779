/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads extents: slabs of small objects with a bitmap, and large blocks. The layout of an extent's
 * bits differs by version; the tree's data about the same extent shows which one applies.
 */
#include <assert.h>

#include "jemalloc.h"

enum {
	PAGE_BYTES = 4096,
	EXTENT_ADDRESS = 8,
	EXTENT_BYTES = 0x10,
	EXTENT_BITMAP = 0x40,
	SLAB_BIT = 12,
	BITMAP_WORDS = 8,
	OBJECTS_MAX = 64 * BITMAP_WORDS,
	CLASS_BITS = 8,
	FREE_BITS = 10,
	CLASSES = 232,
	CLASSES_FINE = 9, /* 8, then multiples of 16 up to 128; later ones in groups of four */
	CLASS_LOG2 = 7,   /* of the last fine class */
	GROUP_LOG2 = 2,
	BASE_BYTES = 2 << 20,
	BASE_UNITS_MAX = 64,
	BASE_WORDS = 5,
	BASE_REST_ADDRESS = 3, /* words from its start */
	BASE_REST_BYTES = 4,
};

static const struct hawk_jemalloc_layout layouts[] = {
	{"5.3", .state_shift = 17, .state_bits = 3, .class_shift = 20, .free_shift = 28},
	{"5.2", .state_shift = 16, .state_bits = 2, .class_shift = 18, .free_shift = 26,
	 .counts_by_number = true},
};

static uint64_t class_bytes(uint32_t number)
{
	uint32_t group, index;

	if (number >= CLASSES)
		return 0;
	if (number < CLASSES_FINE)
		return number ? 16 * (uint64_t)number : 8;
	group = (number - CLASSES_FINE) >> GROUP_LOG2;
	index = (number - CLASSES_FINE) & ((1 << GROUP_LOG2) - 1);
	return (UINT64_C(1) << (CLASS_LOG2 + group)) +
	       ((uint64_t)(index + 1) << (CLASS_LOG2 - GROUP_LOG2 + group));
}

static uint64_t bits_of(uint64_t word, unsigned shift, unsigned bits)
{
	return word >> shift & ((UINT64_C(1) << bits) - 1);
}

/** The number of times a layout agrees with the tree. */
struct choice {
	struct hawk_near *near;
	uint64_t votes[sizeof(layouts) / sizeof(*layouts)];
	bool unaligned; /**< large blocks begin anywhere in their first page */
};

static bool vote(void *context, const struct hawk_jemalloc_element *element)
{
	struct choice *choice = context;
	uint64_t words[2], word;

	if (hawk_near_read(choice->near, element->extent, words, sizeof(words)) != sizeof(words))
		return true;
	word = words[0];
	choice->unaligned |= !element->slab && words[1] % PAGE_BYTES;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		choice->votes[i] +=
			!bits_of(word, layouts[i].state_shift, layouts[i].state_bits) &&
			bits_of(word, layouts[i].class_shift, CLASS_BITS) == element->size_class &&
			(word >> SLAB_BIT & 1) == element->slab;
	return true;
}

/* Extents are aligned, so the last bit of a kept address can hold its layout. */
static_assert(sizeof(layouts) / sizeof(*layouts) == 2, "one bit tells layouts apart");

/** Extents that are taken. */
struct taker {
	struct hawk_jemalloc *jemalloc;
	struct hawk_near *near;
	bool unaligned; /**< large blocks have a page more than they need */
	uint64_t last_metadata;
	struct hawk_error *err;
};

static bool is_active(const struct hawk_jemalloc_layout *layout, uint64_t word)
{
	return !bits_of(word, layout->state_shift, layout->state_bits);
}

static struct hawk_error *add_metadata(struct taker *taker, uint64_t extent)
{
	uint64_t page = extent & -(uint64_t)PAGE_BYTES;

	if (page == taker->last_metadata)
		return NULL;
	taker->last_metadata = page;
	return hawk_claims_add(&taker->jemalloc->metadata, page, page + PAGE_BYTES);
}

static struct hawk_error *add_extent(struct hawk_jemalloc *jemalloc, uint64_t extent)
{
	if (!hawk_array_reserve(&jemalloc->extents, jemalloc->extent_count,
				&jemalloc->extent_capacity, sizeof(*jemalloc->extents)))
		return &hawk_enomem;
	jemalloc->extents[jemalloc->extent_count++] =
		extent | (uint64_t)(jemalloc->layout - layouts);
	return NULL;
}

/* Takes an extent at its first page. */
static bool take(void *context, const struct hawk_jemalloc_element *element)
{
	struct taker *taker = context;
	struct hawk_jemalloc *jemalloc = taker->jemalloc;
	uint64_t words[3], bytes;

	if (hawk_near_read(taker->near, element->extent, words, sizeof(words)) != sizeof(words))
		return true;
	bytes = words[2] & -(uint64_t)PAGE_BYTES;
	if ((words[1] & -(uint64_t)PAGE_BYTES) != element->page)
		return true;
	taker->err = add_metadata(taker, element->extent);
	if (!taker->err)
		taker->err =
			hawk_claims_add(&jemalloc->memory, element->page, element->page + bytes);
	if (taker->err || !is_active(jemalloc->layout, words[0]))
		return !taker->err;
	if (words[0] >> SLAB_BIT & 1) {
		uint64_t size = class_bytes(
			(uint32_t)bits_of(words[0], jemalloc->layout->class_shift, CLASS_BITS));

		if (!size || bytes / size > OBJECTS_MAX)
			return true;
		taker->err = hawk_slabs_add(&jemalloc->slabs, words[1], size, bytes / size);
	} else {
		taker->err = hawk_slabs_add(
			&jemalloc->slabs, words[1],
			taker->unaligned && bytes > PAGE_BYTES ? bytes - PAGE_BYTES : bytes, 1);
	}
	if (!taker->err)
		taker->err = add_extent(jemalloc, element->extent);
	return !taker->err;
}

struct hawk_error *hawk_jemalloc_read_extents(struct hawk_jemalloc *jemalloc,
					      const struct hawk_jemalloc_root *root)
{
	struct hawk_near near = {.target = jemalloc->target};
	struct choice choice = {.near = &near};
	struct taker taker = {.jemalloc = jemalloc, .near = &near};
	uint64_t budget = hawk_budget_to_read(jemalloc->target);
	struct hawk_error *err = hawk_jemalloc_each(root, &near, &budget, NULL, vote, &choice);

	jemalloc->layout = &layouts[choice.votes[1] > choice.votes[0]];
	taker.unaligned = choice.unaligned;
	budget = hawk_budget_to_read(jemalloc->target);
	if (!err)
		err = hawk_jemalloc_each(root, &near, &budget, &jemalloc->metadata, take, &taker);
	jemalloc->differing += !budget;
	return err ? err : taker.err;
}

/* Marks the free objects of a slab. */
static void read_bitmap(struct hawk_jemalloc *jemalloc, struct hawk_near *near, uint64_t extent,
			const struct hawk_jemalloc_layout *layout)
{
	uint64_t words[2], bitmap[BITMAP_WORDS], free_count = 0;
	const struct hawk_slab *slab;

	if (hawk_near_read(near, extent, words, sizeof(words)) != sizeof(words) ||
	    !(words[0] >> SLAB_BIT & 1) ||
	    hawk_near_read(near, extent + EXTENT_BITMAP, bitmap, sizeof(bitmap)) != sizeof(bitmap))
		return;
	slab = hawk_slabs_at(&jemalloc->slabs, words[1]);
	if (!slab || slab->start != words[1] || slab->count > OBJECTS_MAX)
		return;
	for (uint64_t i = 0; i < slab->count; i++) {
		if (!(bitmap[i / 64] >> i % 64 & 1))
			continue;
		hawk_slabs_set(&jemalloc->slabs, slab->first + i, HAWK_OBJECT_FREE);
		free_count++;
	}
	jemalloc->differing += free_count != bits_of(words[0], layout->free_shift, FREE_BITS);
}

/* Finds the memory that descriptions of extents were cut from: blocks of 2 MiB or more that begin
 * with their size and end with what is left of them. */
static bool find_base(struct hawk_near *near, uint64_t address, struct hawk_claim *ret)
{
	const uint64_t unit = BASE_BYTES;
	uint64_t start = address & -unit;

	for (unsigned i = 0; i < BASE_UNITS_MAX && start >= unit; i++, start -= unit) {
		uint64_t words[BASE_WORDS];

		if (hawk_near_read(near, start, words, sizeof(words)) != sizeof(words))
			return false;
		*ret = (struct hawk_claim){start, start + words[0]};
		if (ret->end > start && words[0] % unit == 0 && address - start < words[0] &&
		    words[BASE_REST_ADDRESS] - start <= words[0] &&
		    words[BASE_REST_ADDRESS] + words[BASE_REST_BYTES] == ret->end)
			return true;
	}
	return false;
}

/* Claims all around the descriptions: there are arenas, whose pointers lead to slabs. */
static struct hawk_error *claim_bases(struct hawk_jemalloc *jemalloc, struct hawk_near *near)
{
	size_t count = jemalloc->metadata.count;
	struct hawk_claim base = {0};
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		uint64_t address = jemalloc->metadata.items[i].start;

		if (address - base.start < base.end - base.start ||
		    !find_base(near, address, &base))
			continue;
		err = hawk_claims_add(&jemalloc->metadata, base.start, base.end);
	}
	hawk_claims_sort(&jemalloc->metadata);
	return err;
}

struct hawk_error *hawk_jemalloc_finish_extents(struct hawk_jemalloc *jemalloc)
{
	struct hawk_near near = {.target = jemalloc->target};
	struct hawk_error *err = hawk_slabs_finish(&jemalloc->slabs, jemalloc->target);

	for (size_t i = 0; !err && i < jemalloc->extent_count; i++) {
		uint64_t extent = jemalloc->extents[i];

		read_bitmap(jemalloc, &near, extent & -UINT64_C(2), &layouts[extent & 1]);
	}
	free(jemalloc->extents);
	jemalloc->extents = NULL;
	jemalloc->extent_count = jemalloc->extent_capacity = 0;
	hawk_claims_sort(&jemalloc->metadata);
	hawk_claims_sort(&jemalloc->memory);
	return err ? err : claim_bases(jemalloc, &near);
}
