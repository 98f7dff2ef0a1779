/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks of all sources as one ascending stream with the heap's own numbers. Internal to heap/.
 *
 * Where a block lies in one of another source, the inner one stays and the outer one is left out.
 * Where blocks overlap otherwise, or cannot be indexed, the later one is left out as damage.
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
	struct hawk_block pending; /**< nothing of another source lies in it so far */
	unsigned pending_source;
	bool has_pending;
	uint64_t start, end; /**< of the last block that was given out */
	struct hawk_block *out;
	struct hawk_progress progress;
};

/** To be ended after success only; `heap` and `damages` must outlive it. */
struct hawk_error *hawk_join_begin(const struct hawk_heap *heap, unsigned threads,
				   struct hawk_damages *damages, struct hawk_join *ret);

/** Gives the next blocks, valid until the next call. `*count` 0 = there are no more. */
struct hawk_error *hawk_join_next(struct hawk_join *join, const struct hawk_block **ret,
				  size_t *count);

/** Adds what the walks counted to `sums`. */
void hawk_join_end(struct hawk_join *join, struct hawk_heap_sums *sums);

#endif
