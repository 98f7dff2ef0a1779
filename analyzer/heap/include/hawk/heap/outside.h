/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory outside the heap in mappings with blocks, found during a sweep: a garbage collector's
 * pages, say, that the kernel merged with an allocator's.
 */
#ifndef HAWK_ANALYZER_HEAP_OUTSIDE_H
#define HAWK_ANALYZER_HEAP_OUTSIDE_H

#include "hawk/heap/source.h"

/** All zeros but the target at first. */
struct hawk_heap_outside {
	const struct hawk_target *target;
	struct hawk_span *spans; /**< ascending, disjoint, each in one mapping */
	size_t count;
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

/** Accepts one of zeros. */
void hawk_heap_outside_deinit(struct hawk_heap_outside *outside);

#endif
