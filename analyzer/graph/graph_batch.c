/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Batches on every processor.
 */
#include "graph_batch.h"

#include "hawk_cpu.h"

static void pick_words(struct hawk_batch *batch, const struct hawk_block_index *index,
		       const uint8_t *bytes, size_t words, uint32_t place)
{
	uint64_t first = index->first_chunk;
	uint64_t span = index->chunk_span;
	uint32_t count = batch->count;

	for (size_t i = 0; i < words; i++) {
		uint64_t value;

		memcpy(&value, bytes + i * HAWK_WORD_BYTES, sizeof(value));
		batch->values[count] = value;
		if (batch->wants_places)
			batch->places[count] = place + (uint32_t)i;
		count += (value >> HAWK_CHUNK_LOG2) - first < span;
	}
	batch->count = count;
}

static uint32_t pick_blocks(struct hawk_batch *batch, const struct hawk_block_index *index,
			    const struct hawk_words *words, uint32_t block, uint32_t end)
{
	for (; block < end && hawk_batch_has_room(batch); block++) {
		size_t count;
		const uint8_t *bytes = hawk_batch_block_words(index, words, block, &count);

		if (!bytes)
			break;
		hawk_batch_begin_block(batch, block);
		pick_words(batch, index, bytes, count, 0);
	}
	return block;
}

static uint32_t resolve(struct hawk_batch *batch, const struct hawk_block_index *index,
			uint32_t *edges)
{
	return hawk_batch_resolve_all(batch, index, edges);
}

const struct hawk_batch_code hawk_batch_code_plain = {pick_blocks, pick_words, resolve};

const struct hawk_batch_code *hawk_batch_code(void)
{
	return hawk_cpu_has_avx512() ? &hawk_batch_code_avx512 : &hawk_batch_code_plain;
}
