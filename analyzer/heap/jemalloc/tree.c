/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the tree of pages. An element of a leaf leads to an extent, and the extent's address leads
 * back to that element; this proves leaf and root.
 *
 *     2 levels (48 bits):  root[2^18] by 1 GiB -> leaf[2^18] of 8 bytes
 *     3 levels (57 bits):  root[2^15] by 4 TiB -> node[2^15] by 128 MiB -> leaf[2^15] of 16 bytes
 *
 *     8 bytes:   class << 48 | extent | flags
 *     16 bytes:  extent | class << 5 | flags
 */
#include "jemalloc.h"

enum {
	PAGE_LOG2 = 12,
	EXTENT_ADDRESS = 8,
	EXTENT_ALIGNMENT = 64,
	NARROW_BITS = 18,
	WIDE_BITS = 15,
	WIDE_CLASS_SHIFT = 5,
	CLASS_SHIFT = 48,
	SAMPLES = 16,
	ROOTS_MAX = 64,
};

static const uint64_t extent_mask = UINT64_C(0x0000ffffffffffc0);

/** A level's shape. */
struct shape {
	unsigned bits;         /**< of an index in a leaf and in a node */
	unsigned element_log2; /**< log2 of the bytes of a leaf's element */
	unsigned root_bits;
};

static struct shape shape_of(bool wide)
{
	return wide ? (struct shape){WIDE_BITS, 4, WIDE_BITS}
		    : (struct shape){NARROW_BITS, 3, NARROW_BITS};
}

static uint64_t leaf_bytes(bool wide)
{
	struct shape shape = shape_of(wide);

	return UINT64_C(1) << (shape.bits + shape.element_log2);
}

/* Reads the address in an element's extent; returns false if no extent lies there. */
static bool address_of(struct hawk_near *near, uint64_t extent, uint64_t *ret)
{
	return extent && extent % EXTENT_ALIGNMENT == 0 &&
	       hawk_word(near, extent + EXTENT_ADDRESS, ret) && *ret;
}

/* Returns true if the element at `at` fits a leaf; `*address` is then the memory that it describes.
 */
static bool element_fits(struct hawk_near *near, bool wide, uint64_t leaf, uint64_t at,
			 uint64_t word, uint64_t *address)
{
	struct shape shape = shape_of(wide);
	uint64_t number = (at - leaf) >> shape.element_log2;

	if ((at - leaf) & ((UINT64_C(1) << shape.element_log2) - 1))
		return false;
	return address_of(near, word & extent_mask, address) &&
	       (*address >> PAGE_LOG2 & ((UINT64_C(1) << shape.bits) - 1)) == number;
}

/* Tests some elements of a possible leaf. `*address` is the memory that most of them describe. Each
 * page of a larger extent names it, so not all elements lead back. */
static bool is_leaf(struct hawk_near *near, uint64_t *budget, bool wide, uint64_t leaf,
		    uint64_t *address)
{
	uint64_t end = leaf + leaf_bytes(wide), at = leaf, word, found;
	unsigned fit = 0, seen = 0;

	while (seen < SAMPLES && hawk_next_word(near, &at, end, &word)) {
		seen++;
		if (element_fits(near, wide, leaf, at, word, &found)) {
			fit++;
			*address = found;
		} else if (!fit && seen > 2) {
			break;
		}
		at = wide ? ((at - leaf) | 15) + 1 + leaf : at + 8;
	}
	return hawk_charge(budget, at - leaf) && fit;
}

/* Tests a pointer at `at` to a possible leaf or node; `*root` is the start of its tree. */
static bool find_root(struct hawk_near *near, uint64_t *budget, bool wide, uint64_t at,
		      uint64_t pointer, uint64_t *root)
{
	uint64_t address, entry = pointer, leaf;

	if (!wide) {
		if (!is_leaf(near, budget, false, pointer, &address))
			return false;
		*root = at - 8 * (address >> (PAGE_LOG2 + NARROW_BITS));
		return true;
	}
	if (hawk_next_word(near, &entry, pointer + (8 << WIDE_BITS), &leaf) &&
	    hawk_charge(budget, entry - pointer)) {
		if (leaf % EXTENT_ALIGNMENT || !is_leaf(near, budget, true, leaf, &address))
			return false;
		if ((address >> (PAGE_LOG2 + WIDE_BITS) & ((1 << WIDE_BITS) - 1)) !=
		    (entry - pointer) / 8)
			return false;
		*root = at - 8 * (address >> (PAGE_LOG2 + 2 * WIDE_BITS));
		return true;
	}
	return false;
}

/** Elements after which a root is given up if less than half of them agree. */
enum { FEW = 16 };

/** Counts elements that agree with their extents. */
struct agreement {
	struct hawk_near *near;
	uint64_t fit, seen;
};

static bool agree(void *context, const struct hawk_jemalloc_element *element)
{
	struct agreement *agreement = context;
	uint64_t address, bytes;

	agreement->seen++;
	if (address_of(agreement->near, element->extent, &address) &&
	    hawk_word(agreement->near, element->extent + 16, &bytes) &&
	    element->page - (address & -UINT64_C(1) << PAGE_LOG2) <= bytes)
		agreement->fit++;
	/* Every list head of a program may look like a root: most of them fail at once. */
	if (agreement->seen >= FEW && agreement->fit * 2 < agreement->seen)
		return false;
	return agreement->seen < 4096;
}

static bool is_known(const struct hawk_jemalloc *jemalloc, uint64_t root)
{
	for (size_t i = 0; i < jemalloc->root_count; i++)
		if (jemalloc->roots[i].address == root)
			return true;
	return false;
}

/* Takes a root if nine tenths of its elements agree: a few may agree by chance in other memory. */
static struct hawk_error *try_root(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
				   uint64_t *budget, struct hawk_jemalloc_root root)
{
	struct agreement agreement = {.near = near};
	struct hawk_error *err = hawk_jemalloc_each(&root, near, budget, NULL, agree, &agreement);

	if (err || !agreement.seen || agreement.fit * 10 < agreement.seen * 9 ||
	    jemalloc->root_count == ROOTS_MAX)
		return err;
	if (!hawk_array_reserve(&jemalloc->roots, jemalloc->root_count, &jemalloc->root_capacity,
				sizeof(*jemalloc->roots)))
		return &hawk_enomem;
	jemalloc->roots[jemalloc->root_count++] = root;
	return NULL;
}

static struct hawk_error *search(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
				 uint64_t *budget, bool wide)
{
	uint64_t root_bytes = UINT64_C(8) << shape_of(wide).root_bits;
	struct hawk_data_words words = {0};
	struct hawk_error *err = NULL;
	uint64_t pointer, root, last = 0;

	for (; !err && *budget && hawk_data_words_next(&words, near, &pointer); last = words.at) {
		const struct hawk_mapping *in = words.mapping;
		/* Leaves in a row are tried by the first: each entry of a table of pointers could
		 * lead to one. */
		bool is_first = words.at - last != sizeof(pointer);
		const struct hawk_mapping *to =
			!is_first || pointer % EXTENT_ALIGNMENT || in->end - in->start < root_bytes
				? NULL
				: hawk_target_mapping_at(near->target, pointer);

		if (to && hawk_is_anonymous(near->target, to) &&
		    to->end - pointer >= (UINT64_C(8) << shape_of(wide).bits) &&
		    find_root(near, budget, wide, words.at, pointer, &root) && root >= in->start &&
		    root <= in->end - root_bytes && !is_known(jemalloc, root))
			err = try_root(jemalloc, near, budget,
				       (struct hawk_jemalloc_root){root, wide});
	}
	return err;
}

struct hawk_error *hawk_jemalloc_find_roots(struct hawk_jemalloc *jemalloc)
{
	struct hawk_near near = {.target = jemalloc->heap.target};
	uint64_t budget = hawk_budget_to_search;
	struct hawk_error *err = search(jemalloc, &near, &budget, false);

	return err ? err : search(jemalloc, &near, &budget, true);
}

/** A walk over a tree. */
struct walk {
	struct hawk_near *near;
	uint64_t *budget;
	struct hawk_claims *metadata;
	hawk_jemalloc_element_function *take;
	void *context;
	bool wide;
	bool ended;
};

static struct hawk_error *each_of_leaf(struct walk *walk, uint64_t leaf, uint64_t first_page)
{
	struct shape shape = shape_of(walk->wide);
	uint64_t at = leaf, end = leaf + leaf_bytes(walk->wide), word;

	if (walk->metadata && hawk_claims_add(walk->metadata, leaf, end))
		return &hawk_enomem;
	while (!walk->ended && hawk_next_word(walk->near, &at, end, &word)) {
		uint64_t number = (at - leaf) >> shape.element_log2;
		struct hawk_jemalloc_element element = {
			.page = first_page + (number << PAGE_LOG2),
			.extent = word & extent_mask,
			.size_class = (uint32_t)(word >> CLASS_SHIFT),
			.slab = word & 1,
		};

		if (walk->wide) {
			uint64_t bits = 0;

			at = leaf + (number << shape.element_log2);
			if (!hawk_word(walk->near, at, &word) ||
			    !hawk_word(walk->near, at + 8, &bits))
				break;
			element.extent = word & extent_mask;
			element.size_class = (uint32_t)bits >> WIDE_CLASS_SHIFT;
			element.slab = bits & 1;
		}
		at += UINT64_C(1) << shape.element_log2;
		if (element.extent)
			walk->ended = !walk->take(walk->context, &element);
	}
	walk->ended |= !hawk_charge(walk->budget, at - leaf);
	return NULL;
}

static struct hawk_error *each_of_node(struct walk *walk, uint64_t node, uint64_t first_page,
				       unsigned bits, unsigned levels)
{
	uint64_t at = node, end = node + (UINT64_C(8) << bits), next;
	struct hawk_error *err = NULL;

	for (; !err && !walk->ended && hawk_next_word(walk->near, &at, end, &next); at += 8) {
		uint64_t page = first_page + ((at - node) / 8
					      << (PAGE_LOG2 + levels * shape_of(walk->wide).bits));

		if (next % EXTENT_ALIGNMENT)
			continue;
		err = levels > 1 ? each_of_node(walk, next, page, shape_of(walk->wide).bits,
						levels - 1)
				 : each_of_leaf(walk, next, page);
	}
	walk->ended |= !hawk_charge(walk->budget, at - node);
	return err;
}

struct hawk_error *hawk_jemalloc_each(const struct hawk_jemalloc_root *root, struct hawk_near *near,
				      uint64_t *budget, struct hawk_claims *metadata,
				      hawk_jemalloc_element_function *take, void *context)
{
	struct walk walk = {.near = near,
			    .budget = budget,
			    .metadata = metadata,
			    .take = take,
			    .context = context,
			    .wide = root->wide};

	return each_of_node(&walk, root->address, 0, shape_of(root->wide).root_bits,
			    root->wide ? 2 : 1);
}
