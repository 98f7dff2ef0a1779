/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What folds over all blocks have found, kept with the graph and in the index cache: site trees
 * before their sums are added up, what blocks retain by start pointers, ages of sites. Questions
 * about all blocks, or about all blocks of some sites, are answered from them without a look at
 * blocks.
 *
 * Trees have groups of roots, which are made from names: a tree is used only for the groups that it
 * was folded with.
 */
#ifndef HAWK_TREE_FOLDS_H
#define HAWK_TREE_FOLDS_H

#include <stdint.h>

#include "hawk_area.h"
#include "hawk_tree_order.h"

struct hawk_block_graph;
struct hawk_error;
struct hawk_site_ages;

enum {
	/** Larger trees are left to who has time for them. */
	HAWK_TREE_FOLD_NODES_FEW = 1 << 20,
	HAWK_TREE_FOLD_NODES_MAX = 1 << 28,
};

/**
 * One step: see struct hawk_site_tree_node. The steps below one come right behind it, so that its
 * sums with all of theirs are told from two nodes:
 *
 *     node         0    1    2    3    4    5    6        1 and 5 are children of 0,
 *     end          6    5    4    4    5    6             2 and 4 of 1, 3 of 2; 6 is behind the
 * last bytes        0    0   10   30   60  100  110        1 alone has 10, with all below it 100
 */
struct hawk_tree_fold_node {
	uint32_t end;  /**< behind the last step below it */
	uint32_t kind; /**< enum hawk_site_tree_kind */
	uint32_t key;
	uint32_t objects; /**< of all nodes before it */
	uint64_t bytes;   /**< likewise */
};

struct hawk_tree_fold {
	/** One more than `count`; node 0 is the whole; NULL = not kept. */
	const struct hawk_tree_fold_node *nodes;
	uint32_t count;
	uint64_t groups;                   /**< hawk_tree_fold_groups() */
	struct hawk_tree_fold_node *owned; /**< NULL = `nodes` lie in memory of somebody else */
};

struct hawk_tree_folds {
	struct hawk_tree_fold retained;       /**< along dominators, by all pointers */
	struct hawk_tree_fold start_retained; /**< by start pointers */
	struct hawk_tree_fold paths;          /**< along shortest paths */
	/* All blocks by these trees: for questions about some of them. */
	struct hawk_tree_order order;       /**< of `retained` */
	struct hawk_tree_order start_order; /**< of `start_retained` */
	struct hawk_tree_steps path_steps;  /**< of `paths` */
	/** By site, with reach; NULL = not kept. */
	struct hawk_site_ages *ages;
	/** What each block retains by start pointers, as hawk_block_graph_retained(), and 0 for
	 * what only is a further part of one; NULL = not kept. */
	const uint64_t *by_start;
	struct hawk_area by_start_area;
};

/** Makes folds.ages, if they are not there; with reach. */
struct hawk_error *hawk_tree_folds_need_ages(struct hawk_block_graph *graph);

/** Makes what is missing of folds.retained, folds.order and, if the graph has shortest paths,
 * folds.paths and folds.path_steps: 16 bytes a block, and for each step of a tree 24, and 72 more
 * while it is made. Trees of more than `most` steps are not kept. Needs HAWK_PART_RETAINED. */
struct hawk_error *hawk_tree_folds_need_orders(struct hawk_block_graph *graph,
					       const uint32_t *groups, uint32_t most);

/** Makes what is missing of folds.start_retained, folds.start_order (4 bytes a block beside
 * folds.order, or 12, and the same for each step) and, unless dominators by start pointers are
 * those by all of them, folds.by_start: 8 bytes a block. As hawk_block_graph_start_dominators() it
 * takes the workspace from HAWK_PART_RETAINED. */
struct hawk_error *hawk_tree_folds_need_start(struct hawk_block_graph *graph,
					      const uint32_t *groups, uint32_t most);

/** Gives back the memory of folds.order, where it is not that of folds.start_order. */
void hawk_tree_folds_drop_order(struct hawk_block_graph *graph);

/** A number for groups of `count` roots. */
uint64_t hawk_tree_fold_groups(const uint32_t *groups, size_t count);

/** Accepts folds of zeros. */
void hawk_tree_folds_deinit(struct hawk_tree_folds *folds);

#endif
