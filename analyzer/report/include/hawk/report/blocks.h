/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One line for every block, as text or JSON, at millions of lines a second: everything that repeats
 * (ages, kinds, sites) is formatted once, before the first block. Or for some of them alone, when
 * all have been seen.
 */
#ifndef HAWK_ANALYZER_REPORT_BLOCKS_H
#define HAWK_ANALYZER_REPORT_BLOCKS_H

#include "hawk/names/block_filter.h"
#include "hawk/report/output.h"

struct hawk_report_blocks;

/** `heap` has its table; `types` NULL = they cannot be read; `filter` NULL = every block. All are
 * used until the destroy. `top`: 0, or how many are shown, in hawk_block_order(). */
struct hawk_error *hawk_report_blocks_create(const struct hawk_heap *heap, bool json,
					     struct hawk_block_types *types,
					     const struct hawk_block_filter *filter, size_t top,
					     struct hawk_output *output,
					     struct hawk_report_blocks **ret);

/** The line with the names of the columns; nothing with JSON. */
void hawk_report_blocks_heading(struct hawk_report_blocks *report);

/** A hawk_sweep_function; `report` is the context. Ends the sweep once the output has failed. */
struct hawk_error *hawk_report_blocks_add(void *report, const struct hawk_block *blocks,
					  size_t count);

/** All blocks of the heap that the filter chooses, instead of those of a sweep; they are shown by
 * hawk_report_blocks_finish(). */
struct hawk_error *hawk_report_blocks_choose(struct hawk_report_blocks *report);

/** Behind the last block: the lines of a graph; with `top` all lines, and of how many blocks they
 * are. */
void hawk_report_blocks_finish(struct hawk_report_blocks *report);

/** Accepts NULL. */
void hawk_report_blocks_destroy(struct hawk_report_blocks *report);

#endif
