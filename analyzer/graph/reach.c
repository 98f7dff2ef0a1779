/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Marking by floods. A flood turns every block of one kind that it meets into another kind, so no
 * block enters the stack twice and one lane holds it.
 *
 * Leaders need two floods over the lost blocks and no component search. The first takes blocks in
 * ascending order as starts: the lowest block of a group without predecessors is always a start,
 * because nothing but the group leads to it. The second takes the starts in descending order: a
 * start that it has not met yet is a leader. Proof: a leader leads to every start outside such
 * groups, and must be a later start (else the first flood had met it). So the second flood reaches
 * that start from the leader first.
 */
#include "hawk/graph/reach.h"

#include "hawk/graph/flood.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum {
	NOT_MET = 0,
	MET = HAWK_REACH_KINDS, /* by the first flood over lost blocks */
};

struct flood {
	struct hawk_flood ways;                 /* first */
	const struct hawk_explained *explained; /* interior edges that count as others */
	uint8_t *kinds;
	bool start_only; /* interior pointers count only if explained */
	bool ends;       /* pointers one past the end count as well */
	uint8_t from;
	uint8_t to;
};

static void mark(struct hawk_flood *ways, uint32_t target, uint32_t with)
{
	struct flood *flood = (struct flood *)ways;

	(void)with;
	if (flood->kinds[target] != flood->from)
		return;
	flood->kinds[target] = flood->to;
	hawk_flood_push(ways, target);
}

static void offer(struct flood *flood, uint32_t target)
{
	hawk_prefetch(&flood->kinds[target]);
	hawk_flood_offer(&flood->ways, target, 0, mark);
}

static bool follows(const struct flood *flood, uint32_t edge)
{
	const struct hawk_graph *graph = flood->ways.graph;

	if (!(graph->edges[edge] & HAWK_EDGE_INTERIOR))
		return true;
	if (flood->start_only)
		return hawk_explained_edge(flood->explained, edge);
	return !hawk_graph_ignores_edge(graph, flood->ends, edge);
}

static void expand(struct hawk_flood *ways, uint32_t block)
{
	struct flood *flood = (struct flood *)ways;
	const uint32_t *edges = ways->graph->edges;
	uint32_t end = ways->graph->offsets[block + 1];

	for (uint32_t i = ways->graph->offsets[block]; i < end; i++)
		if (follows(flood, i))
			offer(flood, edges[i] >> 1);
}

static void run_flood(struct flood *flood)
{
	hawk_flood_run(&flood->ways, mark, expand);
}

static void begin_flood(struct flood *flood, uint8_t from, uint8_t to, bool start_only)
{
	flood->from = from;
	flood->to = to;
	flood->start_only = start_only;
}

/** Goes through the interior edges of a graph in ascending order. */
struct interior_walk {
	const struct hawk_graph *graph;
	uint32_t next;
	uint32_t edge;   /* the current one */
	uint32_t source; /* of an edge at or before the current one */
};

static bool next_interior(struct interior_walk *walk)
{
	walk->edge = hawk_graph_next_interior(walk->graph, walk->next);
	walk->next = walk->edge + 1;
	return walk->edge < walk->graph->edge_count;
}

/* Offers the current edge's target if its source is reachable. */
static void offer_interior(struct flood *flood, struct interior_walk *walk)
{
	walk->source = hawk_graph_source(walk->graph, walk->edge, walk->source);
	if (!hawk_graph_ignores_edge(walk->graph, flood->ends, walk->edge) &&
	    flood->kinds[walk->source] == HAWK_REACH_REACHABLE)
		offer(flood, walk->graph->edges[walk->edge] >> 1);
}

/* Marks the allocators' own blocks: they are never lost, and hold nothing. */
static void mark_internal(struct flood *flood)
{
	const struct hawk_heap *heap = flood->ways.graph->heap;

	for (uint32_t block = 0; heap->class_first < heap->trace_count && block < heap->index.count;
	     block++)
		if (hawk_heap_is_internal(heap, block))
			flood->kinds[block] = HAWK_REACH_REACHABLE;
}

/* Marks blocks that start pointers reach from roots. */
static void mark_reachable(struct flood *flood, const struct hawk_roots *roots)
{
	begin_flood(flood, NOT_MET, HAWK_REACH_REACHABLE, true);
	for (size_t i = 0; i < roots->count; i++)
		if (hawk_root_is_strong(&roots->items[i]))
			offer(flood, roots->items[i].edge >> 1);
	run_flood(flood);
}

/* Continues over explained pointers. */
static void mark_explained(struct flood *flood, const struct hawk_roots *roots,
			   const struct hawk_explained *explained)
{
	struct interior_walk walk = {.graph = flood->ways.graph};

	flood->explained = explained;
	for (size_t i = 0; explained->roots.count && i < roots->count; i++)
		if (hawk_explained_root(explained, i) && roots->items[i].kind != HAWK_ROOT_UNOWNED)
			offer(flood, roots->items[i].edge >> 1);
	while (explained->edges.count && next_interior(&walk))
		if (hawk_explained_edge(explained, walk.edge))
			offer_interior(flood, &walk);
	run_flood(flood);
}

/* Starts from the weaker roots and from the interior pointers of all reachable blocks. */
static void mark_possibly(struct flood *flood, const struct hawk_roots *roots)
{
	struct interior_walk walk = {.graph = flood->ways.graph};

	begin_flood(flood, NOT_MET, HAWK_REACH_POSSIBLY, false);
	for (size_t i = 0; i < roots->count; i++)
		if (!hawk_root_is_strong(&roots->items[i]) &&
		    !hawk_graph_ignores_root(flood->ways.graph, flood->ends, i))
			offer(flood, roots->items[i].edge >> 1);
	while (next_interior(&walk))
		offer_interior(flood, &walk);
	run_flood(flood);
}

static void mark_lost(struct flood *flood, uint32_t *starts)
{
	uint32_t count = flood->ways.graph->count;
	uint32_t start_count = 0;

	begin_flood(flood, NOT_MET, MET, false);
	for (uint32_t block = 0; block < count; block++) {
		const uint8_t *next = memchr(flood->kinds + block, NOT_MET, count - block);

		if (!next)
			break;
		block = (uint32_t)(next - flood->kinds);
		starts[start_count++] = block;
		mark(&flood->ways, block, 0);
		run_flood(flood);
	}
	begin_flood(flood, MET, HAWK_REACH_INDIRECTLY_LOST, false);
	while (start_count--) {
		uint32_t block = starts[start_count];

		if (flood->kinds[block] != MET)
			continue;
		flood->kinds[block] = HAWK_REACH_DEFINITELY_LOST;
		expand(&flood->ways, block);
		run_flood(flood);
	}
}

static void add_up(const struct hawk_block_index *index, struct hawk_reach *reach)
{
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "adding up sizes", index->count);
	for (uint32_t block = 0; block < index->count; block++) {
		struct hawk_reach_sum *sum = &reach->sums[reach->kinds[block]];

		sum->objects++;
		sum->bytes += hawk_block_own_bytes(index, block);
		hawk_progress_tick(block);
	}
	hawk_progress_end(&progress);
}

static struct hawk_error *make_kinds(uint32_t count, struct hawk_reach *ret)
{
	struct hawk_reach reach = {0};
	struct hawk_error *err = hawk_area_create(&reach.area, count);

	if (!err)
		err = hawk_area_grow(&reach.area, count);
	if (!err)
		hawk_area_trim(&reach.area, count);
	reach.kinds = reach.area.bytes;
	*ret = reach;
	if (err)
		hawk_reach_deinit(ret);
	return err;
}

static const struct hawk_explained nothing_explained;

/* Upper limit on expansions: each of the two floods expands a lost block once. */
static uint64_t expansions(const struct hawk_reach *reach, uint32_t blocks)
{
	uint64_t count = 0;

	if (!hawk_progress_is_heard())
		return 0;
	for (uint32_t block = 0; block < blocks; block++)
		count += reach->kinds[block] == NOT_MET;
	return count * 2;
}

static void make(const struct hawk_graph *graph, const struct hawk_explained *explained,
		 uint32_t *stack, uint32_t *starts, struct hawk_reach *reach)
{
	struct flood flood = {
		.ways = {.graph = graph, .stack = stack},
		.explained = &nothing_explained,
		.kinds = reach->kinds,
		.ends = reach->ends,
	};
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "following pointers", graph->count);
	mark_internal(&flood);
	mark_reachable(&flood, &graph->roots);
	hawk_progress_end(&progress);
	hawk_progress_begin(&progress, "finding lost blocks", expansions(reach, graph->count));
	mark_explained(&flood, &graph->roots, explained);
	mark_possibly(&flood, &graph->roots);
	mark_lost(&flood, starts);
	hawk_progress_end(&progress);
	add_up(&graph->heap->index, reach);
}

struct hawk_error *hawk_reach_make(const struct hawk_graph *graph,
				   const struct hawk_explained *explained, struct hawk_reach *ret)
{
	uint64_t bytes = ((uint64_t)graph->count + 1) * sizeof(uint32_t);
	struct hawk_area stack = {0}, starts = {0};
	struct hawk_reach reach = {0};
	struct hawk_error *err = make_kinds(graph->count, &reach);

	reach.ends = !explained || explained->ends;
	if (!err)
		err = hawk_area_create_sparse(&stack, bytes);
	if (!err)
		err = hawk_area_create_sparse(&starts, bytes);
	if (!err)
		make(graph, explained ? explained : &nothing_explained, stack.bytes, starts.bytes,
		     &reach);
	hawk_area_destroy(&stack);
	hawk_area_destroy(&starts);
	if (err)
		hawk_reach_deinit(&reach);
	else
		*ret = reach;
	return err;
}

void hawk_reach_deinit(struct hawk_reach *reach)
{
	hawk_area_destroy(&reach->area);
	*reach = (struct hawk_reach){0};
}
