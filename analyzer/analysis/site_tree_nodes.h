/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Site trees in the making: nodes are found by hash, parents before their children; then they are
 * put in order, which is what is kept; of that the tree grows that is shown. Internal to analysis/.
 */
#ifndef SITE_TREE_NODES_H
#define SITE_TREE_NODES_H

#include "hawk_block_choice.h"
#include "hawk_site_tree.h"

/** A tree of the whole alone. After an error the tree is to be deinitialized, as everywhere here.
 */
struct hawk_error *hawk_site_tree_begin(struct hawk_site_tree *tree);

/** The child of `parent`, made if need be. */
struct hawk_error *hawk_site_tree_step(struct hawk_site_tree *tree, uint32_t parent, uint32_t kind,
				       uint32_t key, uint32_t *ret);

/** The node of a block of `site` behind node `parent`. */
struct hawk_error *hawk_site_tree_step_site(struct hawk_site_tree *tree, uint32_t parent,
					    uint32_t site, uint32_t *ret);

/** Counts block `block` for `node`. */
void hawk_site_tree_count(const struct hawk_block_graph *graph, struct hawk_site_tree *tree,
			  uint32_t node, uint32_t block);

/**
 * What was folded into `tree`, unless `err` says that it was not: the tree is gone in any case.
 * `numbers`: NULL, or the node of the fold for each of the tree's; caller frees. `ret` is owned,
 * and untouched after an error.
 */
struct hawk_error *hawk_tree_fold_take(struct hawk_site_tree *tree, struct hawk_error *err,
				       uint64_t groups, uint32_t **numbers,
				       struct hawk_tree_fold *ret);

/** Keeps what was made, unless there are more than `most` steps: gives `made` away. */
void hawk_tree_fold_keep(struct hawk_tree_fold *made, uint32_t most, struct hawk_tree_fold *kept);

/** Accepts a fold of zeros, and leaves one behind. */
void hawk_tree_fold_deinit(struct hawk_tree_fold *fold);

/** Whether it is kept for such groups. */
static inline bool hawk_tree_fold_fits(const struct hawk_tree_fold *fold, uint64_t groups)
{
	return fold->nodes && fold->groups == groups;
}

/** As hawk_site_tree_paths() of all blocks, into a tree with tails; `nodes`: NULL, or room for the
 * node of every block, by block. After an error the tree is to be deinitialized. */
struct hawk_error *hawk_site_tree_fold_paths(struct hawk_block_graph *graph, const uint32_t *groups,
					     struct hawk_site_tree *tree, uint32_t *nodes);

/** Sums of steps of `fold`. */
struct hawk_tree_sums {
	const struct hawk_tree_fold *fold;
	/** By node, and one more: of all nodes before it; NULL = those of the fold. */
	const struct hawk_chosen *before;
};

/** What is shown of a tree with these sums; with those by start pointers if there are two. False:
 * it is none, or `*err` is set. */
bool hawk_site_tree_grow(const struct hawk_block_graph *graph, const uint32_t *groups,
			 const struct hawk_tree_sums *sides, unsigned side_count,
			 const struct hawk_tree_view *view, struct hawk_site_tree *ret,
			 struct hawk_error **err);

#endif
