/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The exact retained size of a site: the bytes that freeing all its blocks would free. Sums of
 * dominators are a lower bound: two blocks that share a third do not dominate it.
 *
 * Counts the site's blocks, blocks that roots reach only through them, and lost blocks that they
 * lead to and no lost block does to which they do not lead. So other lost blocks keep lost ones,
 * and no reachable ones.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_FREED_H
#define HAWK_ANALYZER_ANALYSIS_SITE_FREED_H

#include "hawk/graph/reach.h"

/** Requested bytes that a site retains. The truth lies between the two. */
struct hawk_site_retained {
	uint64_t all_pointers;
	uint64_t start_pointers; /**< ignoring interior pointers */
};

/**
 * Fills `ret` for each of `sites`. `reach` is by all pointers. `chosen` (a bit for each block; NULL
 * = all) limits the site's own blocks. Each size costs two floods from the site and one pass over
 * all pointers. Each thread uses 3 bits per block, plus 4 bytes per block queued in a flood.
 */
struct hawk_error *hawk_site_freed(const struct hawk_graph *graph, const struct hawk_reach *reach,
				   const uint64_t *chosen, const uint32_t *sites, size_t count,
				   struct hawk_site_retained *ret);

#endif
