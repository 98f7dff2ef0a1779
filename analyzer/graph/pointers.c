/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the places of pointers again from the graph. Every word that leads into a block is an edge,
 * so a block's next edge is the next word that leads into the edge's target. So neither blocks
 * without pointers nor bytes behind a block's last pointer are read.
 */
#include "hawk/graph/pointers.h"

#include <stdlib.h>

#include "hawk/target/words.h"
#include "pointer_offsets.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum { EDGES_AHEAD = 32, POINTERS_AT_ONCE = 512 };

struct reader {
	const struct hawk_block_index *index;
	const struct hawk_guests *guests;
	const struct hawk_graph *graph;
	const uint64_t *wanted;
	hawk_pointers_function *function;
	void *context;
	struct hawk_words words;
	struct hawk_pointer_offsets_cursor place; /**< of a snapshot */
	size_t count;
	struct hawk_pointer pointers[POINTERS_AT_ONCE];
};

static struct hawk_error *flush(struct reader *reader)
{
	size_t count = reader->count;

	reader->count = 0;
	return count ? reader->function(reader->context, reader->pointers, count) : NULL;
}

static bool leads_to(const struct reader *reader, uint64_t value, uint32_t edge, uint64_t start)
{
	const struct hawk_block_index *index = reader->index;
	const struct hawk_guest_type *type = hawk_guests_type(reader->guests, edge >> 1);

	if (!(edge & HAWK_EDGE_INTERIOR))
		return value == start || (type && value == start + type->layout.front);
	if (type && value == start + type->layout.front)
		return false;
	if (index->nest_count) /* nested blocks and their headers do not belong to the block */
		return hawk_block_index_edge(index, value) == edge;
	return value - start < hawk_block_size(index, edge >> 1) + index->apart;
}

/* Finds the next word of the range from `*at` on that `edge` can be, and its offset in the target.
 * The range begins with word `number` of a block of that type (NULL = no guest's). Returns false if
 * the range has none. */
static bool find_word(const struct reader *reader, const struct hawk_word_range *range,
		      const struct hawk_guest_type *type, uint64_t number, uint32_t edge,
		      size_t *at, uint64_t *inside)
{
	uint64_t start = hawk_block_start(reader->index, edge >> 1);

	for (; *at < range->words; ++*at) {
		uint64_t value;

		if (type && hawk_guest_ignores(&type->layout, number + *at))
			continue;
		memcpy(&value, range->bytes + *at * HAWK_WORD_BYTES, sizeof(value));
		*inside = value - start;
		if (leads_to(reader, value, edge, start))
			return true;
	}
	return false;
}

/* As find_word(), of an object with compressed references: `*at` counts values. */
static bool find_narrow(const struct reader *reader, const struct hawk_word_range *range,
			const struct hawk_guest_layout *layout, uint64_t number, uint32_t edge,
			size_t *at, uint64_t *inside)
{
	uint64_t start = hawk_block_start(reader->index, edge >> 1);

	for (; *at < range->words * HAWK_GUEST_VALUES; ++*at) {
		size_t i = *at / HAWK_GUEST_VALUES;
		uint64_t word, value;

		memcpy(&word, range->bytes + i * HAWK_WORD_BYTES, sizeof(word));
		if (!hawk_guest_value(layout, number + i, *at % HAWK_GUEST_VALUES, word, &value))
			continue;
		*inside = value - start;
		if (leads_to(reader, value, edge, start))
			return true;
	}
	return false;
}

/* Finds the next value in the range that `edge` can be, as find_word(), and its offset in it. */
static bool find_value(const struct reader *reader, const struct hawk_word_range *range,
		       const struct hawk_guest_type *type, uint64_t number, uint32_t edge,
		       size_t *at, uint64_t *inside, uint64_t *offset)
{
	if (!type || !hawk_guest_is_narrow(&type->layout)) {
		if (!find_word(reader, range, type, number, edge, at, inside))
			return false;
		*offset = *at * HAWK_WORD_BYTES;
		return true;
	}
	if (!find_narrow(reader, range, &type->layout, number, edge, at, inside))
		return false;
	*offset = *at / HAWK_GUEST_VALUES * HAWK_WORD_BYTES;
	if (*at % HAWK_GUEST_VALUES == 1) /* the upper half */
		*offset += HAWK_WORD_BYTES / 2;
	return true;
}

static struct hawk_error *add(struct reader *reader, const struct hawk_pointer *pointer)
{
	struct hawk_error *err = reader->count == POINTERS_AT_ONCE ? flush(reader) : NULL;

	if (!err)
		reader->pointers[reader->count++] = *pointer;
	return err;
}

/* Reads the pointers of one range of a block and advances `*edge`. */
static struct hawk_error *read_range(struct reader *reader, uint32_t block, uint64_t offset,
				     const struct hawk_word_range *range, uint32_t *edge,
				     uint32_t edges_end)
{
	const uint32_t *edges = reader->graph->edges;
	const struct hawk_guest_type *type = hawk_guests_type(reader->guests, block);

	for (size_t at = 0; *edge < edges_end; at++, ++*edge) {
		struct hawk_pointer pointer = {
			.source = block, .edge = edges[*edge], .number = *edge};
		struct hawk_error *err;
		uint64_t within;

		if (*edge + EDGES_AHEAD < reader->graph->edge_count)
			hawk_prefetch(&reader->index->granules[edges[*edge + EDGES_AHEAD] >> 1]);
		if (!find_value(reader, range, type, offset / HAWK_WORD_BYTES, edges[*edge], &at,
				&pointer.inside, &within))
			return NULL;
		pointer.offset = offset + within;
		err = add(reader, &pointer);
		if (err)
			return err;
	}
	return NULL;
}

/* Returns true if any of these edges leads to a wanted block. */
static bool is_wanted(const struct reader *reader, uint32_t edge, uint32_t edges_end)
{
	const uint32_t *edges = reader->graph->edges;
	const uint64_t *wanted = reader->wanted;

	for (; wanted && edge < edges_end; edge++) {
		uint32_t block = edges[edge] >> 1;

		if (edge + EDGES_AHEAD < reader->graph->edge_count)
			hawk_prefetch(&wanted[edges[edge + EDGES_AHEAD] >> 7]);
		if (wanted[block / 64] >> block % 64 & 1)
			return true;
	}
	return !wanted;
}

/* Reads a block's places from a snapshot. */
static struct hawk_error *read_places(struct reader *reader, uint32_t block, uint32_t edge,
				      uint32_t edges_end)
{
	for (; edge < edges_end; edge++) {
		struct hawk_pointer pointer = {
			.source = block, .edge = reader->graph->edges[edge], .number = edge};
		struct hawk_error *err =
			hawk_pointer_offsets_find(reader->graph->pointer_offsets, &reader->place,
						  edge, &pointer.offset, &pointer.inside);

		if (!(pointer.edge & HAWK_EDGE_INTERIOR)) {
			const struct hawk_guest_type *type =
				hawk_guests_type(reader->guests, pointer.edge >> 1);

			pointer.inside = type ? type->layout.front : 0;
		}
		if (!err && pointer.offset != UINT64_MAX)
			err = add(reader, &pointer);
		if (err)
			return err;
	}
	return NULL;
}

static struct hawk_error *read_block(struct reader *reader, uint32_t block)
{
	uint32_t edge = reader->graph->offsets[block];
	uint32_t edges_end = reader->graph->offsets[block + 1];
	struct hawk_stretch stretch = {0};
	struct hawk_word_range range;
	uint64_t start;

	if (edge == edges_end || !is_wanted(reader, edge, edges_end))
		return NULL;
	if (reader->graph->pointer_offsets)
		return read_places(reader, block, edge, edges_end);
	start = hawk_block_start(reader->index, block);
	if (start >= reader->words.view_start && start < reader->words.view_end) {
		const uint8_t *bytes = reader->words.view + (start - reader->words.view_start);

		hawk_prefetch_ahead(bytes);
		hawk_prefetch_ahead(bytes + (1 << HAWK_LINE_LOG2));
	}
	while (edge < edges_end && hawk_block_next_stretch(reader->index, block, &stretch)) {
		uint64_t end = stretch.end & -(uint64_t)HAWK_WORD_BYTES;

		for (uint64_t at = stretch.start; at < end && edge < edges_end &&
						  hawk_words_next(&reader->words, at, end, &range);
		     at = range.start + range.words * HAWK_WORD_BYTES) {
			struct hawk_error *err = read_range(reader, block, range.start - start,
							    &range, &edge, edges_end);

			if (err)
				return err;
		}
	}
	return NULL;
}

static void begin(struct reader *reader, const struct hawk_graph *graph,
		  hawk_pointers_function *function, void *context)
{
	reader->index = &graph->heap->index;
	reader->guests = &graph->heap->guests;
	reader->graph = graph;
	reader->wanted = NULL;
	reader->function = function;
	reader->context = context;
	reader->place = (struct hawk_pointer_offsets_cursor){0};
	reader->count = 0;
	hawk_words_init(&reader->words, graph->heap->target);
}

static struct hawk_error *finish(struct reader *reader, struct hawk_error *err)
{
	if (!err)
		err = flush(reader);
	if (!err && reader->words.failed)
		err = &hawk_enomem;
	hawk_words_deinit(&reader->words);
	if (reader->graph->pointer_offsets)
		hawk_pointer_offsets_leave(reader->graph->pointer_offsets, &reader->place);
	return err;
}

struct hawk_error *hawk_pointers_read(const struct hawk_graph *graph, uint32_t first, uint32_t end,
				      const uint64_t *wanted, hawk_pointers_function *function,
				      void *context)
{
	struct hawk_error *err = NULL;
	struct reader reader;

	begin(&reader, graph, function, context);
	reader.wanted = wanted;
	for (uint32_t block = first; !err && block < end; block++) {
		err = read_block(&reader, block);
		hawk_progress_tick(block);
	}
	return finish(&reader, err);
}
