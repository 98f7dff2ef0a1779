/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loss records of all blocks and kinds, kept with the graph and in the index cache: with all
 * heuristics, as hawk_leaks_make() finds them. Who asks for leaks without a filter of blocks needs
 * neither pointers nor kinds of blocks, but the roots, which records name.
 */
#ifndef HAWK_KEPT_LEAKS_H
#define HAWK_KEPT_LEAKS_H

#include "hawk_leaks.h"

/** More of them are not kept: they are no summary any more. */
enum { HAWK_KEPT_LEAKS_MAX = 1 << 18 };

/** As in struct hawk_leaks. */
struct hawk_kept_sums {
	struct hawk_reach_sum sums[HAWK_REACH_KINDS];
	struct hawk_reach_sum downgrade;
	uint64_t heuristics[HAWK_HEURISTIC_COUNT];
};

struct hawk_kept_leaks {
	struct hawk_kept_sums sums;
	const struct hawk_leak_record *records; /**< in the order of struct hawk_leaks */
	size_t count;
	struct hawk_leak_record *owned; /**< NULL = records lie in memory of somebody else */
};

/** Fills `leaks` of the graph, if it is not there, with what it depends on, unless there are too
 * many records or a living process cannot be read any more.
 * As long as it is at work it takes 6 bytes a block. */
struct hawk_error *hawk_kept_leaks_need(struct hawk_block_graph *graph);

/**
 * As hawk_leaks_make() from the graph's `leaks`, which are there: of all blocks, or of those of the
 * sites that have their bit in `sites`. Not of some sites where there is a doubt
 * (hawk_leaks_doubt()): nobody knows how many of their blocks are only called possibly lost.
 */
struct hawk_error *hawk_kept_leaks_take(struct hawk_block_graph *graph, unsigned kinds,
					const uint64_t *sites, struct hawk_leaks *ret);

/** Accepts NULL. */
void hawk_kept_leaks_destroy(struct hawk_kept_leaks *kept);

#endif
