/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks whose paths are shown: those at given addresses, or the largest and oldest that a
 * filter chooses; and the number of blocks that no root leads to.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_PATH_TARGETS_H
#define HAWK_ANALYZER_ANALYSIS_PATH_TARGETS_H

#include "hawk/analysis/block_filter.h"
#include "hawk/analysis/paths.h"
#include "hawk/analysis/referrers.h"

struct hawk_path_targets {
	uint32_t *blocks; /**< shown */
	size_t count;
	struct hawk_chosen all;       /**< that the filter chooses */
	struct hawk_chosen unreached; /**< of them: no root leads there */
	/** For each block the first other one that points at it; NULL: all are reached. */
	uint32_t *holders;
};

enum { HAWK_LOST_STEPS = 4 };

/** The way from a block that no root reaches back to the block that lost it, or round a cycle. */
struct hawk_lost_way {
	struct hawk_referrer steps[HAWK_LOST_STEPS]; /**< the first one points at the block */
	uint32_t count;
	/** The step whose source the last step's source is held by, too, plus 1; 0: the block. */
	uint32_t cycle;
	bool is_cycle;
	bool is_cut; /**< further blocks hold the last one */
};

/** Shows the first `most` blocks that `filter` chooses, in hawk_block_order(). `paths` lead to all
 * blocks. Deinitialize `*ret` in any case. */
struct hawk_error *hawk_path_targets_choose(const struct hawk_heap *heap,
					    const struct hawk_paths *paths,
					    const struct hawk_block_filter *filter, size_t most,
					    struct hawk_path_targets *ret);

/** Finds the holders if a target is not reached. */
struct hawk_error *hawk_path_targets_find_holders(const struct hawk_graph *graph,
						  struct hawk_path_targets *targets);

struct hawk_lost_way hawk_lost_way_of(const struct hawk_graph *graph,
				      const struct hawk_path_targets *targets, uint32_t block);

void hawk_path_targets_deinit(struct hawk_path_targets *targets);

#endif
