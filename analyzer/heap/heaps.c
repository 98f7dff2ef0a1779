/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks from heap to heap: examines only the first block behind each.
 */
#include "heaps.h"

#include "hawk/libc/chunk.h"
#include "sealed/scan.h"

/** A walk over the heaps that hold blocks. */
struct heap_walk {
	const struct hawk_heap *heap;
	uint64_t end;    /**< end of the last one */
	uint64_t start;  /**< start of the current one */
	uint64_t block;  /**< number of its first block */
	bool is_claimed; /**< a source has claimed it */
	bool is_chunk;   /**< glibc's words describe it */
};

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

static bool has_header(const struct hawk_heap *heap, uint32_t number)
{
	return hawk_heap_knows_of(heap, heap->index.traces[number]) & HAWK_HEAP_HEADERS;
}

/* Finds the heap that glibc's words before block `number` describe. */
static bool find_chunk(const struct hawk_heap *heap, uint32_t number, uint64_t end,
		       struct hawk_span *ret)
{
	uint64_t start = hawk_block_start(&heap->index, number);
	uint64_t pointer;

	if (!has_header(heap, number))
		return false;
	pointer = pointer_of(heap->target, start);
	return pointer && hawk_chunk_heap(heap->target, pointer, end, ret) && ret->end > start;
}

/* Takes the mapping around a block without such words, from the last heap on. */
static void take_mapping(struct heap_walk *walk, uint64_t header, uint64_t end)
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

/* Goes to the next heap. */
static bool next_heap(struct heap_walk *walk)
{
	const struct hawk_block_index *index = &walk->heap->index;
	uint32_t number = hawk_block_index_first(index, walk->end);
	const struct hawk_heap_span *claim;
	struct hawk_span chunk;
	uint64_t start, end;

	if (number == index->count)
		return false;
	start = walk->block = hawk_block_start(index, number);
	end = start + hawk_block_size(index, number);
	claim = hawk_heap_spans_at(&walk->heap->spans, start);
	walk->is_claimed = claim && hawk_span_is_heap(claim->kind);
	walk->is_chunk = !walk->is_claimed && find_chunk(walk->heap, number, end, &chunk);
	if (walk->is_claimed) {
		walk->end = most(claim->end, start + 1);
	} else if (walk->is_chunk) {
		/* Even a damaged heap holds its block. */
		walk->start = most(chunk.start, walk->end);
		walk->end = most(chunk.end, end);
	} else {
		take_mapping(walk,
			     has_header(walk->heap, number) ? start - HAWK_HEADER_BYTES : start,
			     most(end, start + 1));
	}
	return true;
}

struct hawk_error *hawk_heap_add_heaps(struct hawk_heap *heap)
{
	struct heap_walk walk = {.heap = heap};
	struct hawk_heap_spans more = {0};
	struct hawk_error *err = NULL;

	while (!err && next_heap(&walk))
		if (!walk.is_claimed)
			err = hawk_heap_spans_add(
				&more,
				(struct hawk_heap_span){.start = walk.start, .end = walk.end});
	for (size_t i = 0; !err && i < more.count; i++)
		err = hawk_heap_spans_add(&heap->spans, more.items[i]);
	hawk_heap_spans_deinit(&more);
	return err ? err : hawk_heap_spans_sort(&heap->spans);
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

struct hawk_error *hawk_heap_keep_heaps(const struct hawk_heap *heap, hawk_keep_function *take,
					void *context)
{
	struct hawk_heap bare = *heap;
	struct heap_walk walk = {.heap = &bare};
	struct hawk_error *err = NULL;

	bare.spans = (struct hawk_heap_spans){0}; /* without spans of the asking source */
	while (!err && next_heap(&walk)) {
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
