/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads one block of a heap from the index, and from its header unless kept.
 */
#include "hawk/heap/heap.h"

#include "sealed/scan.h"

enum { HEADERS_AHEAD = 32 };

static bool has_header(const struct hawk_heap *heap, uint32_t block)
{
	return hawk_heap_knows_of(heap, heap->index.traces[block]) & HAWK_HEAP_HEADERS;
}

/** Returns the first word of the header of `block`, 0 if it cannot be read. `near` is of the heap's
 * target, or NULL. */
static uint64_t word_of(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block)
{
	uint64_t start = hawk_block_start(&heap->index, block);
	uint64_t word;
	size_t got;

	if (heap->index.heads)
		return (uint64_t)heap->index.heads[block] << 48;
	if (!has_header(heap, block) || start < HAWK_HEADER_BYTES)
		return 0;
	start -= HAWK_HEADER_BYTES;
	got = near ? hawk_near_read(near, start, &word, sizeof(word))
		   : hawk_target_read_some(heap->target, start, &word, sizeof(word));
	return got == sizeof(word) ? word : 0;
}

static bool take_block(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block,
		       struct hawk_block *ret)
{
	uint64_t word = word_of(heap, near, block);

	*ret = (struct hawk_block){
		.start = hawk_block_start(&heap->index, block),
		.size = hawk_block_size(&heap->index, block),
		.trace = heap->index.traces[block],
		.kind = (uint8_t)hawk_header_kind(word),
		.birth = hawk_header_birth(word),
		.offset_code = (uint8_t)hawk_header_offset_code(word),
	};
	return word != 0 || !has_header(heap, block);
}

static void prefetch_next(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block)
{
	if (!heap->index.heads && heap->knows & HAWK_HEAP_HEADERS &&
	    heap->index.count - block > HEADERS_AHEAD)
		hawk_near_prefetch(near, hawk_block_start(&heap->index, block + HEADERS_AHEAD) -
						 HAWK_HEADER_BYTES);
}

uint16_t hawk_heap_next_head(const struct hawk_heap *heap, struct hawk_near *near, uint32_t block)
{
	prefetch_next(heap, near, block);
	return (uint16_t)(word_of(heap, near, block) >> 48);
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

/* Finds the next block if `address` lies in its header or padding. */
static bool is_header(const struct hawk_heap *heap, uint64_t address, struct hawk_block *ret)
{
	uint32_t block = hawk_block_index_first(&heap->index, address + 1);
	struct hawk_block next;

	if (block == heap->index.count || !has_header(heap, block) ||
	    !hawk_heap_block(heap, block, &next) || next.start <= address ||
	    next.start - address > hawk_scan_offset_bytes(heap->target, &next))
		return false;
	*ret = next;
	return true;
}

/* Returns the lowest start of a dead block that may have held `address`: the end of all live blocks
 * below. */
static uint64_t dead_from(const struct hawk_heap *heap, uint64_t address)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(heap->target, address);
	uint32_t block = hawk_block_index_first(&heap->index, address);
	uint64_t start = mapping ? mapping->start : address;
	uint64_t end = 0;

	if (block)
		end = hawk_block_start(&heap->index, block - 1) +
		      hawk_block_size(&heap->index, block - 1);
	return end > start ? end : start;
}

enum hawk_block_state hawk_heap_at(const struct hawk_heap *heap, uint64_t address,
				   struct hawk_block *ret)
{
	bool interior;
	uint32_t block = heap->index.count ? hawk_block_index_find(&heap->index, address, &interior)
					   : HAWK_BLOCK_NOWHERE;

	/* A carved block's header lies in the outer block. Of two blocks without a gap the first
	 * may be empty: its pointer is the next one's header. */
	if ((block == HAWK_BLOCK_NOWHERE || interior) && is_header(heap, address, ret))
		return HAWK_BLOCK_HEADER;
	if (block != HAWK_BLOCK_NOWHERE) {
		hawk_heap_block(heap, block, ret);
		return HAWK_BLOCK_LIVE;
	}
	return hawk_sealed_dead_at(heap, dead_from(heap, address), address, ret) ? HAWK_BLOCK_DEAD
										 : HAWK_BLOCK_NONE;
}

struct hawk_requested hawk_heap_requested(const struct hawk_heap *heap, uint32_t block)
{
	/* A rest of a chunk that is too small for one is left to the block. */
	const uint64_t small = 31, page = 4096, mapped = 1 << 16, header = 16;
	const struct hawk_heap_origin *origin = hawk_heap_origin(heap, heap->index.traces[block]);
	uint64_t start = hawk_block_start(&heap->index, block);
	uint64_t size = hawk_block_size(&heap->index, block);
	uint64_t slack = size / 4 > header ? size / 4 : header - 1;

	const struct hawk_class *class = hawk_heap_class(heap, heap->index.traces[block]);

	if (origin->knows & HAWK_HEAP_EXACT || (class && class->kind == HAWK_CLASS_SAMPLE))
		slack = 0;
	else if (origin->rounds_to_16)
		slack = size >= mapped && start % page == header ? page + small : small;
	return (struct hawk_requested){size > slack ? size - slack : 0, size};
}
