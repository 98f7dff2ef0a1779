/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds memory outside the heap in mappings with blocks during a walk: a garbage collector's pages,
 * say, that the kernel merged with an allocator's. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_OUTSIDE_H
#define HAWK_ANALYZER_HEAP_OUTSIDE_H

#include "hawk/heap/source.h"

/** All zeros but source and target at first. */
struct hawk_heap_outside {
	const struct hawk_heap_source *source;
	const struct hawk_target *target;
	struct hawk_spans spans; /**< ascending, disjoint, each in one mapping; to be freed */
	size_t capacity;
	uint64_t covered;     /**< blocks that begin below lie in heaps that are known */
	uint64_t at;          /**< end of the last of those */
	uint64_t mapping_end; /**< of its mapping */
};

/** Takes blocks in ascending order, in any number of calls; most calls cost one comparison. */
struct hawk_error *hawk_heap_outside_take(struct hawk_heap_outside *outside,
					  const struct hawk_block *blocks, size_t count);

/** Behind the last block. */
struct hawk_error *hawk_heap_outside_finish(struct hawk_heap_outside *outside);

#endif
