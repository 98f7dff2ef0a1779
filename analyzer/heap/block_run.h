/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds a run of usual blocks to the index. They lie in one chunk and are neither empty nor carved
 * up; their records are filled after all of them are stored. Internal to heap/.
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
 * Stores the run at blocks[0], which lies in a chunk that has a number and becomes block `number`.
 * Has the effect of storing blocks one by one, at a third of the cost; nearly every block is usual.
 * The index must have room for all `count`. Returns the number of blocks stored, never the last
 * one.
 */
size_t hawk_block_run_take(const struct hawk_block_index *index, const struct hawk_block *blocks,
			   size_t count, uint32_t number, struct hawk_block_marks *marks);

#endif
