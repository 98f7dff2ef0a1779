/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Marking by floods. A flood turns every block of one kind that it meets into another kind, so no
 * block enters the stack twice and one lane holds it.
 *
 * Leaders need two floods over the lost blocks and no component search. The first takes blocks in
 * ascending order as starts: the lowest block of a group without predecessors is always a start,
 * because nothing but the group leads to it. The second takes the starts in descending order: those
 * that it has not met yet are the leaders. Proof: a start outside of such groups is led to from
 * one of their leaders, which must be a later start (else the first flood had met it), so the
 * second flood comes from there first.
 */
#include "hawk_reach.h"

enum {
	NOT_MET = 0,
	MET = HAWK_REACH_KINDS, /* by the first flood over lost blocks */
};

struct flood {
	const struct hawk_graph *graph;
	uint8_t *kinds;
	uint32_t *stack;
	uint32_t mask; /* edges with one of these bits are not followed */
	uint8_t from;
	uint8_t to;
};

/* `block` has been marked already. */
static void run_flood(const struct flood *flood, uint32_t block)
{
	const uint32_t *offsets = flood->graph->offsets;
	const uint32_t *edges = flood->graph->edges;
	uint32_t depth = 0;

	for (;;) {
		uint32_t end = offsets[block + 1];

		for (uint32_t i = offsets[block]; i < end; i++) {
			uint32_t target = edges[i] >> 1;

			if ((edges[i] & flood->mask) || flood->kinds[target] != flood->from)
				continue;
			flood->kinds[target] = flood->to;
			__builtin_prefetch(&offsets[target]);
			flood->stack[depth++] = target;
		}
		if (!depth)
			return;
		block = flood->stack[--depth];
	}
}

static void meet(const struct flood *flood, uint32_t block)
{
	if (flood->kinds[block] != flood->from)
		return;
	flood->kinds[block] = flood->to;
	run_flood(flood, block);
}

static void mark_reachable(struct flood flood, const struct hawk_roots *roots)
{
	flood.mask = HAWK_EDGE_INTERIOR;
	flood.to = HAWK_REACH_REACHABLE;
	for (size_t i = 0; i < roots->count; i++)
		if (!(roots->items[i].edge & HAWK_EDGE_INTERIOR))
			meet(&flood, roots->items[i].edge >> 1);
}

/* From interior roots, and from the interior pointers of all that is reachable. */
static void mark_possibly(struct flood flood, const struct hawk_roots *roots)
{
	const struct hawk_graph *graph = flood.graph;

	flood.mask = 0;
	flood.to = HAWK_REACH_POSSIBLY;
	for (size_t i = 0; i < roots->count; i++)
		if (roots->items[i].edge & HAWK_EDGE_INTERIOR)
			meet(&flood, roots->items[i].edge >> 1);
	for (uint32_t block = 0; block < graph->count; block++) {
		if (flood.kinds[block] != HAWK_REACH_REACHABLE)
			continue;
		for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++)
			if (graph->edges[i] & HAWK_EDGE_INTERIOR)
				meet(&flood, graph->edges[i] >> 1);
	}
}

static void mark_lost(struct flood flood, uint32_t *starts)
{
	uint32_t start_count = 0;

	flood.to = MET;
	for (uint32_t block = 0; block < flood.graph->count; block++)
		if (flood.kinds[block] == NOT_MET) {
			starts[start_count++] = block;
			meet(&flood, block);
		}
	flood.from = MET;
	flood.to = HAWK_REACH_INDIRECTLY_LOST;
	while (start_count--) {
		uint32_t block = starts[start_count];

		if (flood.kinds[block] != MET)
			continue;
		flood.kinds[block] = HAWK_REACH_DEFINITELY_LOST;
		run_flood(&flood, block);
	}
}

static void add_up(const struct hawk_block_index *index, struct hawk_reach *reach)
{
	for (uint32_t block = 0; block < index->count; block++) {
		struct hawk_reach_sum *sum = &reach->sums[reach->kinds[block]];

		sum->objects++;
		sum->bytes += hawk_block_size(index, block);
	}
}

struct hawk_error *hawk_reach_make(const struct hawk_block_index *index,
				   const struct hawk_graph *graph, const struct hawk_roots *roots,
				   enum hawk_edges edges, struct hawk_workspace *workspace,
				   struct hawk_reach *ret)
{
	struct hawk_reach reach = {.edges = edges};
	struct flood flood = {.graph = graph, .from = NOT_MET};
	struct hawk_error *err = hawk_area_create(&reach.area, graph->count);

	if (!err)
		err = hawk_area_grow(&reach.area, graph->count);
	if (err) {
		hawk_reach_deinit(&reach);
		return err;
	}
	reach.kinds = flood.kinds = reach.area.bytes;
	flood.stack = hawk_workspace_lane(workspace, 0);
	mark_reachable(flood, roots);
	if (edges == HAWK_EDGES_ALL)
		mark_possibly(flood, roots);
	flood.mask = edges;
	mark_lost(flood, hawk_workspace_lane(workspace, 1));
	add_up(index, &reach);
	*ret = reach;
	return NULL;
}

void hawk_reach_deinit(struct hawk_reach *reach)
{
	hawk_area_destroy(&reach->area);
	*reach = (struct hawk_reach){0};
}
