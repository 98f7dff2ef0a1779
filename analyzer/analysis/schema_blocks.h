/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which blocks a schema is of, how large they are, and how they are shared among threads. Internal
 * to analysis/.
 */
#ifndef SCHEMA_BLOCKS_H
#define SCHEMA_BLOCKS_H

#include "hawk_parallel.h"
#include "hawk_schema.h"

enum {
	HAWK_SCHEMA_SIZES_MAX = 4096,
	HAWK_SCHEMA_SIZE_SLOTS = 2 * HAWK_SCHEMA_SIZES_MAX, /**< a power of two */
};

struct hawk_schema_size {
	uint64_t size;
	uint64_t count; /**< 0 = empty */
};

/** How many blocks have which size. */
struct hawk_schema_sizes {
	struct hawk_schema_size *slots; /**< owned; HAWK_SCHEMA_SIZE_SLOTS */
	size_t count;                   /**< of slots that are in use */
	bool many;                      /**< there are more, and counts are not complete */
	uint64_t least, most;
};

/** Blocks that are looked at, cut into parts that are: side by side. */
struct hawk_schema_blocks {
	const struct hawk_heap *heap;
	uint64_t *bits; /**< owned; one for each number of the index */
	uint64_t count; /**< that are set */
	struct hawk_schema_sizes sizes;
	unsigned threads;
	unsigned parts; /**< more than threads, which are not all as fast */
	size_t bounds[HAWK_SCHEMA_PARTS_MAX + 1];        /**< of them: words of `bits` */
	struct hawk_words *words[HAWK_SCHEMA_PARTS_MAX]; /**< owned; for each of them */
};

/** Finds those that are wished for, and counts them in `schema`, with carved ones, which are not
 * looked at. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_schema_collect(const struct hawk_heap *heap,
				       const struct hawk_schema_wish *wish,
				       const struct hawk_vtable_oracle *vtables,
				       struct hawk_schema *schema, struct hawk_schema_blocks *ret);
void hawk_schema_blocks_deinit(struct hawk_schema_blocks *blocks);

/** As hawk_parallel_run() for all parts, but on `threads`, who take one after the other. */
void hawk_schema_run(const struct hawk_schema_blocks *blocks, hawk_parallel_function *function,
		     void *context);

#endif
