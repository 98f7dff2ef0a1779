/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * In which order single blocks are shown where not all are: the largest first, of one size the
 * oldest, as far as the coarse time of birth tells, and then by address.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_BLOCK_ORDER_H
#define HAWK_ANALYZER_ANALYSIS_BLOCK_ORDER_H

#include "hawk/analysis/block_choice.h"
#include "hawk/base/ranking.h"

/** Of two struct hawk_block, a hawk_ranking_order: 0 only for the same block. */
int hawk_block_order(const void *left, const void *right);

/** A block of an index. */
struct hawk_numbered_block {
	struct hawk_block block; /**< first: what hawk_block_order() compares */
	uint32_t number;
};

/**
 * Puts the first `most` of the blocks that have a bit in `chosen` into `ret`, a ranking of struct
 * hawk_numbered_block by hawk_block_order(), sorted; carved blocks once. `ret` is to be
 * deinitialized whether that succeeds or not.
 */
struct hawk_error *hawk_block_order_first(const struct hawk_heap *heap, const uint64_t *chosen,
					  size_t most, struct hawk_ranking *ret);

#endif
