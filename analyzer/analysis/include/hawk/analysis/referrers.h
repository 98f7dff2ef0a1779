/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointers to a block: from roots and blocks, each with its place. Parts of a carved block
 * count as that block.
 *
 * The graph knows the blocks only; offsets are read from the target on demand. A query takes one
 * pass over the edges: about 1 ns an edge.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_REFERRERS_H
#define HAWK_ANALYZER_ANALYSIS_REFERRERS_H

#include "hawk/graph/dominators.h"

/** Unknown because the live process has been resumed. */
static const uint64_t HAWK_OFFSET_UNKNOWN = UINT64_MAX;

/** One pointer to the block. */
struct hawk_referrer {
	uint32_t source; /**< a block, or an index into the graph's roots */
	uint32_t target; /**< the block pointed to */
	bool root;
	bool interior;   /**< not to the block's first byte */
	uint64_t offset; /**< of the pointer in the source block; 0 for roots */
	uint64_t inside; /**< its destination, from the block's start; or HAWK_OFFSET_UNKNOWN */
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

/** Appends the pointers from block `source` (or that part of a carved block) to block `to`
 * (HAWK_BLOCK_NOWHERE: any), by offset. Sets `target` of each. */
struct hawk_error *hawk_referrers_add(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				      struct hawk_referrers *list);

/**
 * Finds the first pointer from block `from` to block `to`, a start pointer if one exists. Returns
 * false if its place cannot be read; then only `interior` of `*ret` is valid.
 */
bool hawk_referrer_between(const struct hawk_graph *graph, uint32_t from, uint32_t to,
			   struct hawk_referrer *ret);

#endif
