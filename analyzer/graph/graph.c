/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes a graph stage by stage, and looks edges up by number.
 */
#include "hawk/graph/graph.h"

#include <assert.h>
#include <malloc.h>

#include "hawk/base/prefetch.h"
#include "pointer_offsets.h"
#include "roots_guests.h"
#include "snapshot.h"

enum {
	EDGES_AT_ONCE = 64,
	LINE_EDGES = (1 << HAWK_LINE_LOG2) / sizeof(uint32_t),
};

struct hawk_error *hawk_graph_make(const struct hawk_heap *heap, const struct hawk_vtables *vtables,
				   struct hawk_findings *findings, struct hawk_graph *ret)
{
	struct hawk_graph graph;
	struct hawk_error *err;
	size_t before;

	if (heap->knows && !(heap->knows & HAWK_HEAP_CONTENTS) &&
	    hawk_target_snapshot(heap->target))
		return hawk_graph_read_snapshot(heap, findings, ret);
	err = hawk_graph_read_edges(heap, &graph);
	if (err)
		return err;
	err = hawk_roots_find(heap, findings, &graph.roots);
	if (!err)
		err = hawk_roots_add_guests(&graph);
	before = findings ? findings->count : 0;
	if (!err)
		err = hawk_heuristics_find(&graph, HAWK_HEURISTICS_ALL, vtables, &graph.explained);
	if (err) {
		hawk_graph_deinit(&graph);
		return err;
	}
	hawk_findings_sort(findings, before); /* threads run in any order */
	/* The next stages reach the peak of memory: give freed memory back first. */
	(void)malloc_trim(0);
	*ret = graph;
	return NULL;
}

static uint32_t interior_bit(const uint32_t *edges)
{
	uint32_t any = 0;

	for (unsigned i = 0; i < EDGES_AT_ONCE; i++)
		any |= edges[i];
	return any & HAWK_EDGE_INTERIOR;
}

uint32_t hawk_graph_next_interior(const struct hawk_graph *graph, uint32_t edge)
{
	const uint32_t *edges = graph->edges;
	uint32_t count = graph->edge_count;

	for (; edge < count && edge % EDGES_AT_ONCE; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR)
			return edge;
	for (; edge < count && count - edge >= EDGES_AT_ONCE; edge += EDGES_AT_ONCE) {
		for (unsigned i = 0; i < EDGES_AT_ONCE; i += LINE_EDGES)
			hawk_prefetch_ahead(&edges[edge + i]);
		if (interior_bit(&edges[edge]))
			break;
	}
	for (; edge < count; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR)
			return edge;
	return count;
}

/* Returns an estimate, not below `block`, as if all blocks had equally many pointers. */
static uint32_t guess_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block)
{
	uint64_t distance = (uint64_t)(edge - graph->offsets[block]) * graph->count;
	uint64_t guess = block + distance / graph->edge_count;

	return guess < graph->count ? (uint32_t)guess : graph->count - 1;
}

uint32_t hawk_graph_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block)
{
	uint32_t step = 1;
	uint32_t low = block;
	uint32_t high = graph->count;
	uint32_t at;

	assert(edge < graph->edge_count && graph->offsets[block] <= edge);
	at = guess_source(graph, edge, block);
	/* offsets[low] <= edge < offsets[high], at first far apart */
	if (graph->offsets[at] <= edge) {
		for (low = at; step < high - low && graph->offsets[low + step] <= edge; step *= 2)
			low += step;
		high = step < high - low ? low + step : high;
	} else {
		for (high = at; step < high - low && graph->offsets[high - step] > edge; step *= 2)
			high -= step;
		low = step < high - low ? high - step : low;
	}
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (graph->offsets[middle] <= edge)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void hawk_graph_deinit(struct hawk_graph *graph)
{
	hawk_roots_deinit(&graph->roots);
	hawk_explained_deinit(&graph->explained);
	hawk_pointer_offsets_destroy(graph->pointer_offsets);
	hawk_area_destroy(&graph->offsets_area);
	hawk_area_destroy(&graph->edges_area);
	*graph = (struct hawk_graph){0};
}
