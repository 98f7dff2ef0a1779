/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The index's chunks and records, for the code that adds blocks. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_BLOCK_COVER_H
#define HAWK_ANALYZER_HEAP_BLOCK_COVER_H

#include "hawk/heap/block_index.h"

enum { HAWK_CHUNK_RECORDS_BYTES = sizeof(struct hawk_index_record) << HAWK_CHUNK_RECORDS_LOG2 };

/** Upper limit on blocks' ends. */
static const uint64_t HAWK_INDEXED_END = UINT64_C(1) << HAWK_ADDRESS_BITS;

/** Returns the record of an address in a chunk that has a number. */
static inline struct hawk_index_record *
hawk_block_cover_record(const struct hawk_block_index *index, uint64_t address)
{
	return (struct hawk_index_record *)hawk_block_index_record(
		index, hawk_block_index_chunk(index, address), address);
}

/** Gives `chunk` a number, if it has none; chunks come in ascending order. */
struct hawk_error *hawk_block_cover_chunk(struct hawk_block_index *index, uint64_t chunk);

/** Marks the granules of [start, end), which is not empty and lies in one chunk, for block
 * `number`. `begun` = blocks that begin in earlier records than that of `start`. */
void hawk_block_cover(const struct hawk_block_index *index, uint64_t start, uint64_t end,
		      uint32_t number, uint32_t begun);

/** As hawk_block_cover(), in any number of chunks, for the part of [start, end) behind the first
 * granule of block `number`, the last one so far. */
struct hawk_error *hawk_block_cover_on(struct hawk_block_index *index, uint64_t start, uint64_t end,
				       uint32_t number);

/** Stores block `number`, which begins in a chunk that has a number, and covers its first granule.
 * No record behind that in which it begins has been touched. */
void hawk_block_cover_start(const struct hawk_block_index *index, const struct hawk_block *block,
			    uint32_t number);

/** Returns the upper 16 bits of the block's header. */
static inline uint16_t hawk_block_cover_head(const struct hawk_block *block)
{
	return (uint16_t)(block->kind << 12 | block->offset_code << 8 | block->birth);
}

#endif
