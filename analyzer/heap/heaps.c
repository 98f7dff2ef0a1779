/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks from heap to heap: examines only the first block behind each.
 */
#include "heaps.h"

#include "hawk/libc/chunk.h"
#include "sealed/scan.h"

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the allocator's pointer to the block, below header and padding, or 0 if the header cannot
 * be read. */
static uint64_t pointer_of(const struct hawk_target *target, uint64_t start)
{
	struct hawk_block block = {.start = start};
	uint64_t word;

	if (hawk_target_read_some(target, start - HAWK_HEADER_BYTES, &word, sizeof(word)) !=
	    sizeof(word))
		return 0;
	block.offset_code = (uint8_t)hawk_header_offset_code(word);
	return start - hawk_scan_offset_bytes(target, &block);
}

static bool has_header(const struct hawk_heap *heap, const struct hawk_block *block)
{
	return hawk_heap_knows_of(heap, block->trace) & HAWK_HEAP_HEADERS;
}

/* Finds the heap that glibc's words before the block describe. */
static bool find_chunk(const struct hawk_heap *heap, const struct hawk_block *block,
		       struct hawk_span *ret)
{
	uint64_t pointer;

	if (!has_header(heap, block))
		return false;
	pointer = pointer_of(heap->target, block->start);
	return pointer && hawk_chunk_heap(heap->target, pointer, block->start + block->size, ret) &&
	       ret->end > block->start;
}

/* Takes the mapping around a block without such words, from the last heap on. */
static void take_mapping(struct hawk_heaps_walk *walk, uint64_t header, uint64_t end)
{
	const struct hawk_target *target = walk->heap->target;
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, header);
	const struct hawk_mapping *last =
		end > header ? hawk_target_mapping_at(target, end - 1) : mapping;

	walk->start = most(mapping ? mapping->start : header, walk->end);
	walk->end = most(end, mapping ? mapping->end : end);
	if (last && last->end > walk->end)
		walk->end = last->end;
}

/* Goes to the next heap, whose first block this is. */
static void enter(struct hawk_heaps_walk *walk, const struct hawk_block *block)
{
	const struct hawk_heap_span *claim = hawk_heap_spans_at(&walk->heap->spans, block->start);
	uint64_t end = block->start + block->size;
	struct hawk_span chunk;

	walk->block = block->start;
	walk->is_claimed = claim && hawk_span_is_heap(claim->kind);
	walk->is_chunk = !walk->is_claimed && find_chunk(walk->heap, block, &chunk);
	if (walk->is_claimed) {
		walk->end = most(claim->end, block->start + 1);
	} else if (walk->is_chunk) {
		/* Even a damaged heap holds its block. */
		walk->start = most(chunk.start, walk->end);
		walk->end = most(chunk.end, end);
	} else {
		take_mapping(walk,
			     has_header(walk->heap, block) ? block->start - HAWK_HEADER_BYTES
							   : block->start,
			     most(end, block->start + 1));
	}
}

struct hawk_error *hawk_heaps_take(struct hawk_heaps_walk *walk, const struct hawk_block *blocks,
				   size_t count)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		if (blocks[i].start < walk->end)
			continue;
		enter(walk, &blocks[i]);
		if (!walk->is_claimed)
			err = hawk_heap_spans_add(
				&walk->found,
				(struct hawk_heap_span){.start = walk->start, .end = walk->end});
	}
	return err;
}

struct hawk_error *hawk_heaps_add(struct hawk_heaps_walk *walk, struct hawk_heap *heap)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < walk->found.count; i++)
		err = hawk_heap_spans_add(&heap->spans, walk->found.items[i]);
	return err ? err : hawk_heap_spans_sort(&heap->spans);
}

void hawk_heaps_end(struct hawk_heaps_walk *walk)
{
	hawk_heap_spans_deinit(&walk->found);
}

void hawk_heap_distrust(struct hawk_heap *heap)
{
	for (size_t i = 0; i < heap->spans.count; i++) {
		struct hawk_heap_span *span = &heap->spans.items[i];

		if (span->kind == HAWK_SPAN_HEAP &&
		    heap->origins[span->source].knows & HAWK_HEAP_HEADERS)
			span->kind = HAWK_SPAN_UNSOUND;
	}
}

/* Enters the next heap of a loaded one. */
static bool enter_next(struct hawk_heaps_walk *walk)
{
	const struct hawk_block_index *index = &walk->heap->index;
	uint32_t number = hawk_block_index_first(index, walk->end);

	if (number == index->count)
		return false;
	enter(walk, &(struct hawk_block){.start = hawk_block_start(index, number),
					 .size = hawk_block_size(index, number),
					 .trace = index->traces[number]});
	return true;
}

struct hawk_error *hawk_heap_keep_heaps(const struct hawk_heap *heap, hawk_keep_function *take,
					void *context)
{
	struct hawk_heap bare = *heap;
	struct hawk_heaps_walk walk = {.heap = &bare};
	struct hawk_error *err = NULL;

	bare.spans = (struct hawk_heap_spans){0}; /* without spans of the asking source */
	while (!err && enter_next(&walk)) {
		struct hawk_span numbers[HAWK_CHUNK_NUMBERS];
		size_t count =
			walk.is_chunk
				? hawk_chunk_numbers(heap->target,
						     pointer_of(heap->target, walk.block), numbers)
				: 0;

		for (size_t i = 0; i < count && !err; i++)
			err = take(context, numbers[i].start, numbers[i].end);
	}
	return err;
}
