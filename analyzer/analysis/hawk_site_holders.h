/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who keeps most of a site's blocks alive, out of the dominator tree folded by site: the root (or
 * the lack of one) under which most of its bytes are, and the path of sites from there.
 */
#ifndef HAWK_SITE_HOLDERS_H
#define HAWK_SITE_HOLDERS_H

#include "hawk_site_tree.h"

struct hawk_site_holder {
	uint32_t top;   /**< node below the whole: HAWK_TREE_ROOT, _SEVERAL, _SHARED or _LOST; 0 =
			   the site is not in the tree */
	uint32_t node;  /**< the site's own one below it with most bytes */
	uint64_t bytes; /**< of the site's blocks, all that is below `top` */
	uint64_t objects;
};

/** For each node of `tree` the one below the whole that it belongs to. Caller frees. NULL = no
 * memory. */
uint32_t *hawk_site_tree_tops(const struct hawk_site_tree *tree);

/** `sums` is scratch: `tree->count` of zeros, and so again afterwards. */
struct hawk_site_holder hawk_site_holder_find(const struct hawk_site_tree *tree,
					      const uint32_t *tops, uint64_t *sums, uint32_t site);

#endif
