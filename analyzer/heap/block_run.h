/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A run of usual blocks on its way into the index: they lie in one chunk, are neither empty nor
 * carved up, and their records are filled when all of them are there. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_BLOCK_RUN_H
#define HAWK_ANALYZER_HEAP_BLOCK_RUN_H

#include "hawk/heap/block_index.h"

enum { HAWK_MARKED_RECORDS = 32 };

/** Granules of some records, one bit each. All zero between uses. */
struct hawk_block_marks {
	uint64_t starts[HAWK_MARKED_RECORDS];   /**< where blocks begin */
	uint64_t ends[HAWK_MARKED_RECORDS + 1]; /**< behind their last granules */
};

/**
 * Stores the run at blocks[0], which lies in a chunk that has a number and becomes block `number`:
 * nearly every block is usual, and it is the same as to store one by one, at a third of the cost.
 * There is room for all `count`. Returns how many were taken; never the last one.
 */
size_t hawk_block_run_take(const struct hawk_block_index *index, const struct hawk_block *blocks,
			   size_t count, uint32_t number, struct hawk_block_marks *marks);

#endif
