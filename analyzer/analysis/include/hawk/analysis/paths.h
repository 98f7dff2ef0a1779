/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shortest paths from roots to blocks: why a block is alive. Breadth first over all pointers. Among
 * equally short paths the most telling root wins: globals, then thread-local storage, other memory,
 * stacks, registers.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_PATHS_H
#define HAWK_ANALYZER_ANALYSIS_PATHS_H

#include "hawk/graph/graph.h"

/** Flag in hawk_paths.from. */
enum {
	HAWK_PATH_FROM_ROOT = 1u << 31, /**< | index into the roots */
};

struct hawk_paths {
	uint32_t *order; /**< blocks in the order in which they were found */
	/** By place in `order`: that of the block before, or HAWK_PATH_FROM_ROOT | root. */
	uint32_t *from;
	uint32_t count;  /**< of both */
	uint64_t *found; /**< bit by block */
	/** By block: its place in `order` if found and prepared; NULL = nothing prepared. */
	uint32_t *places;
	const struct hawk_block_index *index;
	struct hawk_area order_area;
	struct hawk_area from_area;
	struct hawk_area places_area;
};

/** Finds paths to all blocks, in 8 bytes per block. `ret` is to be deinitialized after success
 * only. */
struct hawk_error *hawk_paths_find(const struct hawk_graph *graph, struct hawk_paths *ret);

/** Prepares hawk_path_to() for these blocks, in any order, repeats allowed: one pass over the found
 * blocks instead of one each. Up to 4 more bytes per block. */
struct hawk_error *hawk_paths_prepare(struct hawk_paths *paths, const uint32_t *blocks,
				      size_t count);

/** Returns the bytes of `found` for `blocks` blocks. */
static inline uint64_t hawk_paths_found_bytes(uint32_t blocks)
{
	return ((uint64_t)blocks / 64 + 1) * sizeof(uint64_t);
}

/** Returns true if a root leads to `block`. */
static inline bool hawk_paths_lead_to(const struct hawk_paths *paths, uint32_t block)
{
	return paths->found[block / 64] >> block % 64 & 1;
}

/** Accepts paths of zeros. */
void hawk_paths_deinit(struct hawk_paths *paths);

/** One path, from the block that a root points to down to the target. */
struct hawk_path {
	uint32_t root;    /**< index into the roots */
	uint32_t *blocks; /**< owned; a carved block is one step */
	uint32_t count;   /**< 0 = no root leads there */
};
struct hawk_error *hawk_path_to(const struct hawk_paths *paths, uint32_t target,
				struct hawk_path *ret);
void hawk_path_deinit(struct hawk_path *path);

#endif
