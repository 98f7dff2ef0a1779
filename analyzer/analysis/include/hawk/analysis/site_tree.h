/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks folded into a tree "root; site; site; ...": along dominators (who retains what), or along
 * shortest paths (why is it alive). A run of blocks of the same site is one step, so that a list of
 * a million nodes is one node of the tree.
 *
 * Roots come in groups that the caller names: all pointers in one global, say. Beyond
 * HAWK_SITE_TREE_DEPTH steps blocks count for their ancestor there: structures that alternate
 * between sites without end stay small.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_TREE_H
#define HAWK_ANALYZER_ANALYSIS_SITE_TREE_H

#include "hawk/graph/dominators.h"
#include "hawk/analysis/paths.h"

enum { HAWK_SITE_TREE_DEPTH = 64 };

/** What a node stands for. */
enum hawk_site_tree_kind {
	HAWK_TREE_ALL = 0,
	/** Key: the caller's group of roots. No other leads to these blocks, but perhaps registers
	 * or stacks, which do not count beside anything that lasts. */
	HAWK_TREE_ROOT,
	/** Roots point to these blocks, and roots of other groups, or blocks that those lead to;
	 * key: the group that says most, a variable rather than a register. */
	HAWK_TREE_SEVERAL,
	/** Several blocks without a common dominator point to them, and several groups lead there.
	 */
	HAWK_TREE_SHARED,
	HAWK_TREE_LOST, /**< no root leads there */
	HAWK_TREE_SITE, /**< key: index into the heap's sites */
	HAWK_TREE_KINDS
};

struct hawk_site_tree_node {
	uint32_t key;
	uint32_t kind; /**< enum hawk_site_tree_kind */
	uint32_t parent;
	uint32_t first_child; /**< 0 = none; children by cum_bytes, largest first, then by those of
				 `start` */
	uint32_t next_sibling;
	uint32_t depth; /**< steps from the root of the tree */
	/** flat: blocks that are this step (and counted here); cum: with all steps behind it. */
	uint64_t flat_objects, flat_bytes;
	uint64_t cum_objects, cum_bytes;
	/** The same sums by start pointers only, where the tree has both. */
	struct hawk_site_tree_sums {
		uint64_t flat_objects, flat_bytes;
		uint64_t cum_objects, cum_bytes;
	} start;
};

struct hawk_site_tree {
	/** 0 is the whole; by depth, then in the order of parents and siblings. */
	struct hawk_site_tree_node *nodes;
	uint32_t count;
	uint32_t capacity;
	uint32_t *index; /**< in the making: hash of (parent, kind, key) */
	uint32_t index_size;
	bool both; /**< with `start` */
};

/** What is shown of a tree. */
struct hawk_tree_view {
	size_t top;     /**< children of one node */
	size_t depth;   /**< deeper nodes are not shown */
	uint64_t share; /**< nor those with less than 1/`share` of the whole; 0 = small ones are */
};

/* In all of them, `groups[root]` is the group of each root, below 2^31. */

/**
 * Adds all blocks along the dominator tree; or, of `chosen` (a bit for each; NULL = all), those
 * that would be freed with them: they and what they dominate are counted where they are, and what
 * is above them has no sums but theirs. `tree` has only `both` at first. With `both`: dominators by
 * all pointers first, then those by start pointers; a node that is there one way only has sums of 0
 * the other way. Then hawk_site_tree_finish(). Deinitialize also after an error.
 */
struct hawk_error *hawk_site_tree_add_retained(const struct hawk_graph *graph,
					       const struct hawk_dominators *dominators,
					       const uint32_t *groups, const uint64_t *chosen,
					       struct hawk_site_tree *tree);

/** Adds up what nodes have, and puts them in order. */
struct hawk_error *hawk_site_tree_finish(struct hawk_site_tree *tree);

/** Blocks of `wanted` (a bit for each; NULL = all) along their shortest paths, of which `paths` has
 * all; only they are counted. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_site_tree_paths(const struct hawk_graph *graph,
					const struct hawk_paths *paths, const uint32_t *groups,
					const uint64_t *wanted, struct hawk_site_tree *ret);

/** Accepts a tree of zeros. */
void hawk_site_tree_deinit(struct hawk_site_tree *tree);

/** Who keeps most of a site's blocks alive, out of the dominator tree: the root (or the lack of
 * one) under which most of its bytes are, and the path of sites from there. */
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
