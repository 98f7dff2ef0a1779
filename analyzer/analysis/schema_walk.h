/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What is in the blocks of a group, one after the other. Internal to analysis/.
 */
#ifndef SCHEMA_WALK_H
#define SCHEMA_WALK_H

#include "schema_blocks.h"

enum { HAWK_SCHEMA_BATCH_PIECES = 64 };

/** Of a block, or all of it. */
struct hawk_schema_piece {
	const uint8_t *bytes; /**< in place, or a copy */
	size_t size;
	uint64_t offset; /**< in the block; of arrays, where an element begins */
	uint32_t block;
	bool is_last; /**< of its block */
};

struct hawk_schema_batch {
	struct hawk_schema_piece pieces[HAWK_SCHEMA_BATCH_PIECES];
	unsigned count;
};

/** Takes the pieces of `now`; those of `next` come next, and what their words lead to may be asked
 * for. Both may be empty. */
typedef struct hawk_error *hawk_schema_visitor(void *context, const struct hawk_schema_batch *now,
					       const struct hawk_schema_batch *next);

struct hawk_schema_walk {
	const struct hawk_schema_blocks *blocks;
	unsigned part; /**< of them; who walks through one is on its own */
	const struct hawk_schema_group *group;
	uint64_t share; /**< of the group's blocks that are visited, of HAWK_SCHEMA_ALL */
	hawk_schema_visitor *visit;
	void *context;

	uint64_t examined;   /**< blocks that were visited */
	uint64_t unreadable; /**< of those, in part at least */
};

static const uint64_t HAWK_SCHEMA_ALL = UINT64_C(1) << 32;

/** An error of `visit` ends it. Adds to the stage that the caller has begun. */
struct hawk_error *hawk_schema_walk(struct hawk_schema_walk *walk);

/** How much that is for all parts together. */
static inline uint64_t hawk_schema_steps(const struct hawk_schema_blocks *blocks)
{
	return blocks->bounds[blocks->parts];
}

/** The word of the group that stands for `offset` of a block. */
static inline uint32_t hawk_schema_index(const struct hawk_schema_group *group, uint64_t offset)
{
	uint64_t word = offset / sizeof(uint64_t);

	return (uint32_t)(group->period ? word % group->period : word);
}

#endif
