/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which ranges of memory hold roots, and whose they are; each byte at most once. Internal to
 * graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_RANGES_H
#define HAWK_ANALYZER_GRAPH_ROOTS_RANGES_H

#include "hawk/graph/roots.h"

struct hawk_root_range {
	uint64_t start; /**< a multiple of 8 */
	uint64_t end;
	uint32_t kind; /**< enum hawk_root_kind; HAWK_ROOT_KINDS = nobody's */
	uint32_t owner;
	uint64_t descriptor; /**< of a thread (glibc's struct pthread), if it is in the range; or 0
			      */
	bool in_block;       /**< the range itself is part of a block: a stack on the heap */
};

struct hawk_root_ranges {
	struct hawk_root_range *items; /**< sorted, disjoint */
	size_t count;
	size_t capacity;
	uint64_t threads_without_stack;
	bool stacks_incomplete; /**< as in struct hawk_stacks */
	uint64_t missing_bytes[HAWK_ROOT_KINDS];
	uint64_t heap_missing_bytes;
	uint64_t undumped_bytes; /**< of these, what the program keeps out of cores */
};

/** `*ret` starts as zeros; its items are the caller's to free, also after an error. */
struct hawk_error *hawk_root_ranges_find(const struct hawk_target *target,
					 const struct hawk_block_index *index,
					 const struct hawk_sweep_plan *plan,
					 struct hawk_root_ranges *ret);

#endif
