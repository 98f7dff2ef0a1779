/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Batches on every processor.
 */
#include "graph_batch.h"

#include "hawk_cpu.h"

static inline void pick(struct hawk_batch *batch, const struct hawk_block_index *index,
			const uint8_t *bytes, size_t words, uint32_t place, bool places)
{
	uint64_t first = index->first_chunk;
	uint64_t span = index->chunk_span;
	uint32_t count = batch->count;

	for (size_t i = 0; i < words; i++) {
		uint64_t value;

		memcpy(&value, bytes + i * HAWK_WORD_BYTES, sizeof(value));
		batch->values[count] = value;
		if (places)
			batch->places[count] = place + (uint32_t)i;
		count += (value >> HAWK_CHUNK_LOG2) - first < span;
	}
	batch->count = count;
}

static inline uint32_t pick_all(struct hawk_batch *batch, const struct hawk_block_index *index,
				const struct hawk_words *words, uint32_t block, uint32_t end,
				bool places)
{
	for (; block < end && hawk_batch_has_room(batch); block++) {
		size_t count;
		const uint8_t *bytes = hawk_batch_block_words(index, words, block, &count);

		if (!bytes)
			break;
		hawk_batch_begin_block(batch, block);
		pick(batch, index, bytes, count, 0, places);
	}
	return block;
}

static void pick_words(struct hawk_batch *batch, const struct hawk_block_index *index,
		       const uint8_t *bytes, size_t words, uint32_t place)
{
	pick(batch, index, bytes, words, place, false);
}

static void pick_words_places(struct hawk_batch *batch, const struct hawk_block_index *index,
			      const uint8_t *bytes, size_t words, uint32_t place)
{
	pick(batch, index, bytes, words, place, true);
}

static uint32_t pick_blocks(struct hawk_batch *batch, const struct hawk_block_index *index,
			    const struct hawk_words *words, uint32_t block, uint32_t end)
{
	return pick_all(batch, index, words, block, end, false);
}

static uint32_t pick_blocks_places(struct hawk_batch *batch, const struct hawk_block_index *index,
				   const struct hawk_words *words, uint32_t block, uint32_t end)
{
	return pick_all(batch, index, words, block, end, true);
}

static uint32_t resolve(struct hawk_batch *batch, const struct hawk_block_index *index,
			uint32_t *edges)
{
	return hawk_batch_resolve_all(batch, index, edges);
}

const struct hawk_batch_code hawk_batch_code_plain[2] = {
	{pick_blocks, pick_words, resolve},
	{pick_blocks_places, pick_words_places, resolve},
};

const struct hawk_batch_code *hawk_batch_code(bool places)
{
	return hawk_cpu_has_avx512() ? &hawk_batch_code_avx512[places]
				     : &hawk_batch_code_plain[places];
}
