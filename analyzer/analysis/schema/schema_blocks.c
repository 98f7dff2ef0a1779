/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the blocks of a schema, and reads those of a group one after the other.
 */
#include "schema_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

enum { PIECE_BYTES = 64 << 10 };

static void count_size(struct hawk_schema_sizes *sizes, uint64_t size)
{
	size_t at =
		(size_t)(size * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (HAWK_SCHEMA_SIZE_SLOTS - 1);

	while (sizes->slots[at].count && sizes->slots[at].size != size)
		at = (at + 1) & (HAWK_SCHEMA_SIZE_SLOTS - 1);
	if (!sizes->slots[at].count) {
		if (size < sizes->least)
			sizes->least = size;
		if (size > sizes->most)
			sizes->most = size;
		if (sizes->count == HAWK_SCHEMA_SIZES_MAX) {
			sizes->many = true;
			return;
		}
		sizes->count++;
		sizes->slots[at].size = size;
	}
	sizes->slots[at].count++;
}

/* Counts a requested block. */
static void add_block(struct hawk_schema_blocks *blocks, uint32_t block, struct hawk_schema *schema)
{
	const struct hawk_block_index *index = &blocks->heap->index;

	schema->bytes += hawk_block_own_bytes(index, block);
	schema->objects++;
	if (index->nest_count && hawk_block_nest(index, block)) {
		schema->carved++;
		return;
	}
	blocks->bits[block / 64] |= UINT64_C(1) << block % 64;
	blocks->count++;
	count_size(&blocks->sizes, hawk_block_size(index, block));
}

struct hawk_error *hawk_schema_collect(const struct hawk_heap *heap,
				       const struct hawk_schema_query *query,
				       struct hawk_block_types *types, struct hawk_schema *schema,
				       struct hawk_schema_blocks *ret)
{
	uint32_t count = heap->index.count;
	struct hawk_schema_blocks blocks = {
		.heap = heap,
		.bits = calloc((size_t)count / 64 + 1, sizeof(*blocks.bits)),
		.sizes = {.slots = calloc(HAWK_SCHEMA_SIZE_SLOTS, sizeof(*blocks.sizes.slots)),
			  .least = UINT64_MAX},
	};
	struct hawk_error *err = &hawk_enomem;

	if (blocks.bits && blocks.sizes.slots)
		err = hawk_word_classes_create(heap, types, &blocks.words);
	for (uint32_t i = hawk_block_next_chosen(query->chosen, 0, count); i < count && !err;
	     i = hawk_block_next_chosen(query->chosen, i + 1, count))
		if (query->site == HAWK_SCHEMA_ANY_SITE ||
		    hawk_heap_site_at(heap, i) == query->site)
			add_block(&blocks, i, schema);
	if (err)
		hawk_schema_blocks_deinit(&blocks);
	else
		*ret = blocks;
	return err;
}

void hawk_schema_blocks_deinit(struct hawk_schema_blocks *blocks)
{
	hawk_word_classes_destroy(blocks->words);
	free(blocks->sizes.slots);
	free(blocks->bits);
	*blocks = (struct hawk_schema_blocks){0};
}

/* Multiples of the golden ratio, modulo one: a share of them is the same share of any range of
 * numbers, and of every n-th number, whatever n. */
static bool is_in_share(uint32_t number, uint64_t share)
{
	return number * UINT64_C(0x9e3779b97f4a7c15) >> 32 < share;
}

/* Visits the first `size` bytes of a block. `copy`: room for a piece. */
static struct hawk_error *visit_block(struct hawk_schema_walk *walk, struct hawk_near *near,
				      uint32_t block, uint64_t size, uint8_t *copy)
{
	size_t element = walk->group->period ? walk->group->period * sizeof(uint64_t) : 1;
	size_t piece_bytes = PIECE_BYTES - PIECE_BYTES % element;
	uint64_t start = hawk_block_start(&walk->blocks->heap->index, block);
	struct hawk_schema_piece piece = {.block = block};
	struct hawk_error *err;

	walk->examined++;
	do {
		uint64_t left = size - piece.offset;
		size_t wanted = left < piece_bytes ? (size_t)left : piece_bytes;

		piece.size = wanted;
		piece.bytes = hawk_near_view(near, start + piece.offset, wanted);
		if (!piece.bytes) {
			piece.bytes = copy;
			piece.size = hawk_near_read(near, start + piece.offset, copy, wanted);
		}
		walk->unreadable += piece.size < wanted;
		piece.is_last = piece.size < wanted || left == wanted;
		err = walk->visit(walk->context, &piece);
		piece.offset += piece_bytes;
	} while (!err && !piece.is_last);
	return err;
}

struct hawk_error *hawk_schema_walk(struct hawk_schema_walk *walk, const char *stage)
{
	const struct hawk_schema_blocks *blocks = walk->blocks;
	const struct hawk_schema_group *group = walk->group;
	const struct hawk_block_index *index = &blocks->heap->index;
	struct hawk_near near = {.target = blocks->heap->target};
	CLEANUP(free_ptr) uint8_t *copy = malloc(PIECE_BYTES);
	struct hawk_error *err = copy ? NULL : &hawk_enomem;
	struct hawk_progress progress;
	uint64_t reported = 0;

	walk->examined = walk->unreadable = 0;
	hawk_progress_begin(&progress, stage, index->count);
	for (uint32_t block = hawk_block_next_chosen(blocks->bits, 0, index->count);
	     block < index->count && !err;
	     block = hawk_block_next_chosen(blocks->bits, block + 1, index->count)) {
		uint64_t size = hawk_block_size(index, block);

		hawk_progress_pass(&reported, block);
		if (is_in_share(block, walk->share) && size >= group->size_min &&
		    size <= group->size_max)
			err = visit_block(walk, &near, block,
					  size < group->bytes_each ? size : group->bytes_each,
					  copy);
	}
	hawk_progress_end(&progress);
	return err;
}
