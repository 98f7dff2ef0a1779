/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tallies of words by offset, for one group of blocks. Internal to analysis/.
 */
#ifndef SCHEMA_TALLY_H
#define SCHEMA_TALLY_H

#include "hawk_schema.h"

/** Blocks of a schema, as numbers, ascending; those of one group in their order. */
struct hawk_schema_blocks {
	uint32_t *numbers;
	size_t count;
	size_t capacity;
};

/** Called for each word of a block. */
typedef void hawk_schema_visitor(void *context, uint32_t block, uint64_t offset, uint64_t value,
				 struct hawk_word word);
typedef void hawk_schema_text_visitor(void *context, uint64_t offset, uint64_t length);

struct hawk_schema_walk {
	const struct hawk_block_graph *graph;
	struct hawk_words *words;
	const struct hawk_schema_blocks *blocks;
	struct hawk_schema_group *group;
	hawk_schema_visitor *visit;
	hawk_schema_text_visitor *text;             /**< may be NULL */
	void (*end)(void *context, uint32_t block); /**< behind each block; may be NULL */
	void *context;
	bool all; /**< no sampling, and the group stays as it is */
	/** By word of the group: only what is of another family is of interest, and what plainly is
	 * of this one may not be visited, or as 0. HAWK_FAMILY_NULL: nobody cares what is there.
	 * NULL: all words are. */
	const uint8_t *families;
};

/** Sets `examined` and `unreadable` of the group. */
struct hawk_error *hawk_schema_walk(const struct hawk_schema_walk *walk);

/** Fills words; with a period if group->period is set. */
struct hawk_error *hawk_schema_tally(const struct hawk_block_graph *graph, struct hawk_words *words,
				     const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group);

/** The period that the tallies show, in words; 0 = none. */
uint32_t hawk_schema_period(const struct hawk_schema_group *group);

/** Fills outliers from tallies. */
struct hawk_error *hawk_schema_find_outliers(const struct hawk_block_graph *graph,
					     struct hawk_words *words,
					     const struct hawk_schema_blocks *blocks,
					     struct hawk_schema_group *group);

/** The word of the group that stands for `offset` of a block. */
static inline uint32_t hawk_schema_index(const struct hawk_schema_group *group, uint64_t offset)
{
	uint64_t word = offset / sizeof(uint64_t);

	return (uint32_t)(group->period ? word % group->period : word);
}

#endif
