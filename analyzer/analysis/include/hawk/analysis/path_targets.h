/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks whose paths are shown: the largest and oldest that a filter chooses, and the number of
 * chosen blocks that no root leads to.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_PATH_TARGETS_H
#define HAWK_ANALYZER_ANALYSIS_PATH_TARGETS_H

#include "hawk/analysis/block_filter.h"
#include "hawk/analysis/block_order.h"
#include "hawk/analysis/paths.h"

/** The blocks that the filter chooses, for their paths. */
struct hawk_path_targets {
	struct hawk_ranking shown; /**< struct hawk_numbered_block, in hawk_block_order() */
	struct hawk_chosen all;
	struct hawk_chosen unreached; /**< of them: no root leads there */
};

/** `paths` lead to all blocks; the first `most` that `filter` chooses are shown. Deinitialize
 * `*ret` in any case. */
struct hawk_error *hawk_path_targets_choose(const struct hawk_heap *heap,
					    const struct hawk_paths *paths,
					    const struct hawk_block_filter *filter, size_t most,
					    struct hawk_path_targets *ret);
void hawk_path_targets_deinit(struct hawk_path_targets *targets);

#endif
