/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The structures of jemalloc 5.2 and 5.3 in memory. All are found by their shape; no symbol and no
 * file is needed. Private to heap/jemalloc/.
 *
 *     rtree:   root in .bss -> (node ->) leaf: a page's number -> its extent, size class, slab?
 *     extent:  | bits: state, size class, free count | address | bytes | ... | bitmap: 1 = free |
 *     cache:   bins in thread-local storage, each with a stack of free objects
 */
#ifndef HAWK_ANALYZER_HEAP_JEMALLOC_JEMALLOC_H
#define HAWK_ANALYZER_HEAP_JEMALLOC_JEMALLOC_H

#include "slabs.h"

/** A version's layout: bits of the first word of an extent, and the form of the tree. */
struct hawk_jemalloc_layout {
	const char *version;
	uint8_t state_shift;
	uint8_t state_bits;
	uint8_t class_shift;
	uint8_t free_shift;
};

/** The tree of one jemalloc; a process may have several. */
struct hawk_jemalloc_root {
	uint64_t address;
	bool wide; /**< of three levels, built for addresses of 57 bits */
};

struct hawk_jemalloc {
	struct hawk_slab_heap heap;
	struct hawk_jemalloc_root *roots;
	size_t root_count, root_capacity;
	const struct hawk_jemalloc_layout *layout; /**< of the current root */
	struct hawk_claims bases;                /**< parts of metadata that begin with an arena */
	uint64_t dirty_decay_ms, muzzy_decay_ms; /**< of one of them; UINT64_MAX = never */
};

/** Stages, in this order. */
struct hawk_error *hawk_jemalloc_find_roots(struct hawk_jemalloc *jemalloc);
struct hawk_error *hawk_jemalloc_read_extents(struct hawk_jemalloc *jemalloc,
					      const struct hawk_jemalloc_root *root);
struct hawk_error *hawk_jemalloc_finish_extents(struct hawk_jemalloc *jemalloc);
struct hawk_error *hawk_jemalloc_read_caches(struct hawk_jemalloc *jemalloc);

/** Adds the base if it begins with an arena, and reads its settings. */
struct hawk_error *hawk_jemalloc_read_decay(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
					    const struct hawk_claim *base);
void hawk_jemalloc_describe(const void *state, struct hawk_allocator *ret);

/** An element of a leaf, and its page. */
struct hawk_jemalloc_element {
	uint64_t page;   /**< address */
	uint64_t extent; /**< address of its description */
	uint32_t size_class;
	bool slab;
};

/** Called for each element; returning false ends the tree. */
typedef bool hawk_jemalloc_element_function(void *context,
					    const struct hawk_jemalloc_element *element);

/** Gives all elements that are not empty, ascending, until `*budget` is spent. `metadata` takes
 * the tree's memory; may be NULL. */
struct hawk_error *hawk_jemalloc_each(const struct hawk_jemalloc_root *root, struct hawk_near *near,
				      uint64_t *budget, struct hawk_claims *metadata,
				      hawk_jemalloc_element_function *take, void *context);

#endif
