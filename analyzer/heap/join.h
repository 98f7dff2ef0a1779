/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Joins the blocks of all sources to one ascending stream with the heap's own numbers. Internal to
 * heap/.
 *
 * If a block lies in a block of another source, the inner one stays and the outer one is dropped.
 * If blocks overlap otherwise or cannot be indexed, the later one is dropped as damage.
 */
#ifndef HAWK_ANALYZER_HEAP_JOIN_H
#define HAWK_ANALYZER_HEAP_JOIN_H

#include "hawk/base/progress.h"
#include "hawk/heap/heap.h"

struct hawk_join {
	const struct hawk_heap *heap;
	struct hawk_damages *damages;
	struct hawk_heap_walk walks[HAWK_HEAP_SOURCES_MAX];
	/** The next blocks of each walk. */
	struct {
		const struct hawk_block *blocks;
		size_t count;
		bool ended;
	} views[HAWK_HEAP_SOURCES_MAX];
	struct hawk_block pending; /**< holds no block of another source so far */
	unsigned pending_source;
	bool has_pending;
	uint64_t start, end; /**< of the last block that was given out */
	struct hawk_block *out;
	struct hawk_progress progress;
};

/** Begins a join. End it only after success; `heap` and `damages` must outlive it. */
struct hawk_error *hawk_join_begin(const struct hawk_heap *heap, unsigned threads,
				   struct hawk_damages *damages, struct hawk_join *ret);

/** Gives the next blocks, valid until the next call. `*count` is 0 at the end. */
struct hawk_error *hawk_join_next(struct hawk_join *join, const struct hawk_block **ret,
				  size_t *count);

/** Adds the walks' counts to the sums of `heap`, and its allocators. */
void hawk_join_end(struct hawk_join *join, struct hawk_heap *heap);

#endif
