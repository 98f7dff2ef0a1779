/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What would be freed with all blocks of a site, exactly. The sums of hawk_site_retained are a
 * lower bound: what two blocks of the site hold together, none of them dominates.
 *
 * Freed are the site's blocks, what roots reach through these alone, and what is lost and only
 * these lead to. A lost block keeps nothing alive that roots reach without it.
 */
#ifndef HAWK_SITE_FREED_H
#define HAWK_SITE_FREED_H

#include "hawk_block_graph.h"

/**
 * Fills `ret` for each of `sites`, both ways; by those of their blocks alone that have their bit in
 * `chosen` (of a hawk_block_choice; NULL = all). Needs HAWK_PART_REACH. For each site and way two
 * floods over what its blocks lead to, and one pass over all pointers; and, on each thread, memory
 * for 3 bits per block and 4 bytes for each that waits in a flood.
 */
struct hawk_error *hawk_site_freed(const struct hawk_block_graph *graph, const uint64_t *chosen,
				   const uint32_t *sites, size_t count,
				   struct hawk_site_retained *ret);

#endif
