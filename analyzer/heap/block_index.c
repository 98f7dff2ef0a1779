/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block index: filled block by block in ascending order, every record touched once.
 */
#include "block_parts.h"
#include "block_run.h"
#include "hawk_cpu.h"

#include <assert.h>
#include <stdlib.h>

enum {
	CHUNK_RECORDS_BYTES = sizeof(struct hawk_index_record) << HAWK_CHUNK_RECORDS_LOG2,
	/* A header and nothing else; most blocks are larger. */
	BLOCK_BYTES_MIN = 16,
	BLOCKS_FIRST = 4096,
};

static const uint64_t CHUNK_BYTES = UINT64_C(1) << HAWK_CHUNK_LOG2;

struct hawk_error *hawk_block_index_init(struct hawk_block_index *index, uint64_t heap_bytes_max)
{
	uint64_t blocks = heap_bytes_max / BLOCK_BYTES_MIN + BLOCKS_FIRST;
	uint64_t records = ((heap_bytes_max >> HAWK_CHUNK_LOG2) + 1) * CHUNK_RECORDS_BYTES;
	struct hawk_error *err;

	*index = (struct hawk_block_index){.chunk_max = HAWK_CHUNKS_MAX};
	index->chunk_addresses = calloc((size_t)HAWK_CHUNKS_MAX + 1, sizeof(uint64_t));
	if (!index->chunk_addresses)
		return &hawk_enomem;
	err = hawk_area_create(&index->granules_area, 4 * blocks);
	if (!err)
		err = hawk_area_create(&index->sizes_area, 4 * blocks);
	if (!err)
		err = hawk_area_create(&index->traces_area, 4 * blocks);
	if (!err)
		err = hawk_area_create_sparse(&index->directory_area,
					      sizeof(uint16_t) << HAWK_DIRECTORY_LOG2);
	if (!err)
		err = hawk_area_create(&index->records_area, records);
	if (!err)
		err = hawk_area_grow(&index->records_area, CHUNK_RECORDS_BYTES);
	if (err) {
		hawk_block_index_deinit(index);
		return err;
	}
	index->granules = index->granules_area.bytes;
	index->sizes = index->sizes_area.bytes;
	index->traces = index->traces_area.bytes;
	index->directory = index->directory_area.bytes;
	index->records = index->records_area.bytes;
	return NULL;
}

struct hawk_error *hawk_block_index_keep_heads(struct hawk_block_index *index,
					       uint64_t heap_bytes_max)
{
	uint64_t blocks = heap_bytes_max / BLOCK_BYTES_MIN + BLOCKS_FIRST;
	struct hawk_error *err = hawk_area_create(&index->heads_area, 2 * blocks);

	index->heads = index->heads_area.bytes;
	return err;
}

void hawk_block_index_deinit(struct hawk_block_index *index)
{
	hawk_area_destroy(&index->heads_area);
	hawk_area_destroy(&index->granules_area);
	hawk_area_destroy(&index->sizes_area);
	hawk_area_destroy(&index->traces_area);
	hawk_area_destroy(&index->directory_area);
	hawk_area_destroy(&index->records_area);
	free(index->chunk_addresses);
	free(index->large);
	free(index->parts);
	*index = (struct hawk_block_index){0};
}

static struct hawk_error *refuse_chunks(const struct hawk_block_index *index)
{
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "the blocks are spread over more than %llu MiB of heap, which the "
				 "index of blocks cannot number",
				 (unsigned long long)index->chunk_max << (HAWK_CHUNK_LOG2 - 20));
}

/* Gives `chunk` a number; chunks come in ascending order. */
static struct hawk_error *take_chunk(struct hawk_block_index *index, uint64_t chunk)
{
	struct hawk_error *err;

	if (index->directory[chunk])
		return NULL;
	if (index->chunk_count >= index->chunk_max)
		return refuse_chunks(index);
	err = hawk_area_grow(&index->records_area,
			     (uint64_t)(index->chunk_count + 2) * CHUNK_RECORDS_BYTES);
	if (err)
		return err;
	index->records = index->records_area.bytes;
	index->chunk_count++;
	index->directory[chunk] = (uint16_t)index->chunk_count;
	index->chunk_addresses[index->chunk_count] = chunk << HAWK_CHUNK_LOG2;
	return NULL;
}

static struct hawk_error *add_large(struct hawk_block_index *index, const struct hawk_block *block)
{
	if (index->large_count == index->large_capacity) {
		size_t more = index->large_capacity ? 2 * index->large_capacity : 64;
		void *moved = reallocarray(index->large, more, sizeof(*index->large));

		if (!moved)
			return &hawk_enomem;
		index->large = moved;
		index->large_capacity = more;
	}
	index->large[index->large_count++] = (struct hawk_large_block){
		.start = block->start, .size = block->size, .number = index->count};
	return NULL;
}

static struct hawk_index_record *record_at(struct hawk_block_index *index, uint64_t address)
{
	return (struct hawk_index_record *)hawk_block_index_record(
		index, hawk_block_index_chunk(index, address), address);
}

/* Marks the granules of [start, end), which is not empty and lies in one chunk. `begun` = blocks
 * that begin in records before the first one that is touched for the first time. */
static void cover(struct hawk_block_index *index, uint64_t start, uint64_t end, uint32_t begun)
{
	struct hawk_index_record *record = record_at(index, start);
	unsigned first = (unsigned)(start >> 4) & 63;
	uint64_t left = ((end + HAWK_GRANULE_BYTES - 1) >> 4) - (start >> 4);

	for (; left; record++, first = 0, begun = index->count + 1) {
		unsigned here = left < 64 - first ? (unsigned)left : 64 - first;

		if (!record->covers)
			record->rank = begun;
		record->covers |= (~UINT64_C(0) >> (64 - here)) << first;
		left -= here;
	}
}

/* What lies behind the first chunk of a block. */
static struct hawk_error *cover_rest(struct hawk_block_index *index, const struct hawk_block *block,
				     uint64_t at)
{
	uint64_t end = block->start + block->size;

	for (; at < end; at += CHUNK_BYTES) {
		struct hawk_error *err;

		if (end - at >= CHUNK_BYTES) {
			index->directory[at >> HAWK_CHUNK_LOG2] = HAWK_CHUNK_INSIDE;
			continue;
		}
		err = take_chunk(index, at >> HAWK_CHUNK_LOG2);
		if (err)
			return err;
		cover(index, at, end, index->count + 1);
	}
	return NULL;
}

/* A block that leaves its chunk. */
static struct hawk_error *add_spanning(struct hawk_block_index *index,
				       const struct hawk_block *block, uint64_t chunk_end)
{
	if (block->size >= CHUNK_BYTES) {
		struct hawk_error *err = add_large(index, block);

		if (err)
			return err;
	}
	cover(index, block->start, chunk_end, index->count);
	return cover_rest(index, block, chunk_end);
}

/* For `count` more blocks. */
static struct hawk_error *make_room(struct hawk_block_index *index, size_t count)
{
	uint64_t bytes = 4 * ((uint64_t)index->count + count);
	struct hawk_error *err;

	if (bytes <= index->granules_area.size && bytes <= index->sizes_area.size &&
	    bytes <= index->traces_area.size &&
	    (!index->heads || bytes / 2 <= index->heads_area.size))
		return NULL;
	err = hawk_area_grow(&index->granules_area, bytes);
	if (!err)
		err = hawk_area_grow(&index->sizes_area, bytes);
	if (!err)
		err = hawk_area_grow(&index->traces_area, bytes);
	if (!err && index->heads) {
		err = hawk_area_grow(&index->heads_area, bytes / 2);
		index->heads = index->heads_area.bytes;
	}
	index->granules = index->granules_area.bytes;
	index->sizes = index->sizes_area.bytes;
	index->traces = index->traces_area.bytes;
	return err;
}

/* As the header has it. */
static uint16_t head_of(const struct hawk_block *block)
{
	return (uint16_t)(block->kind << 12 | block->offset_code << 8 | block->birth);
}

struct hawk_error *hawk_block_index_add_one(struct hawk_block_index *index,
					    const struct hawk_block *block)
{
	uint64_t chunk = block->start >> HAWK_CHUNK_LOG2;
	uint64_t chunk_end = (chunk + 1) << HAWK_CHUNK_LOG2;
	uint64_t space_end = UINT64_C(1) << 47;
	struct hawk_index_record *record;
	struct hawk_error *err;

	assert(block->start >= index->end && !(block->start % HAWK_GRANULE_BYTES));
	if (block->start >= space_end || block->size > space_end - block->start)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "there are blocks above 47 bits of address");
	if (index->count >= HAWK_BLOCKS_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are more than %u blocks",
					 HAWK_BLOCKS_MAX);
	err = make_room(index, 1);
	if (!err)
		err = take_chunk(index, chunk);
	if (err)
		return err;
	index->granules[index->count] =
		(uint32_t)index->directory[chunk] << HAWK_CHUNK_GRANULES_LOG2 |
		(uint32_t)(block->start >> 4 & ((1u << HAWK_CHUNK_GRANULES_LOG2) - 1));
	index->sizes[index->count] = block->size < UINT32_MAX ? (uint32_t)block->size : UINT32_MAX;
	index->traces[index->count] = block->trace;
	if (index->heads)
		index->heads[index->count] = head_of(block);
	index->end = block->start + block->size;
	if (index->end > chunk_end)
		err = add_spanning(index, block, chunk_end);
	else
		cover(index, block->start, block->start + (block->size ? block->size : 1),
		      index->count);
	if (err)
		return err;
	if (!index->count)
		index->first_chunk = chunk;
	index->chunk_span = (index->end >> HAWK_CHUNK_LOG2) - index->first_chunk + 1;
	record = record_at(index, block->start);
	record->starts |= UINT64_C(1) << (block->start >> 4 & 63);
	index->count++;
	return NULL;
}

/**
 * Puts marks of blocks, the last of which ends in front of granule `end`, into the records, and
 * takes them away. Covered are the granules from a start to its end: in binary, 2^end - 2^start.
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

size_t hawk_block_run_plain(struct hawk_block_run *run, const struct hawk_block *blocks,
			    size_t first, size_t count)
{
	size_t i = first;

	for (; i + 1 < count && !blocks[i].depth && !blocks[i + 1].depth; i++) {
		uint64_t within = blocks[i].start - run->base;
		uint64_t size = blocks[i].size;

		/* An empty one is more than any. */
		if (within >= run->room || size - 1 >= run->room - within)
			break;
		run->end = (within + size + HAWK_GRANULE_BYTES - 1) >> 4;
		run->granules[i] = run->id + (uint32_t)(within >> 4);
		run->sizes[i] = (uint32_t)size;
		run->traces[i] = blocks[i].trace;
		run->marks->starts[within >> 10] |= UINT64_C(1) << (within >> 4 & 63);
		run->marks->ends[run->end >> 6] |= UINT64_C(1) << (run->end & 63);
	}
	return i;
}

/**
 * Nearly every block lies in the same chunk as the one before it, is not empty and not carved up:
 * such are taken here, with everything in registers. The same as hawk_block_index_add_one()
 * otherwise, at a third of the cost. Returns how many were taken; there is room for all.
 */
static size_t add_usual(struct hawk_block_index *index, const struct hawk_block *blocks,
			size_t count, struct hawk_block_marks *marks)
{
	uint64_t chunk = blocks[0].start >> HAWK_CHUNK_LOG2;
	uint64_t chunk_start = chunk << HAWK_CHUNK_LOG2;
	uint32_t number = hawk_block_index_chunk(index, chunk_start);
	uint64_t record = (blocks[0].start - chunk_start) >> 10;
	uint64_t room = CHUNK_BYTES - (record << 10);
	struct hawk_block_run run = {
		.base = chunk_start + (record << 10),
		.room = room < HAWK_MARKED_RECORDS << 10 ? room : HAWK_MARKED_RECORDS << 10,
		.id = number << HAWK_CHUNK_GRANULES_LOG2 | (uint32_t)(record << 6),
		.granules = index->granules + index->count,
		.sizes = index->sizes + index->count,
		.traces = index->traces + index->count,
		.marks = marks,
	};
	size_t taken = 0;

	if (!number || number == HAWK_CHUNK_INSIDE || !index->count || index->heads)
		return 0;
	if (hawk_cpu_has_avx512())
		taken = hawk_block_run_avx512(&run, blocks, count);
	taken = hawk_block_run_plain(&run, blocks, taken, count);
	if (!taken)
		return 0;
	cover_marked(index->records + ((size_t)number << HAWK_CHUNK_RECORDS_LOG2) + record, marks,
		     run.end, index->count);
	index->count += (uint32_t)taken;
	index->end = blocks[taken - 1].start + blocks[taken - 1].size;
	index->chunk_span = ((index->end >> HAWK_CHUNK_LOG2) - index->first_chunk) + 1;
	return taken;
}

struct hawk_error *hawk_block_index_add(void *index, const struct hawk_block *blocks, size_t count)
{
	struct hawk_block_index *to = index;
	/* With those that are held back. */
	size_t more = count + HAWK_BLOCK_DEPTH_MAX + 1;
	bool room = to->count < HAWK_BLOCKS_MAX && more <= HAWK_BLOCKS_MAX - to->count;
	struct hawk_error *err = room ? make_room(to, more) : NULL;
	struct hawk_block_marks marks = {0};

	for (size_t i = 0; i < count && !err; i++) {
		/* The next one shows that nothing was carved out. */
		bool whole = i + 1 < count && !blocks[i].depth && !blocks[i + 1].depth;

		if (!whole)
			err = hawk_block_parts_hold(to, &blocks[i]);
		else if (to->carved_count)
			err = hawk_block_parts_settle(to, 0);
		if (err || !whole)
			continue;
		err = hawk_block_index_add_one(to, &blocks[i]);
		/* `room` is for all from here on, but for parts. */
		if (!err && room && i + 1 < count && !to->part_count)
			i += add_usual(to, blocks + i + 1, count - i - 1, &marks);
	}
	return err;
}

struct hawk_error *hawk_block_index_finish(struct hawk_block_index *index)
{
	struct hawk_error *err = hawk_block_parts_settle(index, 0);
	size_t bytes = sizeof(uint32_t) * (size_t)index->count;

	hawk_area_trim(&index->granules_area, bytes);
	hawk_area_trim(&index->sizes_area, bytes);
	hawk_area_trim(&index->traces_area, bytes);
	if (index->heads)
		hawk_area_trim(&index->heads_area, bytes / 2);
	hawk_area_trim(&index->records_area,
		       (size_t)(index->chunk_count + 1) * CHUNK_RECORDS_BYTES);
	return err;
}

struct hawk_error *hawk_block_index_sweep(struct hawk_block_index *index,
					  const struct hawk_target *target,
					  const struct hawk_sweep_plan *plan,
					  struct hawk_findings *findings,
					  struct hawk_sweep_result *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	uint64_t bytes = 0;
	struct hawk_error *err;

	for (size_t i = 0; i < count; i++)
		bytes += mappings[i].present_bytes;
	err = hawk_block_index_init(index, bytes);
	if (err)
		return err;
	err = hawk_sweep(target, plan, hawk_block_index_add, index, NULL, NULL, findings, ret);
	if (!err)
		err = hawk_block_index_finish(index);
	if (err)
		hawk_block_index_deinit(index);
	return err;
}

uint64_t hawk_block_index_memory_bytes(const struct hawk_block_index *index)
{
	/* Of the directory, which is as large as the address space, pages are used where chunks
	 * are: next to nothing. */
	return (index->heads ? 14 : 12) * (uint64_t)index->count +
	       (uint64_t)index->chunk_count * (CHUNK_RECORDS_BYTES + sizeof(uint16_t)) +
	       sizeof(uint64_t) * HAWK_CHUNKS_MAX + sizeof(*index->large) * index->large_capacity;
}

/* The last large block that begins at or below `address`, or NULL. */
static const struct hawk_large_block *large_below(const struct hawk_block_index *index,
						  uint64_t address)
{
	size_t low = 0;
	size_t high = index->large_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->large[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &index->large[low - 1] : NULL;
}

uint64_t hawk_block_index_large_size(const struct hawk_block_index *index, uint32_t block)
{
	const struct hawk_large_block *large = large_below(index, hawk_block_start(index, block));

	assert(large && large->number == block);
	return large->size;
}

uint32_t hawk_block_index_large_at(const struct hawk_block_index *index, uint64_t address)
{
	const struct hawk_large_block *large = large_below(index, address);

	assert(large && address - large->start < large->size);
	return large->number;
}

uint32_t hawk_block_index_first(const struct hawk_block_index *index, uint64_t address)
{
	uint32_t low = 0;
	uint32_t high = index->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (hawk_block_start(index, middle) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
