/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks folded into a tree "root; site; site; ...": along dominators (their holders) or along
 * shortest paths (why they are alive). Consecutive blocks of one site are one step, so a list of a
 * million nodes is one tree node.
 *
 * The caller groups the roots: all pointers in one global, say. Blocks deeper than
 * HAWK_SITE_TREE_DEPTH steps count for their nearest ancestor of the same site, or else for the one
 * at that depth, so endlessly alternating sites stay small.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_TREE_H
#define HAWK_ANALYZER_ANALYSIS_SITE_TREE_H

#include "hawk/graph/dominators.h"
#include "hawk/analysis/leaks.h"
#include "hawk/analysis/paths.h"

enum { HAWK_SITE_TREE_DEPTH = 64 };

/** Meaning of a node. */
enum hawk_site_tree_kind {
	HAWK_TREE_ALL = 0,
	/** Key: the only root group that leads to these blocks. Stacks are ignored beside a lasting
	 * root, registers and the red zone beside any other. */
	HAWK_TREE_ROOT,
	/** Several root groups hold these blocks, at least one directly. Key: the most telling
	 * group, a variable rather than a register. */
	HAWK_TREE_SEVERAL,
	/** Held by several blocks without a common dominator, under several groups. */
	HAWK_TREE_SHARED,
	HAWK_TREE_LOST, /**< no root leads there */
	HAWK_TREE_SITE, /**< key: index into the heap's sites */
	HAWK_TREE_KINDS
};

struct hawk_site_tree_node {
	uint32_t key;
	uint32_t kind; /**< enum hawk_site_tree_kind */
	uint32_t parent;
	uint32_t first_child; /**< 0 = none; children by cum_bytes, largest first */
	uint32_t next_sibling;
	uint32_t depth; /**< steps from the root of the tree */
	/** flat: blocks of this step; cum: with all steps below it. */
	uint64_t flat_objects, flat_bytes;
	uint64_t cum_objects, cum_bytes;
};

struct hawk_site_tree {
	/** 0 is the whole; by depth, then in the order of parents and siblings. */
	struct hawk_site_tree_node *nodes;
	uint32_t count;
	uint32_t capacity;
	uint32_t *index; /**< in the making: hash of (parent, kind, key) */
	uint32_t index_size;
	bool much_shared; /**< HAWK_TREE_SHARED has at least a fifth of all bytes */
};

/* In all functions `groups[root]` is the group of each root, below 2^31. */

/**
 * Adds all blocks along the dominator tree. With `chosen` (a bit per block; NULL = all), only those
 * blocks and the ones they dominate count, each at its own node; nodes above sum only those. `tree`
 * is zeroed. Then call hawk_site_tree_finish(). Deinitialize even after an error.
 */
struct hawk_error *hawk_site_tree_add_retained(const struct hawk_graph *graph,
					       const struct hawk_dominators *dominators,
					       const uint32_t *groups, const uint64_t *chosen,
					       struct hawk_site_tree *tree);

/** Sums the nodes and sorts them. */
struct hawk_error *hawk_site_tree_finish(struct hawk_site_tree *tree);

/** Folds the blocks of `wanted` (a bit per block; NULL = all) along their shortest paths; counts
 * only those. `paths` must cover all blocks. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_site_tree_paths(const struct hawk_graph *graph,
					const struct hawk_paths *paths, const uint32_t *groups,
					const uint64_t *wanted, struct hawk_site_tree *ret);

/** Returns the name of a node of a kind without a key: "(shared by several blocks)". `doubt`: why
 * blocks below HAWK_TREE_LOST may still be held. */
const char *hawk_site_tree_special_name(uint32_t kind, enum hawk_leaks_doubt doubt);

/** Accepts a zeroed tree. */
void hawk_site_tree_deinit(struct hawk_site_tree *tree);

/** Selects the nodes to show. A shown node's parent is shown too. */
struct hawk_tree_view {
	size_t top;     /**< children of one node */
	size_t depth;   /**< deeper nodes are not shown */
	uint64_t share; /**< hide nodes below 1/`share`, except first children; 0 = show all */
	/** Siblings that are not shown get one row, their sum; a single one is shown instead. */
	bool sums;
};

/** A node, or the sum of `node` and all siblings behind it. */
struct hawk_tree_row {
	uint32_t node;
	uint32_t parent; /**< row; its own for the whole */
	uint32_t first_child, children;
	uint32_t summed; /**< nodes in the sum; 0 = a node */
	uint64_t cum_objects, cum_bytes;
};

/** The shown part of a tree: the whole first, then by depth; siblings are neighbours. */
struct hawk_tree_rows {
	const struct hawk_site_tree *tree;
	struct hawk_tree_row *items;
	size_t count, capacity;
};

/** Deinitialize `*ret` even after an error. `tree` must outlive it. */
struct hawk_error *hawk_site_tree_show(const struct hawk_site_tree *tree,
				       const struct hawk_tree_view *view,
				       struct hawk_tree_rows *ret);
void hawk_tree_rows_deinit(struct hawk_tree_rows *rows);

/** The holder of most of a site: the root (or none) over most of its bytes in the dominator tree,
 * and the path of sites from there. */
struct hawk_site_holder {
	uint32_t top;   /**< node below the whole: HAWK_TREE_ROOT, _SEVERAL, _SHARED or _LOST; 0 =
			   the site is not in the tree */
	uint32_t node;  /**< the site's largest node below `top` */
	uint64_t bytes; /**< bytes of the site's blocks below `top` */
	uint64_t objects;
};

/**
 * Returns, for each node, its ancestor just below the whole. Caller frees. NULL = out of memory.
 */
uint32_t *hawk_site_tree_tops(const struct hawk_site_tree *tree);

/** Finds the holder of `site`. `sums` is scratch: `tree->count` zeros, zeroed again on return. */
struct hawk_site_holder hawk_site_holder_find(const struct hawk_site_tree *tree,
					      const uint32_t *tops, uint64_t *sums, uint32_t site);

#endif
