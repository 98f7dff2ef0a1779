/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds blocks that pools carved up: the remainder between the pieces is indexed as parts, so index
 * entries are disjoint. The first part has the block's start.
 */
#include "block_parts.h"

#include <stdlib.h>

enum { WORD_BYTES = 8 };

static struct hawk_error *note_part(struct hawk_block_index *index, struct hawk_carved *carved)
{
	if (index->part_count == index->part_capacity) {
		size_t more = index->part_capacity ? 2 * index->part_capacity : 64;
		void *moved = reallocarray(index->parts, more, sizeof(*index->parts));

		if (!moved)
			return &hawk_enomem;
		index->parts = moved;
		index->part_capacity = more;
	}
	if (carved->latest != SIZE_MAX)
		index->parts[carved->latest].next = index->count;
	else
		carved->first = index->part_count;
	index->parts[index->part_count] = (struct hawk_block_part){
		.number = index->count,
		.previous = carved->latest != SIZE_MAX ? index->parts[carved->latest].number
						       : HAWK_BLOCK_NOWHERE,
		.next = HAWK_BLOCK_NOWHERE,
		.first = carved->latest != SIZE_MAX ? index->parts[carved->latest].first
						    : index->count,
		.end = carved->rest.start + carved->rest.size,
	};
	carved->latest = index->part_count++;
	return NULL;
}

/* The first `bytes` of what is left. */
static struct hawk_error *add_part(struct hawk_block_index *index, struct hawk_carved *carved,
				   uint64_t bytes)
{
	struct hawk_block part = carved->rest;
	struct hawk_error *err;

	/* Padding behind a piece holds no word. The first part is there always: it is pointed to.
	 */
	if (bytes < WORD_BYTES && carved->latest != SIZE_MAX)
		return NULL;
	part.size = bytes;
	err = note_part(index, carved);
	return err ? err : hawk_block_index_add_one(index, &part);
}

/* Cuts `piece` out of the innermost block that is held back. */
static struct hawk_error *cut(struct hawk_block_index *index, const struct hawk_block *piece)
{
	struct hawk_carved *carved = &index->carved[index->carved_count - 1];
	uint64_t end = carved->rest.start + carved->rest.size;
	uint64_t header = piece->start - HAWK_HEADER_BYTES;
	uint64_t next = (piece->start + piece->size + HAWK_GRANULE_BYTES - 1) &
			-(uint64_t)HAWK_GRANULE_BYTES;
	struct hawk_error *err = NULL;

	assert(header <= end && piece->start + piece->size <= end);
	carved->left_bytes -= piece->size + HAWK_HEADER_BYTES < carved->left_bytes
				      ? piece->size + HAWK_HEADER_BYTES
				      : carved->left_bytes;
	if (header >= carved->rest.start)
		err = add_part(index, carved, header - carved->rest.start);
	carved->rest.start = next;
	carved->rest.size = end > next ? end - next : 0;
	return err;
}

struct hawk_error *hawk_block_parts_settle(struct hawk_block_index *index, unsigned depth)
{
	struct hawk_error *err = NULL;

	while (!err && index->carved_count > depth) {
		struct hawk_carved *carved = &index->carved[--index->carved_count];

		if (carved->latest == SIZE_MAX) {
			err = hawk_block_index_add_one(index, &carved->rest);
			continue;
		}
		err = add_part(index, carved, carved->rest.size);
		index->parts[carved->first].left_bytes = carved->left_bytes;
	}
	return err;
}

struct hawk_error *hawk_block_parts_hold(struct hawk_block_index *index,
					 const struct hawk_block *block)
{
	struct hawk_error *err = hawk_block_parts_settle(index, block->depth);

	if (!err && index->carved_count)
		err = cut(index, block);
	if (err)
		return err;
	assert(index->carved_count <= HAWK_BLOCK_DEPTH_MAX);
	index->carved[index->carved_count++] = (struct hawk_carved){
		.rest = *block,
		.latest = SIZE_MAX,
		.left_bytes = block->size,
	};
	return NULL;
}

const struct hawk_block_part *hawk_block_index_part_from(const struct hawk_block_index *index,
							 uint32_t block)
{
	size_t low = 0;
	size_t high = index->part_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->parts[middle].number < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < index->part_count ? &index->parts[low] : NULL;
}

const struct hawk_block_part *hawk_block_index_part(const struct hawk_block_index *index,
						    uint32_t block)
{
	const struct hawk_block_part *part = hawk_block_index_part_from(index, block);

	return part && part->number == block ? part : NULL;
}

uint64_t hawk_block_index_asked_bytes(const struct hawk_block_index *index, uint32_t block)
{
	const struct hawk_block_part *part =
		index->part_count ? hawk_block_index_part(index, block) : NULL;

	return part ? part->end - hawk_block_start(index, block) : hawk_block_size(index, block);
}

uint32_t hawk_block_index_block_count(const struct hawk_block_index *index)
{
	uint32_t count = index->count;

	for (size_t i = 0; i < index->part_count; i++)
		count -= index->parts[i].previous != HAWK_BLOCK_NOWHERE;
	return count;
}
