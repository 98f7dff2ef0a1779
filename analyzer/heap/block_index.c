/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block index: filled block by block in ascending order, every record touched once.
 */
#include "block_cover.h"
#include "block_nests.h"
#include "block_run.h"

#include <assert.h>
#include <stdlib.h>

#include "hawk/base/array.h"

enum {
	/* A header and nothing else; most blocks are larger. */
	BLOCK_BYTES_MIN = 16,
	BLOCKS_FIRST = 4096,
};

/* As large as the address space, but pages are used only where chunks are. */
static struct hawk_error *make_directory(struct hawk_block_index *index)
{
	uint64_t bytes = sizeof(*index->directory)
			 << (HAWK_ADDRESS_BITS - hawk_block_index_chunk_log2(index));
	struct hawk_error *err = hawk_area_create_sparse(&index->directory_area, bytes);

	index->directory = index->directory_area.bytes;
	return err;
}

struct hawk_error *hawk_block_index_init(struct hawk_block_index *index, uint64_t heap_bytes_max)
{
	uint64_t blocks = heap_bytes_max / BLOCK_BYTES_MIN + BLOCKS_FIRST;
	uint64_t records = ((heap_bytes_max >> HAWK_CHUNK_LOG2) + 1) * HAWK_CHUNK_RECORDS_BYTES;
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
		err = make_directory(index);
	if (!err)
		err = hawk_area_create(&index->records_area, records);
	if (!err)
		err = hawk_area_grow(&index->records_area, HAWK_CHUNK_RECORDS_BYTES);
	if (err) {
		hawk_block_index_deinit(index);
		return err;
	}
	index->granules = index->granules_area.bytes;
	index->sizes = index->sizes_area.bytes;
	index->traces = index->traces_area.bytes;
	index->records = index->records_area.bytes;
	return NULL;
}

struct hawk_error *hawk_block_index_use_small_granules(struct hawk_block_index *index)
{
	hawk_area_destroy(&index->directory_area);
	index->finer = 1;
	return make_directory(index);
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
	free(index->nests);
	*index = (struct hawk_block_index){0};
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

/* Makes room for `count` more blocks. */
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

/* Stores the next block, and covers its first granule. */
static struct hawk_error *add_row(struct hawk_block_index *index, const struct hawk_block *block)
{
	unsigned chunk_log2 = hawk_block_index_chunk_log2(index);
	uint64_t chunk = block->start >> chunk_log2;
	uint64_t end = block->start + block->size;
	struct hawk_error *err;

	assert(!(block->start & ((1u << hawk_block_index_granule_log2(index)) - 1)));
	if (block->start >= HAWK_INDEXED_END || block->size > HAWK_INDEXED_END - block->start)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "there are blocks above 48 bits of address");
	if (index->count >= HAWK_BLOCKS_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are more than %u blocks",
					 HAWK_BLOCKS_MAX);
	err = make_room(index, 1);
	if (!err)
		err = hawk_block_cover_chunk(index, chunk);
	if (!err && block->size >> chunk_log2)
		err = add_large(index, block);
	if (err)
		return err;
	hawk_block_cover_start(index, block, index->count);
	if (!index->count)
		index->first_chunk = chunk;
	if (end > index->end)
		index->end = end;
	index->chunk_span = (index->end >> chunk_log2) - index->first_chunk + 1;
	index->count++;
	return NULL;
}

/* Stores a block without nested blocks. */
static struct hawk_error *add_whole(struct hawk_block_index *index, const struct hawk_block *block)
{
	struct hawk_error *err = add_row(index, block);

	if (err)
		return err;
	err = hawk_block_cover_on(index, block->start, block->start + block->size,
				  index->count - 1);
	index->count -= err != NULL;
	return err;
}

/* Stores a block that is nested or may hold nested blocks. */
static struct hawk_error *add_open(struct hawk_block_index *index, const struct hawk_block *block)
{
	struct hawk_error *err = hawk_block_nests_settle(index, block->depth);

	if (!err)
		err = hawk_block_nests_cut(index, block);
	if (!err)
		err = add_row(index, block);
	if (!err)
		hawk_block_nests_open(index, block);
	return err;
}

/* Stores a run of usual blocks, at a third of the cost. Returns their number. The index must have
 * room for all. */
static size_t add_usual(struct hawk_block_index *index, const struct hawk_block *blocks,
			size_t count, struct hawk_block_marks *marks)
{
	uint32_t number = hawk_block_index_chunk(index, blocks[0].start);
	size_t taken;

	if (!number || number == HAWK_CHUNK_INSIDE || !index->count)
		return 0;
	taken = hawk_block_run_take(index, blocks, count, index->count, marks);
	if (!taken)
		return 0;
	index->count += (uint32_t)taken;
	index->end = blocks[taken - 1].start + blocks[taken - 1].size;
	index->chunk_span =
		(index->end >> hawk_block_index_chunk_log2(index)) - index->first_chunk + 1;
	return taken;
}

struct hawk_error *hawk_block_index_add(struct hawk_block_index *to,
					const struct hawk_block *blocks, size_t count)
{
	bool room = to->count < HAWK_BLOCKS_MAX && count <= HAWK_BLOCKS_MAX - to->count;
	struct hawk_error *err = room ? make_room(to, count) : NULL;
	struct hawk_block_marks marks = {0};

	for (size_t i = 0; i < count && !err; i++) {
		/* The next block shows that nothing is nested in this one. */
		bool whole = i + 1 < count && !blocks[i].depth && !blocks[i + 1].depth;

		if (!whole) {
			err = add_open(to, &blocks[i]);
			continue;
		}
		if (to->open_count)
			err = hawk_block_nests_settle(to, 0);
		if (!err)
			err = add_whole(to, &blocks[i]);
		if (!err && room)
			i += add_usual(to, blocks + i + 1, count - i - 1, &marks);
	}
	return err;
}

struct hawk_error *hawk_block_index_finish(struct hawk_block_index *index)
{
	struct hawk_error *err = hawk_block_nests_settle(index, 0);
	size_t bytes = sizeof(uint32_t) * (size_t)index->count;

	hawk_area_trim(&index->granules_area, bytes);
	hawk_area_trim(&index->sizes_area, bytes);
	hawk_area_trim(&index->traces_area, bytes);
	if (index->heads)
		hawk_area_trim(&index->heads_area, bytes / 2);
	hawk_area_trim(&index->records_area,
		       (size_t)(index->chunk_count + 1) * HAWK_CHUNK_RECORDS_BYTES);
	return err;
}

uint64_t hawk_block_index_memory_bytes(const struct hawk_block_index *index)
{
	/* Ignores the directory: it spans the address space, but uses pages only where chunks are.
	 */
	return (index->heads ? 14 : 12) * (uint64_t)index->count +
	       (uint64_t)index->chunk_count * (HAWK_CHUNK_RECORDS_BYTES + sizeof(uint16_t)) +
	       sizeof(uint64_t) * HAWK_CHUNKS_MAX + sizeof(*index->large) * index->large_capacity;
}

/* Returns the last large block that begins at or below `address`, or NULL. */
static const struct hawk_large_block *large_below(const struct hawk_block_index *index,
						  uint64_t address)
{
	size_t above =
		hawk_array_first_above(index->large, index->large_count, sizeof(*index->large),
				       offsetof(struct hawk_large_block, start), address);

	return above ? &index->large[above - 1] : NULL;
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

	if (index->nest_count)
		return hawk_block_index_inside(
			index, hawk_block_index_first(index, address + 1) - 1, address);
	assert(large && address - large->start < large->size);
	return large->number << 1 | 1;
}

uint32_t hawk_block_index_ended_at(const struct hawk_block_index *index, uint64_t address)
{
	bool interior;
	uint32_t block = index->apart ? hawk_block_index_find(index, address - 1, &interior)
				      : HAWK_BLOCK_NOWHERE;

	return block == HAWK_BLOCK_NOWHERE ? block : block << 1 | 1;
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
