/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The exact retained size of a site: what freeing all of its blocks would free. The sums that are
 * made from dominators are a lower bound, because neither of two blocks dominates what they hold
 * together.
 *
 * Counts the site's blocks, what roots reach only through them, and lost blocks that only they lead
 * to. A lost block from elsewhere does not keep alive what roots reach.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_FREED_H
#define HAWK_ANALYZER_ANALYSIS_SITE_FREED_H

#include "hawk/graph/reach.h"

/** What a site retains, in requested bytes. The truth lies between the two. */
struct hawk_site_retained {
	uint64_t all_pointers;
	uint64_t start_pointers; /**< with interior pointers ignored */
};

/**
 * Fills `ret` for each of `sites`. `reach` is by all pointers. `chosen` (a bit for each block; NULL
 * = all) limits the site's own blocks. Each size costs two floods over what the site leads to and
 * one pass over all pointers; each thread takes 3 bits per block, and 4 bytes per block that waits
 * in a flood.
 */
struct hawk_error *hawk_site_freed(const struct hawk_graph *graph, const struct hawk_reach *reach,
				   const uint64_t *chosen, const uint32_t *sites, size_t count,
				   struct hawk_site_retained *ret);

#endif
