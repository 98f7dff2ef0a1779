/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The exact retained size of a site: the bytes that freeing all its blocks would free. Sums of
 * dominators are a lower bound: two blocks that share a third do not dominate it.
 *
 * Counts the site's blocks, blocks that roots reach only through them, and lost blocks to which
 * only lost blocks reachable from the site's blocks lead. So other lost blocks keep lost ones, and
 * no reachable ones.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_FREED_H
#define HAWK_ANALYZER_ANALYSIS_SITE_FREED_H

#include "hawk/graph/graph.h"

/**
 * Fills `ret` with requested bytes for each of `sites`, which differ. `chosen` (a bit for each
 * block; NULL = all) limits the sites' own blocks. Each 25 sites cost one flood over all pointers.
 * Uses 4 bytes per block, 4 per lost block, and 4 per block queued in the flood.
 */
struct hawk_error *hawk_site_freed(const struct hawk_graph *graph, const uint64_t *chosen,
				   const uint32_t *sites, size_t count, uint64_t *ret);

#endif
