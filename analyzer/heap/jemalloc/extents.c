/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads extents: slabs of small objects with a bitmap, and large blocks. The layout of an extent's
 * bits differs by version; the tree's data about the same extent shows which one applies.
 */
#include <assert.h>

#include "hawk/base/cleanup.h"
#include "jemalloc.h"

enum {
	PAGE_BYTES = 4096,
	EXTENT_ADDRESS = 8,
	EXTENT_BITMAP = 0x40,
	ARENA_BITS = 12,
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
	{"5.2", .state_shift = 16, .state_bits = 2, .class_shift = 18, .free_shift = 26},
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

/* Extents are aligned, so the last bit of the address in a slab can hold its layout. */
static_assert(sizeof(layouts) / sizeof(*layouts) == 2, "one bit tells layouts apart");

/** Extents that are taken. */
struct taker {
	struct hawk_jemalloc *jemalloc;
	struct hawk_near *near;
	bool unaligned;       /**< large blocks have a page more than they need */
	uint32_t first_arena; /**< of the root: number of its arena 0 */
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
	return hawk_claims_add(&taker->jemalloc->heap.metadata, page, page + PAGE_BYTES);
}

/* Takes an extent at its first page. */
static bool take(void *context, const struct hawk_jemalloc_element *element)
{
	struct taker *taker = context;
	struct hawk_jemalloc *jemalloc = taker->jemalloc;
	struct hawk_slab slab = {.description =
					 element->extent | (uint64_t)(jemalloc->layout - layouts)};
	uint64_t words[3], bytes;

	if (hawk_near_read(taker->near, element->extent, words, sizeof(words)) != sizeof(words))
		return true;
	bytes = words[2] & -(uint64_t)PAGE_BYTES;
	if ((words[1] & -(uint64_t)PAGE_BYTES) != element->page)
		return true;
	taker->err = add_metadata(taker, element->extent);
	if (!taker->err)
		taker->err = hawk_claims_add(&jemalloc->heap.memory, element->page,
					     element->page + bytes);
	if (!taker->err && !is_active(jemalloc->layout, words[0]))
		taker->err =
			hawk_claims_add(&jemalloc->heap.free, element->page, element->page + bytes);
	if (taker->err || !is_active(jemalloc->layout, words[0]))
		return !taker->err;
	slab.arena = taker->first_arena + 1 + (uint32_t)bits_of(words[0], 0, ARENA_BITS);
	slab.start = words[1];
	slab.object_bytes = taker->unaligned && bytes > PAGE_BYTES ? bytes - PAGE_BYTES : bytes;
	slab.count = 1;
	if (words[0] >> SLAB_BIT & 1) {
		slab.object_bytes = class_bytes(
			(uint32_t)bits_of(words[0], jemalloc->layout->class_shift, CLASS_BITS));
		slab.count = slab.object_bytes ? bytes / slab.object_bytes : 0;
	}
	if (slab.count <= OBJECTS_MAX)
		taker->err = hawk_slabs_add(&jemalloc->heap.slabs, slab);
	return !taker->err;
}

struct hawk_error *hawk_jemalloc_read_extents(struct hawk_jemalloc *jemalloc,
					      const struct hawk_jemalloc_root *root)
{
	struct hawk_near near = {.target = jemalloc->heap.target};
	struct choice choice = {.near = &near};
	struct taker taker = {.jemalloc = jemalloc,
			      .near = &near,
			      .first_arena = (uint32_t)(root - jemalloc->roots) << ARENA_BITS};
	uint64_t budget = hawk_budget_to_read(jemalloc->heap.target);
	struct hawk_error *err = hawk_jemalloc_each(root, &near, &budget, NULL, vote, &choice);

	jemalloc->layout = &layouts[choice.votes[1] > choice.votes[0]];
	if (!jemalloc->heap.version)
		jemalloc->heap.version = jemalloc->layout->version;
	taker.unaligned = choice.unaligned;
	budget = hawk_budget_to_read(jemalloc->heap.target);
	if (!err)
		err = hawk_jemalloc_each(root, &near, &budget, &jemalloc->heap.metadata, take,
					 &taker);
	jemalloc->heap.differing += !budget;
	return err ? err : taker.err;
}

/* Marks the free objects of a slab. */
static void read_bitmap(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
			const struct hawk_slab *slab)
{
	const struct hawk_jemalloc_layout *layout = &layouts[slab->description & 1];
	uint64_t extent = slab->description & -UINT64_C(2);
	uint64_t word, bitmap[BITMAP_WORDS], free_count = 0;

	if (!hawk_word(near, extent, &word) || !(word >> SLAB_BIT & 1) ||
	    hawk_near_read(near, extent + EXTENT_BITMAP, bitmap, sizeof(bitmap)) != sizeof(bitmap))
		return;
	for (uint64_t i = 0; i < slab->count; i++) {
		if (!(bitmap[i / 64] >> i % 64 & 1))
			continue;
		hawk_slabs_set(&jemalloc->heap.slabs, slab->first + i, HAWK_OBJECT_FREE);
		free_count++;
	}
	jemalloc->heap.differing += free_count != bits_of(word, layout->free_shift, FREE_BITS);
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
	size_t count = jemalloc->heap.metadata.count;
	struct hawk_claim base = {0};
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		uint64_t address = jemalloc->heap.metadata.items[i].start;

		if (address - base.start < base.end - base.start ||
		    !find_base(near, address, &base))
			continue;
		err = hawk_jemalloc_read_decay(jemalloc, near, &base);
		if (!err)
			err = hawk_claims_add(&jemalloc->heap.metadata, base.start, base.end);
	}
	hawk_claims_sort(&jemalloc->heap.metadata);
	return err;
}

/* Numbers the arenas anew, from 0 on, and finds where they lie: descriptions of an arena's extents
 * are cut from its own base. */
static struct hawk_error *number_arenas(struct hawk_jemalloc *jemalloc)
{
	struct hawk_slab_heap *heap = &jemalloc->heap;
	CLEANUP(free_ptr)
	uint32_t *numbers = calloc((jemalloc->root_count << ARENA_BITS) + 2, sizeof(*numbers));

	if (!numbers)
		return &hawk_enomem;
	for (size_t i = 0; i < heap->slabs.count; i++) {
		struct hawk_slab *slab = &heap->slabs.items[i];
		const struct hawk_claim *base =
			hawk_claims_from(&jemalloc->bases, slab->description);

		if (!numbers[slab->arena]) {
			if (hawk_slab_heap_add_arena(heap, 0))
				return &hawk_enomem;
			numbers[slab->arena] = (uint32_t)heap->arena_count;
		}
		slab->arena = numbers[slab->arena];
		if (base && slab->description >= base->start)
			heap->arenas[slab->arena - 1] = base->start;
	}
	return NULL;
}

struct hawk_error *hawk_jemalloc_finish_extents(struct hawk_jemalloc *jemalloc)
{
	struct hawk_near near = {.target = jemalloc->heap.target};
	struct hawk_error *err = hawk_slabs_finish(&jemalloc->heap.slabs, jemalloc->heap.target);

	for (size_t i = 0; !err && i < jemalloc->heap.slabs.count; i++)
		read_bitmap(jemalloc, &near, &jemalloc->heap.slabs.items[i]);
	hawk_claims_sort(&jemalloc->heap.metadata);
	hawk_claims_sort(&jemalloc->heap.memory);
	if (!err)
		err = claim_bases(jemalloc, &near);
	return err ? err : number_arenas(jemalloc);
}
