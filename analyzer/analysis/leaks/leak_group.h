/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks that one definitely lost block, the leader, leads to, and the pointers among them.
 * Blocks are known by their places in the order of a breadth-first search; the leader has place 0.
 * Pointers of a block to itself are left out. Private to analysis/leaks/.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_LEAK_GROUP_H
#define HAWK_ANALYZER_ANALYSIS_LEAK_GROUP_H

#include "hawk/analysis/leaks.h"

enum { HAWK_LEAK_GROUP_AREAS = 8 };

struct hawk_leak_group {
	const struct hawk_graph *graph;
	const struct hawk_reach *reach;
	uint32_t *order;  /**< block by place */
	uint32_t *places; /**< place by block; left from an earlier group if `order` differs */
	uint32_t count;   /**< places */
	struct hawk_chosen lost; /**< all of them */
	bool has_cycle;          /**< a pointer from another block leads to the leader */
	bool has_self;           /**< the leader points to its own first byte */
	uint64_t *met;           /**< a bit for each block of this or an earlier group */
	/* Set by hawk_leak_group_close(): */
	uint32_t *first;   /**< sources of place p: sources[first[p]] .. sources[first[p + 1] - 1]
			    */
	uint32_t *sources; /**< places */
	uint8_t *in_cycle; /**< 1 = leads back to the leader */
	uint32_t *queue;   /**< scratch of searches: places */
	uint32_t *from;    /**< likewise, by place */
	uint32_t *counts;  /**< likewise */
	struct hawk_area areas[HAWK_LEAK_GROUP_AREAS];
	size_t area_count;
};

/** Reserves memory for all lost blocks. Deinitialize also after an error. */
struct hawk_error *hawk_leak_group_init(const struct hawk_graph *graph,
					const struct hawk_reach *reach,
					struct hawk_leak_group *ret);
void hawk_leak_group_deinit(struct hawk_leak_group *group);

/** Fills the group of `leader`: only blocks that no earlier group has. Those cannot lead to this
 * leader, because nothing outside of its cycle does. */
void hawk_leak_group_fill(struct hawk_leak_group *group, uint32_t leader);

/** Finds the blocks that lead back to the leader: with it, they are one strongly connected
 * component. */
void hawk_leak_group_close(struct hawk_leak_group *group);

/** Finds a shortest cycle through place `head` of the component. Writes its places backwards, from
 * the last one to `head`, to group->queue; returns their number. Uses up `in_cycle`. */
uint32_t hawk_leak_group_way(struct hawk_leak_group *group, uint32_t head);

/** Returns the blocks that are freed, with the last pointer to each, if the pointers from place
 * `from` to place `to` are removed. */
struct hawk_chosen hawk_leak_group_cut(struct hawk_leak_group *group, uint32_t from, uint32_t to);

#endif
