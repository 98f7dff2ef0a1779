/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Batches: branch-free loops over words.
 */
#include "graph_batch.h"

void hawk_batch_pick_words(struct hawk_batch *batch, const struct hawk_block_index *index,
			   const uint8_t *bytes, size_t words)
{
	uint64_t first = index->first_chunk;
	uint64_t span = index->chunk_span;
	uint32_t count = batch->count;

	for (size_t i = 0; i < words; i++) {
		uint64_t value;

		memcpy(&value, bytes + i * HAWK_WORD_BYTES, sizeof(value));
		batch->values[count] = value;
		count += (value >> HAWK_CHUNK_LOG2) - first < span;
	}
	batch->count = count;
}

/** The words of a small block in place; NULL = to be read otherwise. */
static const uint8_t *block_words(const struct hawk_block_index *index,
				  const struct hawk_words *words, uint32_t block, size_t *ret)
{
	uint64_t at = hawk_block_start(index, block);
	const uint8_t *bytes;

	*ret = index->sizes[block] / HAWK_WORD_BYTES;
	if (*ret > HAWK_BATCH_PIECE || at < words->view_start || at >= words->view_end ||
	    *ret * HAWK_WORD_BYTES > words->view_end - at)
		return NULL;
	bytes = words->view + (at - words->view_start);
	hawk_prefetch_ahead(bytes);
	hawk_prefetch_ahead(bytes + (1 << HAWK_LINE_LOG2));
	return bytes;
}

uint32_t hawk_batch_pick_blocks(struct hawk_batch *batch, const struct hawk_block_index *index,
				const struct hawk_words *words, uint32_t block, uint32_t end)
{
	for (; block < end && hawk_batch_has_room(batch); block++) {
		size_t count;
		const uint8_t *bytes = block_words(index, words, block, &count);

		if (!bytes)
			break;
		hawk_batch_begin_block(batch, block);
		hawk_batch_pick_words(batch, index, bytes, count);
	}
	return block;
}

uint32_t hawk_batch_resolve(struct hawk_batch *batch, const struct hawk_block_index *index,
			    uint32_t *edges)
{
	uint32_t edge_count = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t value = batch->values[i];
		uint32_t number = hawk_block_index_chunk(index, value);

		if (number != HAWK_CHUNK_INSIDE)
			hawk_prefetch(hawk_block_index_record(index, number, value));
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t value = batch->values[i];
		uint32_t edge = hawk_block_index_resolve(
			index, hawk_block_index_chunk(index, value), value);

		batch->found[i] = edge_count;
		edges[edge_count] = edge;
		edge_count += edge != HAWK_BLOCK_NOWHERE;
	}
	batch->found[batch->count] = edge_count;
	return edge_count;
}
