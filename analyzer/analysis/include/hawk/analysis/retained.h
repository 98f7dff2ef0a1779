/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites and blocks sorted by retained size: the memory that would be freed with them.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_RETAINED_H
#define HAWK_ANALYZER_ANALYSIS_RETAINED_H

#include "hawk/analysis/selection.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_list.h"
#include "hawk/base/ranking.h"
#include "hawk/graph/dominators.h"

/** A site with the retained size of its blocks. */
struct hawk_retained_site {
	uint32_t site;
	bool exact;        /**< `retained` is no lower bound */
	uint64_t retained; /**< requested bytes */
	struct hawk_chosen blocks;
};
struct hawk_retained_sites {
	struct hawk_retained_site *items; /**< most retained first */
	size_t count;
};

/** Ranks the sites of `list` that have blocks in `selection`. `bounds` has their lower bounds, by
 * site; the `exact` first sites, at most 100, get exact sizes. Deinitialize after success only. */
struct hawk_error *hawk_retained_sites_make(const struct hawk_graph *graph,
					    const struct hawk_selection *selection,
					    const struct hawk_site_list *list,
					    const uint64_t *bounds, size_t exact,
					    struct hawk_retained_sites *ret);
void hawk_retained_sites_deinit(struct hawk_retained_sites *sites);

/** A block with its retained size. */
struct hawk_retained_block {
	uint32_t block;
	uint64_t bytes;
};
struct hawk_retained_blocks {
	struct hawk_ranking shown; /**< struct hawk_retained_block */
	uint64_t count;            /**< of all that were asked for */
};

/** Ranks the first `most` blocks of `selection`. Deinitialize `*ret` in any case. */
struct hawk_error *hawk_retained_blocks_choose(const struct hawk_heap *heap,
					       const struct hawk_dominators *dominators,
					       const struct hawk_selection *selection, size_t most,
					       struct hawk_retained_blocks *ret);

void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks);

#endif
