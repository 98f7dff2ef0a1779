/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who points at a block: roots and other blocks, with the place of every pointer. Parts of a carved
 * block are that block.
 *
 * The graph says which blocks; where in them is read again from the target, so that it costs
 * nothing while nobody asks. One pass over the edges answers for one block: about 1 ns an edge.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_REFERRERS_H
#define HAWK_ANALYZER_ANALYSIS_REFERRERS_H

#include "hawk/graph/dominators.h"

/** The contents of a living process that runs on are not known. */
static const uint64_t HAWK_OFFSET_UNKNOWN = UINT64_MAX;

/** One pointer to the block. */
struct hawk_referrer {
	uint32_t source; /**< a block, or an index into the graph's roots */
	uint32_t target; /**< the block pointed to */
	bool root;
	bool interior;   /**< it does not point to the block's first byte */
	uint64_t offset; /**< of the pointer in the source block; of roots 0 */
	uint64_t inside; /**< where it points to, from the block's start; or HAWK_OFFSET_UNKNOWN */
};

/** Roots in their order, then blocks ascending, then offsets ascending. */
struct hawk_referrers {
	struct hawk_referrer *items;
	size_t count;
	size_t capacity;
};

/** `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_referrers_find(const struct hawk_graph *graph, uint32_t block,
				       struct hawk_referrers *ret);

void hawk_referrers_deinit(struct hawk_referrers *referrers);

/** Appends the pointers of block `source` (or of this one part of a carved block) to block `to`
 * (HAWK_BLOCK_NOWHERE: to any), by offset. `target` of each is set. */
struct hawk_error *hawk_referrers_add(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				      struct hawk_referrers *list);

/**
 * The first pointer from block `from` to block `to`; a start pointer, if there is one. False if its
 * place cannot be read; then only `interior` of `*ret` is right.
 */
bool hawk_referrer_between(const struct hawk_graph *graph, uint32_t from, uint32_t to,
			   struct hawk_referrer *ret);

#endif
