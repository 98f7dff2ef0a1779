/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which blocks the roots reach, and the leak kinds of the rest, as Valgrind defines them; one byte
 * per block.
 *
 * Reachable: over a chain of start pointers from a root. Possibly: over a chain with an interior
 * pointer in it. Of the others, one block of every group that nothing outside the group leads to (a
 * strongly connected component without predecessors: mostly a single block, else a cycle) is
 * definitely lost: the leader, which is the group's lowest. All that is left is lost indirectly,
 * through one of them. Exact, and independent of any order of visiting.
 */
#ifndef HAWK_ANALYZER_GRAPH_REACH_H
#define HAWK_ANALYZER_GRAPH_REACH_H

#include "hawk/graph/graph.h"

enum hawk_reach_kind {
	HAWK_REACH_REACHABLE = 1,
	HAWK_REACH_POSSIBLY = 2,
	HAWK_REACH_DEFINITELY_LOST = 3,
	HAWK_REACH_INDIRECTLY_LOST = 4,
	HAWK_REACH_KINDS
};

struct hawk_reach {
	bool ends;      /**< pointers one past the end were followed */
	uint8_t *kinds; /**< enum hawk_reach_kind by block */
	struct hawk_area area;
	struct hawk_reach_sum {
		uint64_t objects;
		uint64_t bytes; /**< requested */
	} sums[HAWK_REACH_KINDS];
};

/** Returns what is lost, by sums of kinds: definitely and indirectly. Every verb means that. */
static inline struct hawk_reach_sum
hawk_reach_lost(const struct hawk_reach_sum sums[HAWK_REACH_KINDS])
{
	const struct hawk_reach_sum *definitely = &sums[HAWK_REACH_DEFINITELY_LOST];
	const struct hawk_reach_sum *indirectly = &sums[HAWK_REACH_INDIRECTLY_LOST];

	return (struct hawk_reach_sum){definitely->objects + indirectly->objects,
				       definitely->bytes + indirectly->bytes};
}

/**
 * The interior pointers in `explained` (NULL = none) count as start pointers; those one past the
 * end count as interior if it says so (NULL = they do). `ret` is to be deinitialized after success
 * only.
 */
struct hawk_error *hawk_reach_make(const struct hawk_graph *graph,
				   const struct hawk_explained *explained, struct hawk_reach *ret);

/** Accepts a result of zeros. */
void hawk_reach_deinit(struct hawk_reach *reach);

#endif
