/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Site trees in the making. Internal to analysis/.
 */
#ifndef SITE_TREE_NODES_H
#define SITE_TREE_NODES_H

#include "hawk/analysis/selection.h"
#include "hawk/analysis/site_tree.h"

/** Begins a tree with only the whole. Deinitialize the tree after an error, as everywhere here. */
struct hawk_error *hawk_site_tree_begin(struct hawk_site_tree *tree);

/** Finds the child of `parent`, making it if necessary. */
struct hawk_error *hawk_site_tree_step(struct hawk_site_tree *tree, uint32_t parent, uint32_t kind,
				       uint32_t key, uint32_t *ret);

/** Finds the node of a block of `site` below node `parent`. */
struct hawk_error *hawk_site_tree_step_site(struct hawk_site_tree *tree, uint32_t parent,
					    uint32_t site, uint32_t *ret);

/** Counts block `block` for `node`. */
void hawk_site_tree_count(const struct hawk_heap *heap, struct hawk_site_tree *tree, uint32_t node,
			  uint32_t block);

#endif
