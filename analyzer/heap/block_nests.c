/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Nested blocks: computes the outer block's own bytes, and finds the block of an address.
 */
#include "block_nests.h"

#include "block_cover.h"
#include "hawk/base/array.h"

#include <assert.h>

static const uint32_t NO_NEST = UINT32_MAX;

/* Returns the address behind the block's last granule. */
static uint64_t granule_end(const struct hawk_block_index *index, uint64_t start, uint64_t size)
{
	uint64_t mask = (UINT64_C(1) << hawk_block_index_granule_log2(index)) - 1;

	return (start + (size ? size : 1) + mask) & ~mask;
}

struct hawk_error *hawk_block_nests_settle(struct hawk_block_index *index, unsigned depth)
{
	struct hawk_error *err = NULL;

	while (!err && index->open_count > depth) {
		const struct hawk_open_block *open = &index->open[--index->open_count];

		if (open->nest != NO_NEST)
			index->nests[open->nest].behind = index->count;
		err = hawk_block_cover_on(index, open->at, open->end, index->count - 1);
	}
	return err;
}

/* Makes the innermost open block a nest. It is the last block added, or a nest already. */
static struct hawk_error *make_nest(struct hawk_block_index *index, struct hawk_open_block *open)
{
	if (open->nest != NO_NEST)
		return NULL;
	if (!hawk_array_reserve(&index->nests, index->nest_count, &index->nest_capacity,
				sizeof(*index->nests)))
		return &hawk_enomem;
	open->nest = (uint32_t)index->nest_count;
	index->nests[index->nest_count++] = (struct hawk_nest){
		.number = index->count - 1,
		.parent = open > index->open ? open[-1].nest : NO_NEST,
		.end = open->end,
		.own_bytes = open->end - open->at,
	};
	return NULL;
}

struct hawk_error *hawk_block_nests_cut(struct hawk_block_index *index,
					const struct hawk_block *block)
{
	struct hawk_open_block *open =
		index->open_count ? &index->open[index->open_count - 1] : NULL;
	uint64_t bytes = block->size + HAWK_HEADER_BYTES;
	struct hawk_nest *nest;
	struct hawk_error *err = open ? make_nest(index, open) : NULL;

	if (err || !open)
		return err;
	nest = &index->nests[open->nest];
	nest->own_bytes -= bytes < nest->own_bytes ? bytes : nest->own_bytes;
	err = hawk_block_cover_on(index, open->at, block->start - HAWK_HEADER_BYTES,
				  index->count - 1);
	open->at = granule_end(index, block->start, block->size);
	return err;
}

void hawk_block_nests_open(struct hawk_block_index *index, const struct hawk_block *block)
{
	assert(index->open_count <= HAWK_BLOCK_DEPTH_MAX);
	index->open[index->open_count++] = (struct hawk_open_block){
		.at = block->start, .end = block->start + block->size, .nest = NO_NEST};
}

/* Returns the index of the last nest with a number of at most `block`, or the count of nests. */
static size_t last_nest(const struct hawk_block_index *index, uint32_t block)
{
	size_t low = 0, high = index->nest_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->nests[middle].number <= block)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : index->nest_count;
}

const struct hawk_nest *hawk_block_nest(const struct hawk_block_index *index, uint32_t block)
{
	size_t i = last_nest(index, block);

	return i < index->nest_count && index->nests[i].number == block ? &index->nests[i] : NULL;
}

/* Returns true if `address` lies in the header of the block behind `block`, which lies in `nest`.
 */
static bool is_header(const struct hawk_block_index *index, const struct hawk_nest *nest,
		      uint32_t block, uint64_t address)
{
	return block + 1 < nest->behind &&
	       address >= hawk_block_start(index, block + 1) - HAWK_HEADER_BYTES;
}

uint32_t hawk_block_index_inside(const struct hawk_block_index *index, uint32_t block,
				 uint64_t address)
{
	uint64_t start = hawk_block_start(index, block), size = hawk_block_size(index, block);
	size_t i = last_nest(index, block);

	if (address - start >= size && address < granule_end(index, start, size))
		return HAWK_BLOCK_NOWHERE;
	if (address - start < size && (i == index->nest_count || index->nests[i].number != block))
		return block << 1 | 1;
	while (i < index->nest_count) {
		const struct hawk_nest *nest = &index->nests[i];

		start = hawk_block_start(index, nest->number);
		if (address < nest->end)
			return is_header(index, nest, block, address) ? HAWK_BLOCK_NOWHERE
								      : nest->number << 1 | 1;
		if (address < granule_end(index, start, nest->end - start))
			return HAWK_BLOCK_NOWHERE;
		i = nest->parent;
	}
	return HAWK_BLOCK_NOWHERE;
}

bool hawk_block_stretch_behind(const struct hawk_block_index *index, uint32_t block,
			       struct hawk_stretch *stretch)
{
	const struct hawk_nest *nest = hawk_block_nest(index, block);
	uint64_t start = hawk_block_start(index, block);
	uint64_t end = start + hawk_block_size(index, block);
	uint64_t at = start;

	if (!stretch->next)
		stretch->next = block + 1;
	else if (!nest)
		return false;
	else
		at = stretch->end;
	while (nest && stretch->next < nest->behind) {
		uint64_t inner = hawk_block_start(index, stretch->next);
		const struct hawk_nest *deeper = hawk_block_nest(index, stretch->next);

		/* Behind the one before. */
		if (at < inner - HAWK_HEADER_BYTES) {
			*stretch =
				(struct hawk_stretch){at, inner - HAWK_HEADER_BYTES, stretch->next};
			return true;
		}
		at = granule_end(index, inner, hawk_block_size(index, stretch->next));
		stretch->next = deeper ? deeper->behind : stretch->next + 1;
	}
	if (at >= end)
		return false;
	stretch->start = at;
	stretch->end = end;
	return true;
}
