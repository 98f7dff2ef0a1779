/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites and blocks in the order of what they retain: what would be freed with them.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_RETAINED_H
#define HAWK_ANALYZER_ANALYSIS_RETAINED_H

#include "hawk/analysis/block_filter.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/base/ranking.h"
#include "hawk/graph/dominators.h"

/** Sorts by retained bytes, most first, and drops sites without a live block, or without one of
 * `chosen` (by site; NULL = all). `retained` is by site. */
void hawk_retained_sort(const struct hawk_heap *heap, const struct hawk_chosen *chosen,
			const struct hawk_site_retained *retained, struct hawk_site_list *list);

/** Blocks by what they retain, most first. */
struct hawk_retained_block {
	uint32_t block;
	uint64_t bytes; /**< by all pointers */
};
struct hawk_retained_blocks {
	struct hawk_ranking shown; /**< struct hawk_retained_block */
	uint64_t count;            /**< of all that were asked for */
};

/** Ranks the first `most` of the blocks that `filter` lets pass (NULL = all). Deinitialize `*ret`
 * in any case. */
struct hawk_error *hawk_retained_blocks_choose(const struct hawk_heap *heap,
					       const struct hawk_dominators *dominators,
					       const struct hawk_block_filter *filter, size_t most,
					       struct hawk_retained_blocks *ret);
void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks);

#endif
