/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parts of a mapping that are heaps, in the order of addresses.
 */
#include "roots_heap.h"

#include "hawk/heap/part.h"

bool hawk_roots_heap_next(const struct hawk_target *target, const struct hawk_block_index *index,
			  uint64_t start, uint64_t end, struct hawk_span *ret)
{
	uint32_t block = hawk_block_index_first(index, start);
	struct hawk_span span;
	uint64_t first;

	if (block && hawk_block_start(index, block - 1) + hawk_block_size(index, block - 1) > start)
		block--;
	if (block >= index->count || hawk_block_start(index, block) >= end)
		return false;
	first = hawk_block_start(index, block);
	/* Whatever the fields say, there is progress. */
	if (!hawk_heap_part(target, first, first + hawk_block_size(index, block), &span) ||
	    span.end <= start)
		span = (struct hawk_span){start, end};
	ret->start = span.start > start ? span.start : start;
	ret->end = span.end < end ? span.end : end;
	return true;
}
