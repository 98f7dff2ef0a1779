/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Live blocks whose stacks cannot be read, and the finding about them. Used by hawk_heap_load() and
 * by sweeps of a heap with only its table loaded.
 */
#ifndef HAWK_ANALYZER_HEAP_LOST_H
#define HAWK_ANALYZER_HEAP_LOST_H

#include "hawk/heap/heap.h"

/** All zeros but the heap at first. */
struct hawk_heap_lost {
	const struct hawk_heap *heap;
	bool latest[HAWK_BLOCK_DEPTH_MAX + 1]; /**< whether the latest block of each depth is one */
	uint64_t objects;
	uint64_t bytes; /**< requested; without what was carved out of them */
};

/** Blocks of a sweep in its order. */
void hawk_heap_lost_take(struct hawk_heap_lost *lost, const struct hawk_block *blocks,
			 size_t count);

/** Adds the finding "stack-lost", if there are `objects`; `bytes` as above. */
void hawk_heap_lost_report(const struct hawk_heap *heap, uint64_t objects, uint64_t bytes,
			   struct hawk_findings *findings);

#endif
