/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes a graph to a snapshot: degrees of blocks, pointers with their places, roots, and what
 * heuristics explain. Block numbers are written as distances, since neighbours in memory point to
 * neighbours.
 */
#include "snapshot.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "hawk/graph/pointers.h"

enum {
	FRAME_BLOCKS = 1 << 16,
	FRAME_EDGES = 1 << 17,
	FRAME_ROOTS = 1 << 16,
};

static size_t frames_of(uint64_t items, uint64_t in_frame)
{
	return (size_t)((items + in_frame - 1) / in_frame);
}

static struct hawk_error *fill_degrees(void *context, size_t number,
				       struct hawk_snapshot_piece *piece)
{
	const struct hawk_graph *graph = context;

	piece->first = (uint64_t)number * FRAME_BLOCKS;
	piece->items = hawk_least(graph->count - piece->first, FRAME_BLOCKS);
	hawk_column_put(&piece->column, graph->offsets[piece->first]);
	for (uint64_t i = piece->first; i < piece->first + piece->items; i++)
		hawk_column_put(&piece->column, graph->offsets[i + 1] - graph->offsets[i]);
	return NULL;
}

static struct hawk_error *fill_edges(void *context, size_t number,
				     struct hawk_snapshot_piece *piece)
{
	const struct hawk_graph *graph = context;
	uint32_t edge = (uint32_t)(number * FRAME_EDGES);
	uint32_t end = (uint32_t)hawk_least(graph->edge_count, (uint64_t)edge + FRAME_EDGES);
	uint32_t block = hawk_graph_source(graph, edge, 0);

	piece->first = edge;
	piece->items = end - edge;
	for (; edge < end; edge++) {
		int64_t distance;

		while (graph->offsets[block + 1] <= edge)
			block++;
		distance = (int64_t)(graph->edges[edge] >> 1) - (int64_t)block;
		hawk_column_put_signed(&piece->column,
				       distance * 2 + (graph->edges[edge] & HAWK_EDGE_INTERIOR));
	}
	return NULL;
}

/** Places of one frame's pointers, in the order of edges; some may be missing. */
struct places {
	struct hawk_snapshot_piece *piece;
	struct hawk_column insides;
	uint32_t edge;  /**< the next one */
	uint32_t end;   /**< of the frame */
	uint32_t block; /**< of the pointer put last */
	uint64_t at;    /**< behind it */
};

/* Puts edges up to `end` whose places are not known. */
static void put_unknown(struct places *places, uint32_t end)
{
	for (; places->edge < end; places->edge++)
		hawk_column_put(&places->piece->column, 0);
}

static void put_place(struct places *places, const struct hawk_pointer *pointer)
{
	if (pointer->source != places->block)
		places->at = 0;
	places->block = pointer->source;
	/* Places are words: compressed references have none, nor has another value of a word. */
	if (pointer->offset < places->at || pointer->offset % sizeof(uint64_t)) {
		put_unknown(places, places->edge + 1);
		return;
	}
	hawk_column_put(&places->piece->column,
			(pointer->offset - places->at) / sizeof(uint64_t) + 1);
	places->at = pointer->offset + sizeof(uint64_t);
	if (pointer->edge & HAWK_EDGE_INTERIOR)
		hawk_column_put(&places->insides, pointer->inside);
	places->edge++;
}

/* Takes a block's pointers. All of them arrive, also those of other frames. */
static struct hawk_error *take_pointers(void *context, const struct hawk_pointer *pointers,
					size_t count)
{
	struct places *places = context;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_pointer *pointer = &pointers[i];

		if (pointer->number < places->edge || pointer->number >= places->end)
			continue;
		put_unknown(places, pointer->number);
		put_place(places, pointer);
	}
	return NULL;
}

static struct hawk_error *fill_places(void *context, size_t number,
				      struct hawk_snapshot_piece *piece)
{
	const struct hawk_graph *graph = context;
	uint32_t first = (uint32_t)(number * FRAME_EDGES);
	uint32_t end = (uint32_t)hawk_least(graph->edge_count, (uint64_t)first + FRAME_EDGES);
	uint32_t last_block = hawk_graph_source(graph, end - 1, 0);
	struct places places = {
		.piece = piece,
		.edge = first,
		.end = end,
		.block = UINT32_MAX,
	};
	struct hawk_error *err;

	piece->first = first;
	piece->items = end - first;
	err = hawk_pointers_read(graph, hawk_graph_source(graph, first, 0), last_block + 1, NULL,
				 take_pointers, &places);
	put_unknown(&places, end);
	hawk_column_put_bytes(&piece->column, places.insides.bytes, places.insides.size);
	piece->column.failed |= places.insides.failed;
	hawk_column_deinit(&places.insides);
	return err;
}

static struct hawk_error *fill_roots(void *context, size_t number,
				     struct hawk_snapshot_piece *piece)
{
	const struct hawk_graph *graph = context;
	struct hawk_root before = {0};

	piece->first = (uint64_t)number * FRAME_ROOTS;
	piece->items = hawk_least(graph->roots.count - piece->first, FRAME_ROOTS);
	for (uint64_t i = piece->first; i < piece->first + piece->items; i++) {
		const struct hawk_root *root = &graph->roots.items[i];

		hawk_column_put(&piece->column, root->kind);
		hawk_column_put_signed(&piece->column,
				       (int64_t)root->owner - (int64_t)before.owner);
		hawk_column_put_signed(&piece->column, (int64_t)(root->address - before.address));
		hawk_column_put_signed(&piece->column, (int64_t)root->edge - (int64_t)before.edge);
		if (root->edge & HAWK_ROOT_INTERIOR)
			hawk_column_put(
				&piece->column,
				hawk_roots_inside(graph->heap, &graph->roots, i, root->edge >> 1) +
					1);
		before = *root;
	}
	return NULL;
}

static void put_numbers(struct hawk_column *to, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hawk_column_put(to, numbers[i]);
}

/* Ascending, as distances. */
static void put_set(struct hawk_column *to, const struct hawk_number_set *set)
{
	const uint64_t *words = set->bits.bytes;
	uint64_t before = 0;

	hawk_column_put(to, set->count);
	for (uint64_t i = 0; set->count && i <= set->limit / 64; i++) {
		for (uint64_t bits = words[i]; bits; bits &= bits - 1) {
			uint64_t number = i * 64 + (unsigned)__builtin_ctzll(bits);

			hawk_column_put(to, number - before);
			before = number;
		}
	}
}

static struct hawk_error *save_record(const struct hawk_graph *graph,
				      struct hawk_snapshot_writer *writer)
{
	const struct hawk_roots *roots = &graph->roots;
	CLEANUP(column) struct hawk_column to = {0};
	struct hawk_snapshot_piece piece = {.items = 1};

	hawk_column_put(&to, graph->count);
	hawk_column_put(&to, graph->edge_count);
	hawk_column_put(&to, roots->count);
	put_numbers(&to, roots->scanned_bytes, HAWK_ROOT_KINDS);
	put_numbers(&to, roots->missing_bytes, HAWK_ROOT_KINDS);
	hawk_column_put(&to, roots->heap_missing_bytes);
	hawk_column_put(&to, roots->threads_without_stack);
	hawk_column_put(&to, roots->undumped_bytes);
	hawk_column_put(&to, roots->stacks_incomplete);
	put_numbers(&to, graph->explained.counts, HAWK_SNAPSHOT_HEURISTICS);
	put_set(&to, &graph->explained.edges);
	put_set(&to, &graph->explained.roots);
	put_numbers(&to, graph->explained.counts + HAWK_SNAPSHOT_HEURISTICS,
		    HAWK_HEURISTIC_COUNT - HAWK_SNAPSHOT_HEURISTICS);
	put_set(&to, &graph->explained.end_edges);
	put_set(&to, &graph->explained.end_roots);
	piece.column = to;
	return hawk_snapshot_put(writer, HAWK_SNAPSHOT_GRAPH, &piece);
}

struct hawk_error *hawk_graph_save(const struct hawk_graph *graph,
				   struct hawk_snapshot_writer *writer)
{
	const struct {
		enum hawk_snapshot_section section;
		size_t frames;
		hawk_snapshot_fill *fill;
	} sections[] = {
		{HAWK_SNAPSHOT_DEGREES, frames_of(graph->count, FRAME_BLOCKS), fill_degrees},
		{HAWK_SNAPSHOT_EDGES, frames_of(graph->edge_count, FRAME_EDGES), fill_edges},
		{HAWK_SNAPSHOT_PLACES, frames_of(graph->edge_count, FRAME_EDGES), fill_places},
		{HAWK_SNAPSHOT_ROOTS, frames_of(graph->roots.count, FRAME_ROOTS), fill_roots},
	};
	struct hawk_error *err = save_record(graph, writer);

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !err; i++)
		err = hawk_snapshot_put_all(writer, sections[i].section, sections[i].frames,
					    sections[i].fill, (void *)graph);
	return err;
}
