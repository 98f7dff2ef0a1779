/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A run of usual blocks on its way into the index: they lie in one chunk, are neither empty nor
 * carved up, and their records are filled when all of them are there. Internal to heap/.
 */
#ifndef HAWK_BLOCK_RUN_H
#define HAWK_BLOCK_RUN_H

#include "hawk_block_index.h"

enum { HAWK_MARKED_RECORDS = 32 };

/** Granules of some records, one bit each. All zero between uses. */
struct hawk_block_marks {
	uint64_t starts[HAWK_MARKED_RECORDS];   /**< where blocks begin */
	uint64_t ends[HAWK_MARKED_RECORDS + 1]; /**< behind their last granules */
};

struct hawk_block_run {
	uint64_t base;                       /**< address of the first record's KiB */
	uint64_t room;                       /**< bytes from there on in which blocks are taken */
	uint32_t id;                         /**< of the granule at `base` */
	uint32_t *granules, *sizes, *traces; /**< of the run's first block */
	struct hawk_block_marks *marks;
	uint64_t end; /**< granule behind the last block, from `base` on */
};

/**
 * Takes blocks from number `first` on, as long as they are usual and the one behind shows that
 * nothing was carved out; returns the number of the first that was not taken. What lies in
 * `granules`, `sizes` and `traces` behind the blocks taken is overwritten: there is room for all
 * `count`.
 */
size_t hawk_block_run_plain(struct hawk_block_run *run, const struct hawk_block *blocks,
			    size_t first, size_t count);

/** The same from number 0 on, but ends early. See hawk_cpu.h. */
size_t hawk_block_run_avx512(struct hawk_block_run *run, const struct hawk_block *blocks,
			     size_t count);

/**
 * Stores the run at blocks[0], which lies in a chunk that has a number and becomes block `number`:
 * nearly every block is usual, and it is the same as to store one by one, at a third of the cost.
 * Blocks that end above `end` are not. There is room for all `count`. Returns how many were taken;
 * never the last one.
 */
size_t hawk_block_run_take(const struct hawk_block_index *index, const struct hawk_block *blocks,
			   size_t count, uint64_t end, uint32_t number,
			   struct hawk_block_marks *marks);

#endif
