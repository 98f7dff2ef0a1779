/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One line for every block, as text or JSON, at millions of lines a second: repeated parts (ages,
 * kinds, sites) are formatted once, before the first block. With a limit, prints only the chosen
 * ones, after the last block.
 */
#ifndef HAWK_ANALYZER_REPORT_BLOCKS_H
#define HAWK_ANALYZER_REPORT_BLOCKS_H

#include "hawk/analysis/selection.h"
#include "hawk/names/block_type.h"
#include "hawk/output/output.h"

struct hawk_report_blocks;

/** `types` NULL = unreadable. Both must outlive the report. `top` = how many to show, in
 * hawk_block_order(); 0 = all. */
struct hawk_error *hawk_report_blocks_create(const struct hawk_heap *heap, bool json,
					     struct hawk_block_types *types, size_t top,
					     struct hawk_output *output,
					     struct hawk_report_blocks **ret);

/** Prints the column headings; nothing for JSON. */
void hawk_report_blocks_heading(struct hawk_report_blocks *report);

/** Prints blocks of the report `context`; fails once the output has failed. */
struct hawk_error *hawk_report_blocks_add(void *context, const struct hawk_block *blocks,
					  size_t count);

/** Call after the last block: with `top`, prints the first ones and the number of all. */
void hawk_report_blocks_finish(struct hawk_report_blocks *report);

/** Accepts NULL. */
void hawk_report_blocks_destroy(struct hawk_report_blocks *report);

#endif
