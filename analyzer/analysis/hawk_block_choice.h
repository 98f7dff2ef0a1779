/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks that a filter lets pass: one after the other, or as a bit for each, and how many there
 * are of each site, for folds that ask about the same block again and again.
 */
#ifndef HAWK_BLOCK_CHOICE_H
#define HAWK_BLOCK_CHOICE_H

#include "hawk_block_graph.h"

/** Which blocks are wanted. */
struct hawk_choice_wish {
	/** Whether it is; `block` is complete. */
	struct hawk_error *(*filter)(const void *context, const struct hawk_block *block,
				     bool *ret);
	/** False: no block of that trace is, whatever else it is; they are not even read. NULL =
	 * there is no such trace. */
	bool (*trace)(const void *context, uint32_t trace);
	const void *context;
};

/** Takes a block that is wanted. Of a carved block every part comes, with the same `block`. */
typedef struct hawk_error *hawk_choice_visitor(void *context, uint32_t number,
					       const struct hawk_block *block);

/** Has `visit` take the blocks that are wanted, of those that are of a site, in their order; an
 * error ends it. Needs HAWK_PART_INDEX. */
struct hawk_error *hawk_block_choice_visit(const struct hawk_block_graph *graph,
					   const struct hawk_choice_wish *wish,
					   hawk_choice_visitor *visit, void *context);

struct hawk_chosen {
	uint64_t objects;
	uint64_t bytes; /**< requested; of carved blocks, what is left of them */
};

/** Adds block `number` of the index; of the parts of a carved one only one counts. */
void hawk_chosen_add(struct hawk_chosen *chosen, const struct hawk_block_index *index,
		     uint32_t number);

struct hawk_block_choice {
	uint64_t *blocks; /**< a bit for each number of the index; parts have that of their block */
	struct hawk_chosen *sites; /**< for each of the heap's sites */
};

/** Needs HAWK_PART_INDEX. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_block_choice_make(const struct hawk_block_graph *graph,
					  const struct hawk_choice_wish *wish,
					  struct hawk_block_choice *ret);

/** Accepts a choice of zeros. */
void hawk_block_choice_deinit(struct hawk_block_choice *choice);

/** Whether `block` is one of `blocks`, the bits of a choice; NULL = all are. */
static inline bool hawk_block_is_chosen(const uint64_t *blocks, uint32_t block)
{
	return !blocks || blocks[block / 64] >> block % 64 & 1;
}

#endif
