/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the extent of heaps around blocks of a source that does not know it: the tracer's. The
 * kernel joins adjacent anonymous mappings, so a mapping with blocks may hold other memory.
 * Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_HEAPS_H
#define HAWK_ANALYZER_HEAP_HEAPS_H

#include "hawk/heap/heap.h"

/** A walk over the heaps that hold blocks. Starts as zeros but for `heap`. */
struct hawk_heaps_walk {
	const struct hawk_heap *heap;
	uint64_t end;    /**< end of the last one */
	uint64_t start;  /**< start of the current one */
	uint64_t block;  /**< its first block */
	bool is_claimed; /**< a source has claimed it */
	bool is_chunk;   /**< glibc's words describe it */
	struct hawk_heap_spans found;
};

/** Takes the heap's next blocks, and finds a span for each heap that holds some and that no source
 * has claimed. The heap is the chunk or the arena that glibc's words before a block describe, else
 * the rest of its mapping. */
struct hawk_error *hawk_heaps_take(struct hawk_heaps_walk *walk, const struct hawk_block *blocks,
				   size_t count);

/** Adds the spans that were found to `heap`, and ends the walk. */
struct hawk_error *hawk_heaps_add(struct hawk_heaps_walk *walk, struct hawk_heap *heap);
void hawk_heaps_end(struct hawk_heaps_walk *walk);

/** Makes the heaps of blocks with headers unsound: some of their live blocks were not found, and
 * their places are unknown. */
void hawk_heap_distrust(struct hawk_heap *heap);

/** Gives the words by which hawk_heaps_take() finds the same heaps. */
struct hawk_error *hawk_heap_keep_heaps(const struct hawk_heap *heap, hawk_keep_function *take,
					void *context);

#endif
