/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks that a filter lets pass, as a bit for each, and how many there are of each site: for
 * folds that ask about the same block again and again.
 */
#ifndef HAWK_BLOCK_CHOICE_H
#define HAWK_BLOCK_CHOICE_H

#include "hawk_block_graph.h"

struct hawk_chosen {
	uint64_t objects;
	uint64_t bytes; /**< requested; of carved blocks, what is left of them */
};

struct hawk_block_choice {
	uint64_t *blocks; /**< a bit for each number of the index; parts have that of their block */
	struct hawk_chosen *sites; /**< for each of the heap's sites */
};

/** Whether a block is wanted; `block` is complete. */
typedef struct hawk_error *hawk_choice_filter(const void *context, const struct hawk_block *block,
					      bool *ret);

/** Needs HAWK_PART_INDEX; asks `filter` about every block that is of a site. `ret` is to be
 * deinitialized after success only. */
struct hawk_error *hawk_block_choice_make(const struct hawk_block_graph *graph,
					  hawk_choice_filter *filter, const void *context,
					  struct hawk_block_choice *ret);

/** Accepts a choice of zeros. */
void hawk_block_choice_deinit(struct hawk_block_choice *choice);

/** Whether `block` is one of `blocks`, the bits of a choice. */
static inline bool hawk_block_is_chosen(const uint64_t *blocks, uint32_t block)
{
	return blocks[block / 64] >> block % 64 & 1;
}

#endif
