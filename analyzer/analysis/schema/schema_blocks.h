/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks of a schema, a walk through them, and the results for a group. Internal to analysis/.
 */
#ifndef SCHEMA_BLOCKS_H
#define SCHEMA_BLOCKS_H

#include "hawk/analysis/schema.h"

enum {
	HAWK_SCHEMA_SIZES_MAX = 4096,
	HAWK_SCHEMA_SIZE_SLOTS = 2 * HAWK_SCHEMA_SIZES_MAX, /**< a power of two */
};

struct hawk_schema_size {
	uint64_t size;
	uint64_t count; /**< 0 = empty */
};

/** Counts of blocks by size. */
struct hawk_schema_sizes {
	struct hawk_schema_size *slots; /**< owned; HAWK_SCHEMA_SIZE_SLOTS */
	size_t count;                   /**< of slots that are in use */
	bool many;                      /**< there are more, and counts are not complete */
	uint64_t least, most;
};

struct hawk_schema_blocks {
	const struct hawk_heap *heap;
	uint64_t *bits; /**< owned; one for each number of the index */
	uint64_t count; /**< that are set */
	struct hawk_schema_sizes sizes;
	struct hawk_word_classes *words; /**< owned */
};

/** Finds the requested blocks, and counts them in `schema`, including carved ones, which are not
 * examined. Deinitialize `ret` after success only. */
struct hawk_error *hawk_schema_collect(const struct hawk_heap *heap,
				       const struct hawk_schema_query *query,
				       struct hawk_block_types *types, struct hawk_schema *schema,
				       struct hawk_schema_blocks *ret);
void hawk_schema_blocks_deinit(struct hawk_schema_blocks *blocks);

/** A block, or a part of a long one. */
struct hawk_schema_piece {
	const uint8_t *bytes;
	size_t size;
	uint64_t offset; /**< in the block; of arrays, where an element begins */
	uint32_t block;
	bool is_last; /**< of its block */
};

typedef struct hawk_error *hawk_schema_visitor(void *context,
					       const struct hawk_schema_piece *piece);

struct hawk_schema_walk {
	const struct hawk_schema_blocks *blocks;
	const struct hawk_schema_group *group;
	uint64_t share; /**< of the group's blocks that are visited, of HAWK_SCHEMA_ALL */
	hawk_schema_visitor *visit;
	void *context;

	uint64_t examined;   /**< blocks that were visited */
	uint64_t unreadable; /**< of those, in part at least */
};

static const uint64_t HAWK_SCHEMA_ALL = UINT64_C(1) << 32;

/** Visits the blocks of a group; an error of `visit` ends it. `stage`: see base/progress.h. */
struct hawk_error *hawk_schema_walk(struct hawk_schema_walk *walk, const char *stage);

/** Fills words, `examined` and `unreadable`; with a period if group->period is set. */
struct hawk_error *hawk_schema_tally(const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group);

/** The period that the tallies show, in words; 0 = none. */
uint32_t hawk_schema_period(const struct hawk_schema_group *group);

/** Fills outliers from tallies. */
struct hawk_error *hawk_schema_find_outliers(const struct hawk_schema_blocks *blocks,
					     struct hawk_schema_group *group);

#endif
