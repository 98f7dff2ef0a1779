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

/** What hawk_dominators_extend() must know of the dominators by start pointers. */
struct hawk_dominators_base {
	bool extendable;
	/** Blocks numbered from here on are *apart*: only leaders that there are not by all
	 * pointers lead to them. `count` + 1 = none is. */
	uint32_t apart;
	/** Blocks that pointers from those apart hung under the virtual root, in the order in
	 * which that was done, and their dominators before. */
	struct hawk_dominators_move {
		uint32_t number;
		uint32_t dominator;
	} * moves;
	size_t move_count;
};

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
	struct hawk_dominators_base base;
	struct hawk_interior interior; /**< zeros, or those of the graph, to be extended by */
};

/**
 * `reach` says which edges count. `all`: NULL, or reach by all pointers, if `reach` goes by start
 * pointers and hawk_dominators_extend() will be called. The workspace's contents are lost.
 */
struct hawk_error *
hawk_dominators_make(const struct hawk_block_index *index, const struct hawk_graph *graph,
		     const struct hawk_roots *roots, const struct hawk_reach *reach,
		     const struct hawk_reach *all, struct hawk_workspace *workspace,
		     struct hawk_dominators *ret);

/**
 * Reach and dominators in one, in much less time: `all` as hawk_reach_make_explained(), and the
 * dominators by start pointers, which can be extended.
 */
struct hawk_error *hawk_dominators_make_reaching(
	const struct hawk_block_index *index, const struct hawk_graph *graph,
	const struct hawk_roots *roots, const struct hawk_explained *explained,
	struct hawk_workspace *workspace, struct hawk_reach *all, struct hawk_dominators *ret);

/** For dominators that come from elsewhere: sets `stretches`, about as many as `threads`. */
void hawk_dominators_cut_again(struct hawk_dominators *dominators, unsigned threads);

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

enum hawk_dominators_extension {
	HAWK_DOMINATORS_SAME,      /**< nothing changes; `numbers` are filled */
	HAWK_DOMINATORS_REGROUPED, /**< now they are those by all pointers, and so are the sums;
				      `numbers` are filled */
	HAWK_DOMINATORS_EXTENDED,  /**< now they are those by all pointers, but the sums are of no
				      use */
	HAWK_DOMINATORS_OTHER,     /**< too much would change: both are of no more use */
};

/**
 * Makes of the dominators by start pointers those by all pointers, where that is done in less time
 * than finding them. `all` as they were made with. To be called after
 * hawk_dominators_retained_by_group(), once; `sums` are what that found.
 */
enum hawk_dominators_extension
hawk_dominators_extend(struct hawk_dominators *dominators, const struct hawk_block_index *index,
		       const struct hawk_graph *graph, const struct hawk_roots *roots,
		       const struct hawk_reach *all, const struct hawk_dominators_groups *groups,
		       uint64_t *sums);

/** Fills `numbers`; to be called after the last hawk_dominators_retained_by_group(), whose scratch
 * they take. */
void hawk_dominators_number_blocks(struct hawk_dominators *dominators);

#endif
