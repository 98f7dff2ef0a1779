/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where the pointers of a graph lie in their blocks, kept: what hawk_pointers_read() finds out
 * again from memory is told without a look at it. One byte for each pointer, and a bit for each
 * block. Not for an index with parts of carved blocks, whose edges are not all pointers.
 */
#ifndef HAWK_POINTER_PLACES_H
#define HAWK_POINTER_PLACES_H

#include "hawk_pointers.h"
#include "hawk_roots.h"

enum { HAWK_PLACE_LAST = UINT8_MAX };

struct hawk_pointer_places {
	/** By edge of the graph: which word of its block it is, from 1 on; HAWK_PLACE_LAST = that
	 * one, or one behind it; 0 = it was not found. NULL = places are not kept. */
	const uint8_t *words;
	/** A bit for each block: several pointers lead to it, those of roots included. */
	const uint64_t *shared;
	struct hawk_area words_area; /**< none: both lie in memory of somebody else */
	struct hawk_area shared_area;
};

/** Bytes of `shared` for `count` blocks. */
static inline uint64_t hawk_pointer_places_shared_bytes(uint32_t count)
{
	return ((uint64_t)count / 64 + 1) * sizeof(uint64_t);
}

/** Reads all blocks that have pointers, on `threads` (1 or more) threads. `graph` and `roots` are
 * those of the index. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_pointer_places_make(const struct hawk_target *target,
					    const struct hawk_block_index *index,
					    const struct hawk_graph *graph,
					    const struct hawk_roots *roots, unsigned threads,
					    struct hawk_pointer_places *ret);

/** Accepts places of zeros, and leaves them behind. */
void hawk_pointer_places_deinit(struct hawk_pointer_places *places);

/**
 * As hawk_pointers_read() of blocks [first, end), but only the pointers that lead to blocks with a
 * bit in `wanted` come. From word HAWK_PLACE_LAST on the offset is that of one before it: places so
 * far behind are not told apart.
 */
struct hawk_error *hawk_pointer_places_tell(const struct hawk_pointer_places *places,
					    const struct hawk_graph *graph, uint32_t first,
					    uint32_t end, const uint64_t *wanted,
					    hawk_pointers_function *function, void *context);

#endif
