/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Order of single blocks in cut-off lists: largest first, then oldest (by the coarse birth time),
 * then by address.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_BLOCK_ORDER_H
#define HAWK_ANALYZER_ANALYSIS_BLOCK_ORDER_H

#include "hawk/analysis/selection.h"
#include "hawk/base/ranking.h"

/** A hawk_ranking_order of struct hawk_block; 0 only for the same block. */
int hawk_block_order(const void *left, const void *right);

/** A block of an index. */
struct hawk_numbered_block {
	struct hawk_block block; /**< first: what hawk_block_order() compares */
	uint32_t number;
};

/**
 * Fills `ret` with the first `most` blocks set in `chosen`: struct hawk_numbered_block, sorted by
 * hawk_block_order(), carved blocks once. Deinitialize `ret` even after an error.
 */
struct hawk_error *hawk_block_order_first(const struct hawk_heap *heap, const uint64_t *chosen,
					  size_t most, struct hawk_ranking *ret);

#endif
