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

struct hawk_path_targets {
	uint32_t *blocks; /**< shown */
	size_t count;
	struct hawk_chosen all;       /**< that the filter chooses */
	struct hawk_chosen unreached; /**< of them: no root leads there */
};

/** Shows the first `most` blocks that `filter` chooses, in hawk_block_order(). `paths` lead to all
 * blocks. Deinitialize `*ret` in any case. */
struct hawk_error *hawk_path_targets_choose(const struct hawk_heap *heap,
					    const struct hawk_paths *paths,
					    const struct hawk_block_filter *filter, size_t most,
					    struct hawk_path_targets *ret);
void hawk_path_targets_deinit(struct hawk_path_targets *targets);

#endif
