/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Goes from heap to heap: examines only blocks after the end of the last one.
 */
#include "outside.h"

#include "hawk/base/array.h"

static struct hawk_error *add(struct hawk_heap_outside *outside, uint64_t start, uint64_t end)
{
	if (start >= end)
		return NULL;
	if (!hawk_array_reserve(&outside->spans.items, outside->spans.count, &outside->capacity,
				sizeof(*outside->spans.items)))
		return &hawk_enomem;
	outside->spans.items[outside->spans.count++] = (struct hawk_span){start, end};
	return NULL;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Goes to the mapping that the block's header lies in. A block before may reach into it. */
static struct hawk_error *enter_mapping(struct hawk_heap_outside *outside, uint64_t header)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(outside->target, header);
	struct hawk_error *err = add(outside, outside->at, outside->mapping_end);

	if (err || !mapping)
		return err;
	outside->at = most(outside->at, mapping->start);
	outside->mapping_end = mapping->end;
	return NULL;
}

static struct hawk_error *take_block(struct hawk_heap_outside *outside,
				     const struct hawk_block *block)
{
	uint64_t header = block->start - HAWK_HEADER_BYTES;
	uint64_t end = block->start + block->size;
	struct hawk_span part;
	struct hawk_error *err =
		header >= outside->mapping_end ? enter_mapping(outside, header) : NULL;

	/* Whatever a damaged heap says, it holds its block. */
	if (!err && outside->source->extent(outside->target, block, &part) &&
	    part.end > block->start) {
		err = add(outside, outside->at, part.start);
		outside->at = most(outside->at, part.end);
	} else {
		outside->at = most(outside->at, outside->mapping_end);
	}
	outside->at = most(outside->at, end);
	outside->covered = outside->at;
	return err;
}

struct hawk_error *hawk_heap_outside_take(struct hawk_heap_outside *outside,
					  const struct hawk_block *blocks, size_t count)
{
	struct hawk_error *err = NULL;

	if (!outside->source->extent || !count || blocks[count - 1].start < outside->covered)
		return NULL;
	for (size_t i = 0; i < count && !err; i++)
		if (blocks[i].start >= outside->covered)
			err = take_block(outside, &blocks[i]);
	return err;
}

struct hawk_error *hawk_heap_outside_finish(struct hawk_heap_outside *outside)
{
	return add(outside, outside->at, outside->mapping_end);
}
