/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who keeps whom alive: the dominator tree of all blocks, and retained sizes. A block's dominators
 * are those through which every path to it goes; what it retains is what would go with it.
 *
 * Paths begin at a virtual root that points to everything that a root points to, and to the leader
 * of every leak, so that leaked structures have retained sizes too. Blocks have numbers here: 1 ..
 * `count` in the order in which a depth-first search meets them, 0 is the virtual root; a
 * dominator's number is always smaller. Lengauer and Tarjan's algorithm with path compression:
 * O(edges log blocks) whatever the shape of the heap, and no recursion.
 */
#ifndef HAWK_DOMINATORS_H
#define HAWK_DOMINATORS_H

#include "hawk_reach.h"

enum {
	HAWK_STRETCHES_MAX = 8,
	HAWK_DOMINATORS_LANE_FREE = 3, /**< of the workspace: nothing is there between calls */
};

/**
 * Stretches of numbers that share no path but from the virtual root: a thread can work on each.
 * Stretch i is first[i] .. first[i + 1] - 1.
 */
struct hawk_dominators_stretches {
	unsigned count;
	uint32_t first[HAWK_STRETCHES_MAX + 1];
};

struct hawk_dominators {
	uint32_t count; /**< numbers 1 .. count: all blocks */
	/* By number; in the workspace, and valid until that is used again. */
	uint32_t *blocks;     /**< of 1 .. count */
	uint32_t *dominators; /**< immediate ones, of 1 .. count; 0 = the virtual root */
	uint64_t *retained;   /**< requested bytes; of 0: all */
	uint32_t *sizes;   /**< blocks in the subtree, the block itself included; of 0: all + 1 */
	uint32_t *numbers; /**< by block; NULL before hawk_dominators_number_blocks() */
	struct hawk_dominators_stretches stretches; /**< no dominator lies in another stretch */
	const struct hawk_workspace *workspace;
	uint64_t scratch_bytes; /**< of memory that was used beside the workspace */
};

/** `reach` says which edges count. The workspace's contents are lost. */
struct hawk_error *
hawk_dominators_make(const struct hawk_block_index *index, const struct hawk_graph *graph,
		     const struct hawk_roots *roots, const struct hawk_reach *reach,
		     struct hawk_workspace *workspace, struct hawk_dominators *ret);

/** Accepts dominators of zeros; what lies in the workspace is the caller's. */
void hawk_dominators_deinit(struct hawk_dominators *dominators);

/** By what retained bytes are added up: `group_of_trace` has `trace_count` + 1 entries, the last
 * one for all larger trace ids; NULL = the trace id itself, of which then none is larger than
 * `trace_count`. A group is checked, and counts if it is below `group_count`. Blocks without their
 * bit in `chosen` (block / 64, block % 64) are of none; NULL = all have it. */
struct hawk_dominators_groups {
	const uint32_t *group_of_trace;
	uint32_t trace_count;
	uint32_t group_count;
	const uint64_t *chosen;
};

/**
 * Adds up retained bytes by group: of blocks whose dominators belong to the same group only the
 * topmost count, so no byte counts twice for a group. `ret`, by group, is added to.
 */
struct hawk_error *hawk_dominators_retained_by_group(const struct hawk_dominators *dominators,
						     const struct hawk_block_index *index,
						     const struct hawk_dominators_groups *groups,
						     uint64_t *ret);

/** Fills `numbers`; to be called after the last hawk_dominators_retained_by_group(), whose scratch
 * they take. */
void hawk_dominators_number_blocks(struct hawk_dominators *dominators);

#endif
