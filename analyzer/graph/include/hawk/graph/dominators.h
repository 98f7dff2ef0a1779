/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The dominator tree of all blocks, and retained sizes. A block's dominators lie on every path to
 * it. A block retains itself and all blocks that it dominates.
 *
 * Paths begin at a virtual root. It points to every block that a root points to and to the leader
 * of every leak, so that leaked structures have retained sizes too. Blocks have numbers here: 1 ..
 * `count` in the order in which a depth-first search meets them, 0 is the virtual root; a
 * dominator's number is always smaller. Lengauer and Tarjan's algorithm with path compression:
 * O(edges log blocks) whatever the shape of the heap, and no recursion.
 */
#ifndef HAWK_ANALYZER_GRAPH_DOMINATORS_H
#define HAWK_ANALYZER_GRAPH_DOMINATORS_H

#include "hawk/graph/reach.h"

enum { HAWK_STRETCHES_MAX = 8 };

/**
 * Stretches of numbers whose paths share only the virtual root, so that a thread can work on each.
 * Stretch i is first[i] .. first[i + 1] - 1.
 */
struct hawk_dominators_ranges {
	unsigned count;
	uint32_t first[HAWK_STRETCHES_MAX + 1];
};

struct hawk_dominators {
	uint32_t count; /**< numbers 1 .. count: all blocks */
	/* By number. */
	uint32_t *blocks;     /**< block numbers of 1 .. count */
	uint32_t *dominators; /**< immediate ones, of 1 .. count; 0 = the virtual root */
	uint64_t *retained;   /**< requested bytes; of 0: all */
	uint32_t *sizes;   /**< blocks in the subtree, the block itself included; of 0: all + 1 */
	uint32_t *numbers; /**< by block */
	struct hawk_dominators_ranges ranges; /**< no dominator lies in another range */
	struct hawk_area area;                /**< all of these arrays: 24 bytes a block */
};

/** Makes the dominators of `graph`; `reach` is of the same graph. Needs 28 bytes a block meanwhile.
 * Deinitialize `ret` only after success. */
struct hawk_error *hawk_dominators_make(const struct hawk_graph *graph,
					const struct hawk_reach *reach,
					struct hawk_dominators *ret);

/** Accepts dominators of zeros. */
void hawk_dominators_deinit(struct hawk_dominators *dominators);

/**
 * Adds up retained bytes by group, for the blocks in `chosen` (a bit for each; NULL = all). A block
 * does not count if a dominator of it belongs to the same group, so no byte counts twice for one.
 * Adds to `ret`, which has an entry for each group.
 */
struct hawk_error *hawk_dominators_retained_by(const struct hawk_dominators *dominators,
					       const struct hawk_block_groups *groups,
					       const uint64_t *chosen, uint64_t *ret);

/** Returns the requested bytes that `block` retains, its own included. */
uint64_t hawk_dominators_retained(const struct hawk_dominators *dominators, uint32_t block);

#endif
