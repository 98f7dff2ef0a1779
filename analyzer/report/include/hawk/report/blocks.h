/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One line for every block, as text or JSON. Blocks are read and printed one by one; nothing is
 * kept for each.
 */
#ifndef HAWK_ANALYZER_REPORT_BLOCKS_H
#define HAWK_ANALYZER_REPORT_BLOCKS_H

#include "hawk/names/block_type.h"
#include "hawk/report/screen.h"

/** Owns nothing. */
struct hawk_blocks_report {
	const struct hawk_heap *heap;
	const uint64_t *chosen;         /**< bits by number; NULL = all blocks */
	struct hawk_block_types *types; /**< NULL = unreadable */
	size_t top; /**< blocks to show, in hawk_block_order(); 0 = all, ascending */
};

/* Print nothing if the heap is unknown. End silently once the output has failed. */
struct hawk_error *hawk_report_blocks(const struct hawk_blocks_report *report,
				      const struct hawk_screen *screen);
struct hawk_error *hawk_report_blocks_json(const struct hawk_blocks_report *report,
					   struct hawk_output *output);

#endif
