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
	TARGETS_AHEAD = 16,
	BLOCKS_AHEAD = 8,
};

/**
 * The way of a block: target (its kind is on the way from memory), stack (marked), block (its edges
 * are on the way), then its targets. The two rings delay, so that many cache misses overlap; what
 * is met does not depend on the order.
 */
struct flood {
	const struct hawk_graph *graph;
	const struct hawk_explained *explained; /* edges that are followed all the same */
	uint8_t *kinds;
	uint32_t *stack;
	uint32_t depth;
	uint32_t mask; /* edges with one of these bits are not followed */
	uint8_t from;
	uint8_t to;
	bool busy; /* the rings may not be empty */
	unsigned target_at;
	unsigned block_at;
	uint32_t targets[TARGETS_AHEAD]; /* HAWK_BLOCK_NOWHERE = empty */
	uint32_t blocks[BLOCKS_AHEAD];
};

/* Puts `in` where `*slot` was, which is returned. */
static uint32_t swap(uint32_t *slot, uint32_t in)
{
	uint32_t out = *slot;

	*slot = in;
	return out;
}

static void mark(struct flood *flood, uint32_t target)
{
	if (target == HAWK_BLOCK_NOWHERE || flood->kinds[target] != flood->from)
		return;
	flood->kinds[target] = flood->to;
	flood->stack[flood->depth++] = target;
}

static void offer(struct flood *flood, uint32_t target)
{
	__builtin_prefetch(&flood->kinds[target]);
	__builtin_prefetch(&flood->graph->offsets[target]);
	flood->busy = true;
	mark(flood, swap(&flood->targets[flood->target_at++ % TARGETS_AHEAD], target));
}

static void expand(struct flood *flood, uint32_t block)
{
	const uint32_t *edges = flood->graph->edges;
	uint32_t end;

	if (block == HAWK_BLOCK_NOWHERE)
		return;
	end = flood->graph->offsets[block + 1];
	for (uint32_t i = flood->graph->offsets[block]; i < end; i++)
		if (!(edges[i] & flood->mask) || hawk_explained_edge(flood->explained, i))
			offer(flood, edges[i] >> 1);
}

/* Goes on until nothing is left on the way. */
static void run_flood(struct flood *flood)
{
	for (;;) {
		while (flood->depth) {
			uint32_t block = flood->stack[--flood->depth];

			__builtin_prefetch(&flood->graph->edges[flood->graph->offsets[block]]);
			flood->busy = true;
			expand(flood,
			       swap(&flood->blocks[flood->block_at++ % BLOCKS_AHEAD], block));
		}
		if (!flood->busy)
			return;
		flood->busy = false;
		for (unsigned i = 0; i < BLOCKS_AHEAD; i++)
			expand(flood, swap(&flood->blocks[i], HAWK_BLOCK_NOWHERE));
		for (unsigned i = 0; i < TARGETS_AHEAD; i++)
			mark(flood, swap(&flood->targets[i], HAWK_BLOCK_NOWHERE));
	}
}

static void begin_flood(struct flood *flood, uint8_t from, uint8_t to, uint32_t mask)
{
	flood->from = from;
	flood->to = to;
	flood->mask = mask;
	memset(flood->targets, 0xff, sizeof(flood->targets));
	memset(flood->blocks, 0xff, sizeof(flood->blocks));
}

static void mark_reachable(struct flood *flood, const struct hawk_roots *roots)
{
	begin_flood(flood, NOT_MET, HAWK_REACH_REACHABLE, HAWK_EDGE_INTERIOR);
	for (size_t i = 0; i < roots->count; i++)
		if (hawk_root_is_strong(&roots->items[i]) ||
		    (roots->items[i].kind != HAWK_ROOT_UNOWNED &&
		     hawk_explained_root(flood->explained, i)))
			offer(flood, roots->items[i].edge >> 1);
	run_flood(flood);
}

/* From the weaker roots, and from the interior pointers of all that is reachable. */
static void mark_possibly(struct flood *flood, const struct hawk_roots *roots)
{
	const struct hawk_graph *graph = flood->graph;

	begin_flood(flood, NOT_MET, HAWK_REACH_POSSIBLY, 0);
	for (size_t i = 0; i < roots->count; i++)
		if (!hawk_root_is_strong(&roots->items[i]))
			offer(flood, roots->items[i].edge >> 1);
	for (uint32_t block = 0; block < graph->count; block++) {
		if (flood->kinds[block] != HAWK_REACH_REACHABLE)
			continue;
		for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++)
			if (graph->edges[i] & HAWK_EDGE_INTERIOR)
				offer(flood, graph->edges[i] >> 1);
	}
	run_flood(flood);
}

static void mark_lost(struct flood *flood, uint32_t mask, uint32_t *starts)
{
	uint32_t start_count = 0;

	begin_flood(flood, NOT_MET, MET, mask);
	for (uint32_t block = 0; block < flood->graph->count; block++)
		if (flood->kinds[block] == NOT_MET) {
			starts[start_count++] = block;
			mark(flood, block);
			run_flood(flood);
		}
	begin_flood(flood, MET, HAWK_REACH_INDIRECTLY_LOST, mask);
	while (start_count--) {
		uint32_t block = starts[start_count];

		if (flood->kinds[block] != MET)
			continue;
		flood->kinds[block] = HAWK_REACH_DEFINITELY_LOST;
		expand(flood, block);
		run_flood(flood);
	}
}

static void add_up(const struct hawk_block_index *index, struct hawk_reach *reach)
{
	for (uint32_t block = 0; block < index->count; block++) {
		struct hawk_reach_sum *sum = &reach->sums[reach->kinds[block]];

		sum->objects += hawk_block_index_counts(index, block);
		sum->bytes += hawk_block_size(index, block);
	}
}

static struct hawk_error *make(const struct hawk_block_index *index, const struct hawk_graph *graph,
			       const struct hawk_roots *roots,
			       const struct hawk_explained *explained, enum hawk_edges edges,
			       struct hawk_workspace *workspace, struct hawk_reach *ret)
{
	struct hawk_reach reach = {.edges = edges};
	struct flood flood = {.graph = graph, .explained = explained};
	struct hawk_error *err = hawk_area_create(&reach.area, graph->count);

	if (!err)
		err = hawk_area_grow(&reach.area, graph->count);
	if (err) {
		hawk_reach_deinit(&reach);
		return err;
	}
	reach.kinds = flood.kinds = reach.area.bytes;
	flood.stack = hawk_workspace_lane(workspace, 0);
	mark_reachable(&flood, roots);
	if (edges == HAWK_EDGES_ALL)
		mark_possibly(&flood, roots);
	mark_lost(&flood, edges, hawk_workspace_lane(workspace, 1));
	add_up(index, &reach);
	*ret = reach;
	return NULL;
}

struct hawk_error *hawk_reach_make(const struct hawk_block_index *index,
				   const struct hawk_graph *graph, const struct hawk_roots *roots,
				   enum hawk_edges edges, struct hawk_workspace *workspace,
				   struct hawk_reach *ret)
{
	static const struct hawk_explained none;

	return make(index, graph, roots, &none, edges, workspace, ret);
}

struct hawk_error *
hawk_reach_make_explained(const struct hawk_block_index *index, const struct hawk_graph *graph,
			  const struct hawk_roots *roots, const struct hawk_explained *explained,
			  struct hawk_workspace *workspace, struct hawk_reach *ret)
{
	return make(index, graph, roots, explained, HAWK_EDGES_ALL, workspace, ret);
}

void hawk_reach_deinit(struct hawk_reach *reach)
{
	hawk_area_destroy(&reach->area);
	*reach = (struct hawk_reach){0};
}
