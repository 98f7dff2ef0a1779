/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads one block of a heap from the index, and from its header unless kept.
 */
#include "hawk/heap/heap.h"

enum { HEADERS_AHEAD = 32 };

/** The first word of the header of block `whole`, which stands for a block; 0 if it cannot be read.
 * `near`: NULL, or of the heap's target. */
static uint64_t word_of(const struct hawk_heap *heap, struct hawk_near *near, uint32_t whole)
{
	uint64_t start = hawk_block_start(&heap->index, whole);
	uint64_t word;
	size_t got;

	if (heap->index.heads)
		return (uint64_t)heap->index.heads[whole] << 48;
	if (!heap->source->has_headers || start < HAWK_HEADER_BYTES)
		return 0;
	start -= HAWK_HEADER_BYTES;
	got = near ? hawk_near_read(near, start, &word, sizeof(word))
		   : hawk_target_read_some(heap->target, start, &word, sizeof(word));
	return got == sizeof(word) ? word : 0;
}

static bool take_block(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block,
		       struct hawk_block *ret)
{
	uint32_t whole = hawk_block_index_whole(&heap->index, block);
	uint64_t word = word_of(heap, near, whole);

	*ret = (struct hawk_block){
		.start = hawk_block_start(&heap->index, whole),
		.size = hawk_block_index_asked_bytes(&heap->index, whole),
		.trace = heap->index.traces[whole],
		.kind = (uint8_t)hawk_header_kind(word),
		.birth = hawk_header_birth(word),
		.offset_code = (uint8_t)hawk_header_offset_code(word),
	};
	return !heap->source->has_headers || word != 0;
}

static void prefetch_next(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block)
{
	if (!heap->index.heads && heap->source->has_headers &&
	    heap->index.count - block > HEADERS_AHEAD)
		hawk_near_prefetch(near, hawk_block_start(&heap->index, block + HEADERS_AHEAD) -
						 HAWK_HEADER_BYTES);
}

uint16_t hawk_heap_next_head(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block)
{
	uint32_t whole = hawk_block_index_whole(&heap->index, block);

	prefetch_next(heap, near, whole);
	return (uint16_t)(word_of(heap, near, whole) >> 48);
}

bool hawk_heap_block(const struct hawk_heap *heap, uint32_t block, struct hawk_block *ret)
{
	return take_block(heap, NULL, block, ret);
}

bool hawk_heap_next_block(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block,
			  struct hawk_block *ret)
{
	prefetch_next(heap, near, block);
	return take_block(heap, near, block, ret);
}
