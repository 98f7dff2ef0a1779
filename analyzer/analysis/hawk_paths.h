/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shortest paths from roots to blocks: why a block is alive. Breadth first over all pointers; of
 * paths that are equally short the one whose root says most wins: globals, then thread-local
 * storage, other memory, stacks, registers.
 */
#ifndef HAWK_PATHS_H
#define HAWK_PATHS_H

#include "hawk_block_graph.h"

/** By block in hawk_paths.parents: how the search came there. */
enum {
	HAWK_PATH_FROM_ROOT = 1u << 31, /**< | index into the roots, if they fit */
};
static const uint32_t HAWK_PATH_NONE = UINT32_MAX; /**< no root leads there, or not looked at */

struct hawk_paths {
	uint32_t *parents; /**< the block before, or HAWK_PATH_FROM_ROOT | root, or NONE */
	uint32_t *order;   /**< blocks in the order in which they were found */
	/** By place in `order`: that of the parent, which never decreases; or HAWK_PATH_FROM_ROOT |
	 * root. NULL if a target was given. */
	uint32_t *from;
	uint32_t count; /**< of `order` */
	const struct hawk_block_index *index;
	struct hawk_area parents_area;
	struct hawk_area order_area;
	struct hawk_area from_area;
};

/**
 * Needs HAWK_PART_EDGES and HAWK_PART_ROOTS. The search ends when it has found `target`;
 * HAWK_BLOCK_NOWHERE = finds all. 8 bytes per block, or 12 for all. `ret` is to be deinitialized
 * after success only.
 */
struct hawk_error *hawk_paths_find(const struct hawk_block_graph *graph, uint32_t target,
				   struct hawk_paths *ret);

/** Accepts paths of zeros. */
void hawk_paths_deinit(struct hawk_paths *paths);

/** One path: from the block that a root points to, to the target. */
struct hawk_path {
	uint32_t root;    /**< index into the roots */
	uint32_t *blocks; /**< owned; a carved block is one step */
	uint32_t count;   /**< 0 = no root leads there */
};
struct hawk_error *hawk_path_to(const struct hawk_paths *paths, uint32_t target,
				struct hawk_path *ret);
void hawk_path_deinit(struct hawk_path *path);

#endif
