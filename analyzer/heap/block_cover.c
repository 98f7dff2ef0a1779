/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds one block to the index: its chunk, its row, its records.
 */
#include "block_cover.h"

#include "hawk/base/numbers.h"

static struct hawk_error *refuse_chunks(const struct hawk_block_index *index)
{
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "the blocks are spread over more than %llu MiB of heap, the limit "
				 "of the block index",
				 (unsigned long long)index->chunk_max
					 << (hawk_block_index_chunk_log2(index) - 20));
}

struct hawk_error *hawk_block_cover_chunk(struct hawk_block_index *index, uint64_t chunk)
{
	uint64_t bytes = (uint64_t)(index->chunk_count + 2) * HAWK_CHUNK_RECORDS_BYTES;

	if (index->directory[chunk])
		return NULL;
	if (index->chunk_count >= index->chunk_max)
		return refuse_chunks(index);
	if (bytes > index->records_area.size) {
		struct hawk_error *err = hawk_area_grow(&index->records_area, bytes);

		if (err)
			return err;
		index->records = index->records_area.bytes;
	}
	index->chunk_count++;
	index->directory[chunk] = (uint16_t)index->chunk_count;
	index->chunk_addresses[index->chunk_count] = chunk << hawk_block_index_chunk_log2(index);
	return NULL;
}

void hawk_block_cover(const struct hawk_block_index *index, uint64_t start, uint64_t end,
		      uint32_t number, uint32_t begun)
{
	struct hawk_index_record *record = hawk_block_cover_record(index, start);
	unsigned granule_log2 = hawk_block_index_granule_log2(index);
	unsigned first = (unsigned)(start >> granule_log2) & 63;
	uint64_t left =
		((end + (1u << granule_log2) - 1) >> granule_log2) - (start >> granule_log2);

	for (; left; record++, first = 0, begun = number + 1) {
		unsigned here = left < 64 - first ? (unsigned)left : 64 - first;

		if (!record->covers)
			record->rank = begun;
		record->covers |= (~UINT64_C(0) >> (64 - here)) << first;
		left -= here;
	}
}

struct hawk_error *hawk_block_cover_on(struct hawk_block_index *index, uint64_t start, uint64_t end,
				       uint32_t number)
{
	unsigned chunk_log2 = hawk_block_index_chunk_log2(index);
	uint64_t chunk_bytes = UINT64_C(1) << chunk_log2;
	uint64_t granule_bytes = UINT64_C(1) << hawk_block_index_granule_log2(index);
	uint64_t next;

	if (start == hawk_block_start(index, number))
		start += granule_bytes;
	for (uint64_t at = start; at < end; at = next) {
		struct hawk_error *err;

		next = (at & -chunk_bytes) + chunk_bytes;
		if (end >= next && next - at == chunk_bytes) {
			index->directory[at >> chunk_log2] = HAWK_CHUNK_INSIDE;
			continue;
		}
		err = hawk_block_cover_chunk(index, at >> chunk_log2);
		if (err)
			return err;
		hawk_block_cover(index, at, hawk_least(end, next), number, number + 1);
	}
	return NULL;
}

void hawk_block_cover_start(const struct hawk_block_index *index, const struct hawk_block *block,
			    uint32_t number)
{
	uint32_t chunk = hawk_block_index_chunk(index, block->start);
	uint64_t granule = block->start >> hawk_block_index_granule_log2(index);

	index->granules[number] = chunk << HAWK_CHUNK_GRANULES_LOG2 |
				  (uint32_t)(granule & ((1u << HAWK_CHUNK_GRANULES_LOG2) - 1));
	index->sizes[number] = block->size < UINT32_MAX ? (uint32_t)block->size : UINT32_MAX;
	index->traces[number] = block->trace;
	if (index->heads)
		index->heads[number] = hawk_block_cover_head(block);
	hawk_block_cover(index, block->start, block->start + 1, number, number);
	hawk_block_cover_record(index, block->start)->starts |= UINT64_C(1) << (granule & 63);
}
