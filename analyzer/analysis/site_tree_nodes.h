/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Site trees in the making: nodes are found by hash, parents before their children. Internal to
 * analysis/.
 */
#ifndef SITE_TREE_NODES_H
#define SITE_TREE_NODES_H

#include "hawk_block_graph.h"
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

/** Counts block `block` for `node`; by start pointers if the tree has room for these. */
void hawk_site_tree_count(const struct hawk_block_graph *graph, struct hawk_site_tree *tree,
			  uint32_t node, uint32_t block);

/** Room for sums by start pointers, of 0. */
struct hawk_error *hawk_site_tree_add_start(struct hawk_site_tree *tree);

/** Keeps a tree that is folded but not complete, with tails, in `fold`; its sums by start pointers,
 * if it has them. Where it is too large, or memory is short, it is not kept. */
void hawk_tree_fold_keep(const struct hawk_site_tree *tree, uint64_t groups,
			 struct hawk_tree_fold *fold);

/** Steps and sums of `fold`, of blocks of `sites` as hawk_site_tree_of_sites(), into the tree; with
 * what they dominate if `gone`. `*exact` false: that cannot be told. */
struct hawk_error *hawk_tree_fold_unfold(const struct hawk_tree_fold *fold, const uint64_t *sites,
					 bool gone, struct hawk_site_tree *tree, bool *exact);

/** Whether it is kept for such groups. */
static inline bool hawk_tree_fold_fits(const struct hawk_tree_fold *fold, uint64_t groups)
{
	return fold->nodes && fold->groups == groups;
}

/** As hawk_site_tree_paths() of all blocks, into a tree with tails; `nodes`: NULL, or room for the
 * node of every block, by block. */
struct hawk_error *hawk_site_tree_fold_paths(struct hawk_block_graph *graph, const uint32_t *groups,
					     struct hawk_site_tree *tree, uint32_t *nodes);

/** Sums, and children in order: gives the tree away, unless `err` says that it was not folded, or
 * memory runs out: then it is deinitialized, and the error returned. */
struct hawk_error *hawk_site_tree_complete(struct hawk_site_tree *tree, struct hawk_error *err,
					   struct hawk_site_tree *ret);

#endif
