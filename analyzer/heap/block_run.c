/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stores runs of blocks: one pass over the blocks, then one over their records.
 */
#include "block_run.h"

#include "block_cover.h"

#include "hawk/base/numbers.h"

/** A run that is being stored. */
struct block_run {
	uint64_t base; /**< address of the first record's KiB */
	uint64_t room; /**< bytes from `base` on in which blocks are taken */
	unsigned granule_log2;
	uint32_t id;                         /**< id of the granule at `base` */
	uint32_t *granules, *sizes, *traces; /**< of the run's first block */
	uint16_t *heads;                     /**< NULL = not kept */
	struct hawk_block_marks *marks;
	uint64_t end; /**< granule behind the last block, from `base` on */
};

/**
 * Moves the marks of blocks into the records; the last block ends before granule `end`. A block
 * covers the granules from its start to its end: in binary, 2^end - 2^start.
 */
static void cover_marked(struct hawk_index_record *records, struct hawk_block_marks *marks,
			 size_t end, uint32_t rank)
{
	uint64_t borrow = 0;

	for (size_t i = 0; i * 64 < end; i++) {
		struct hawk_index_record *record = &records[i];
		uint64_t starts = marks->starts[i];
		uint64_t covers;
		bool less = __builtin_sub_overflow(marks->ends[i], starts, &covers);

		borrow = (uint64_t)__builtin_sub_overflow(covers, borrow, &covers) | less;
		marks->starts[i] = marks->ends[i] = 0;
		if (!covers)
			continue;
		if (!record->covers)
			record->rank = rank;
		record->starts |= starts;
		record->covers |= covers;
		rank += hawk_popcount(starts);
	}
	marks->ends[end / 64] = 0;
}

/** Takes blocks as long as they are usual and the next one shows that nothing was carved out.
 * Returns their number. */
static size_t take_run(struct block_run *run, const struct hawk_block *blocks, size_t count)
{
	unsigned log2 = run->granule_log2;
	size_t i = 0;

	for (; i + 1 < count && !blocks[i].depth && !blocks[i + 1].depth; i++) {
		uint64_t within = blocks[i].start - run->base;
		uint64_t size = blocks[i].size;

		/* An empty block wraps round and fails the test. */
		if (within >= run->room || size - 1 >= run->room - within)
			break;
		run->end = (within + size + (1u << log2) - 1) >> log2;
		run->granules[i] = run->id + (uint32_t)(within >> log2);
		run->sizes[i] = (uint32_t)size;
		run->traces[i] = blocks[i].trace;
		if (run->heads)
			run->heads[i] = hawk_block_cover_head(&blocks[i]);
		run->marks->starts[within >> (log2 + 6)] |= UINT64_C(1) << (within >> log2 & 63);
		run->marks->ends[run->end >> 6] |= UINT64_C(1) << (run->end & 63);
	}
	return i;
}

size_t hawk_block_run_take(const struct hawk_block_index *index, const struct hawk_block *blocks,
			   size_t count, uint32_t number, struct hawk_block_marks *marks)
{
	uint32_t chunk = hawk_block_index_chunk(index, blocks[0].start);
	uint64_t chunk_bytes = UINT64_C(1) << hawk_block_index_chunk_log2(index);
	unsigned record_log2 = HAWK_RECORD_LOG2 - index->finer;
	uint64_t within = blocks[0].start & (chunk_bytes - 1);
	uint64_t record = within >> record_log2;
	uint64_t base = blocks[0].start - within + (record << record_log2);
	struct block_run run = {
		.base = base,
		.room = hawk_least(chunk_bytes - (record << record_log2),
				   (uint64_t)HAWK_MARKED_RECORDS << record_log2),
		.granule_log2 = hawk_block_index_granule_log2(index),
		.id = chunk << HAWK_CHUNK_GRANULES_LOG2 | (uint32_t)(record << 6),
		.granules = index->granules + number,
		.sizes = index->sizes + number,
		.traces = index->traces + number,
		.heads = index->heads ? index->heads + number : NULL,
		.marks = marks,
	};
	size_t taken;

	taken = take_run(&run, blocks, count);
	if (taken)
		cover_marked(index->records + ((size_t)chunk << HAWK_CHUNK_RECORDS_LOG2) + record,
			     marks, run.end, number);
	return taken;
}
