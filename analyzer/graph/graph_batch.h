/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Words of blocks on their way into the graph: picked from a run of blocks, looked up together, so
 * that their cache misses overlap, and turned into edges. Internal to graph/.
 *
 * Free of branches that depend on what words are: that cannot be predicted.
 */
#ifndef HAWK_ANALYZER_GRAPH_GRAPH_BATCH_H
#define HAWK_ANALYZER_GRAPH_GRAPH_BATCH_H

#include "graph_words.h"
#include "hawk/base/prefetch.h"

enum {
	HAWK_BATCH_BLOCKS = 512,
	HAWK_BATCH_CANDIDATES = 1024,
	HAWK_BATCH_PIECE = 64, /**< words that are picked at a time */
	/** Picking writes each word before it knows whether it counts. */
	HAWK_BATCH_SPARE = 1,
};

struct hawk_batch {
	uint32_t first_block; /**< of those that begin here */
	uint32_t block_count;
	uint32_t count;                            /**< candidates */
	uint32_t starts[HAWK_BATCH_BLOCKS];        /**< by block: candidates in front of it */
	uint32_t found[HAWK_BATCH_CANDIDATES + 1]; /**< by candidate: edges in front of it */
	uint64_t values[HAWK_BATCH_CANDIDATES + HAWK_BATCH_SPARE];
};

/** Picks from the blocks [block, end) as long as there is room, and they are small and lie in the
 * view of `words`. Returns the first that was not taken. */
uint32_t hawk_batch_pick_blocks(struct hawk_batch *batch, const struct hawk_block_index *index,
				const struct hawk_words *words, uint32_t block, uint32_t end);

/** Picks from `words` words, for which there is room. */
void hawk_batch_pick_words(struct hawk_batch *batch, const struct hawk_block_index *index,
			   const uint8_t *bytes, size_t words);

/** Turns candidates into edges, fills `found`. Returns the number of edges. `edges` has room for
 * all candidates. */
uint32_t hawk_batch_resolve(struct hawk_batch *batch, const struct hawk_block_index *index,
			    uint32_t *edges);

/** Room for a piece, and for a block to begin? */
static inline bool hawk_batch_has_room(const struct hawk_batch *batch)
{
	return batch->block_count < HAWK_BATCH_BLOCKS &&
	       batch->count <= HAWK_BATCH_CANDIDATES - HAWK_BATCH_PIECE;
}

/** What follows belongs to `block`. */
static inline void hawk_batch_begin_block(struct hawk_batch *batch, uint32_t block)
{
	if (!batch->block_count)
		batch->first_block = block;
	batch->starts[batch->block_count++] = batch->count;
}

#endif
