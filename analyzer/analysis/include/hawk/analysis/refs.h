/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointers to one block: roots one by one; pointers in blocks grouped by the site of the block
 * and the offset in it, because a thousand blocks that point here from the same field are one fact.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_REFS_H
#define HAWK_ANALYZER_ANALYSIS_REFS_H

#include "hawk/analysis/referrers.h"
#include "hawk/analysis/selection.h"
#include "hawk/analysis/site_graph.h"

struct hawk_refs_group {
	uint32_t site;
	uint64_t offset; /**< or HAWK_SITE_ANYWHERE, HAWK_OFFSET_UNKNOWN */
	uint64_t pointers;
	uint64_t interior;
	uint32_t example; /**< the lowest block */
};

struct hawk_refs {
	uint64_t address;
	uint32_t block;                 /**< contains it */
	struct hawk_referrers list;     /**< roots, then blocks by site, offset and number */
	size_t root_count;              /**< at the head of the list */
	struct hawk_refs_group *groups; /**< most pointers first */
	size_t group_count;
};

/** Finds the roots that point to the block at `address`, and of blocks those in `chosen` (bits;
 * NULL = all). Fails as hawk_heap_find_block() does. Deinitialize `*ret` in any case. */
struct hawk_error *hawk_refs_find(const struct hawk_graph *graph, const uint64_t *chosen,
				  uint64_t address, struct hawk_refs *ret);
void hawk_refs_deinit(struct hawk_refs *refs);

#endif
