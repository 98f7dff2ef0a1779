/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All blocks in an order in which those that a block dominates come right behind it, each with its
 * node of a tree that is kept (hawk_tree_folds.h): what chosen blocks retain, by steps of the tree
 * or by site, is one pass over it, in the order of memory.
 *
 *     position    0   1   2   3   4   5
 *     block       a   b   c   d   e   f         a dominates b and d, b dominates c
 *     size        4   2   1   1   2   1
 *
 * A step is a node, and a block's bytes where these are few: who adds them up need not look for the
 * block.
 */
#ifndef HAWK_TREE_ORDER_H
#define HAWK_TREE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk_area.h"

struct hawk_block_graph;
struct hawk_block_index;
struct hawk_chosen;
struct hawk_dominators;
struct hawk_error;
struct hawk_tree_fold;

/** Trees with more nodes have no order. */
enum { HAWK_STEP_NODE_BITS_MIN = 20, HAWK_STEP_NODE_BITS_MAX = 24 };

/** Bits of a step that are its node, the lower ones; the others, if not all are 1, are bytes. */
static inline unsigned hawk_step_node_bits(uint32_t nodes)
{
	unsigned bits = HAWK_STEP_NODE_BITS_MIN;

	while (bits < HAWK_STEP_NODE_BITS_MAX && nodes > UINT32_C(1) << bits)
		bits++;
	return bits;
}

/** What stands for bytes of which there are more, or as many: see the block itself. */
static inline uint32_t hawk_step_bytes_max(unsigned node_bits)
{
	return UINT32_MAX >> node_bits;
}

struct hawk_tree_order {
	/* By position; all of the index's blocks. */
	const uint32_t *blocks; /**< NULL = not kept */
	const uint32_t *sizes;  /**< that are dominated, the block itself included */
	const uint32_t *steps;  /**< bytes << hawk_step_node_bits() | node */
	uint64_t groups;        /**< of the tree's fold */
	struct hawk_area area;  /**< empty = they lie in memory of somebody else */
};

/** Nodes of the tree of shortest paths. */
struct hawk_tree_steps {
	const uint32_t *nodes; /**< by block; NULL = not kept */
	uint64_t groups;       /**< of the tree's fold */
	struct hawk_area area; /**< as above */
};

/** Node of each block, by block, of `node_count`, to the order of `dominators`; that of `same` is
 * taken, which is to outlive the new one, if it is not NULL. 12 bytes a block, 4 if `same`, and 4
 * while it is made. */
struct hawk_error *hawk_tree_order_make(const struct hawk_block_index *index,
					const struct hawk_dominators *dominators,
					const uint32_t *nodes, uint32_t node_count,
					const struct hawk_tree_order *same,
					struct hawk_tree_order *ret);

/** Accepts an order of zeros, and leaves one behind. */
void hawk_tree_order_deinit(struct hawk_tree_order *order);
void hawk_tree_steps_deinit(struct hawk_tree_steps *steps);

/** Whether it goes with `fold`. */
bool hawk_tree_order_fits(const struct hawk_tree_order *order, const struct hawk_tree_fold *fold);
bool hawk_tree_steps_fit(const struct hawk_tree_steps *steps, const struct hawk_tree_fold *fold);

/** Of `chosen` (bits of a hawk_block_choice) the bits by position: of any order with the same
 * `blocks`; caller frees. */
struct hawk_error *hawk_tree_order_place(const struct hawk_block_graph *graph,
					 const struct hawk_tree_order *order,
					 const uint64_t *chosen, uint64_t **ret);

/** By node of `fold`: the blocks with their bit in `positions`, and all that they dominate; caller
 * frees. */
struct hawk_error *hawk_tree_order_sum_nodes(const struct hawk_block_graph *graph,
					     const struct hawk_tree_order *order,
					     const struct hawk_tree_fold *fold,
					     const uint64_t *positions, struct hawk_chosen **ret);

/** Likewise the blocks of `chosen` alone. */
struct hawk_error *hawk_tree_steps_sum(const struct hawk_block_graph *graph,
				       const struct hawk_tree_steps *steps,
				       const struct hawk_tree_fold *fold, const uint64_t *chosen,
				       struct hawk_chosen **ret);

/** By index into the heap's sites, added to `sums`: what blocks with their bit in `positions`
 * retain, of those that another one of the same site dominates only the topmost. */
struct hawk_error *hawk_tree_order_sum_sites(const struct hawk_block_graph *graph,
					     const struct hawk_tree_order *order,
					     const struct hawk_tree_fold *fold,
					     const uint64_t *positions, uint64_t *sums);

#endif
