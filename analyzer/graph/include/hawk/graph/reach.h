/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks that roots reach, and the leak kinds of the rest, as Valgrind defines them; one byte
 * per block.
 *
 * Reachable: over a chain of start pointers from a root. Possibly: over a chain with an interior
 * pointer in it. Among the others, a group that nothing outside leads to is a strongly connected
 * component without predecessors: mostly a single block, else a cycle. Its leader, the lowest
 * block, is definitely lost. All the rest is lost indirectly, through a leader. The result is exact
 * and independent of the order of visiting.
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

/** Returns the sum of definitely and indirectly lost blocks, which every verb calls "lost". */
static inline struct hawk_reach_sum
hawk_reach_lost(const struct hawk_reach_sum sums[HAWK_REACH_KINDS])
{
	const struct hawk_reach_sum *definitely = &sums[HAWK_REACH_DEFINITELY_LOST];
	const struct hawk_reach_sum *indirectly = &sums[HAWK_REACH_INDIRECTLY_LOST];

	return (struct hawk_reach_sum){definitely->objects + indirectly->objects,
				       definitely->bytes + indirectly->bytes};
}

/**
 * Marks all blocks. The interior pointers in `explained` (NULL = none) count as start pointers.
 * Pointers one past the end count as interior if it says so (NULL = they do). Deinitialize `ret`
 * only after success.
 */
struct hawk_error *hawk_reach_make(const struct hawk_graph *graph,
				   const struct hawk_explained *explained, struct hawk_reach *ret);

/** Accepts a result of zeros. */
void hawk_reach_deinit(struct hawk_reach *reach);

#endif
