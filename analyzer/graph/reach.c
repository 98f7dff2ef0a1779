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

/* Over start pointers. */
static void mark_reachable(struct flood *flood, const struct hawk_roots *roots)
{
	begin_flood(flood, NOT_MET, HAWK_REACH_REACHABLE, HAWK_EDGE_INTERIOR);
	for (size_t i = 0; i < roots->count; i++)
		if (hawk_root_is_strong(&roots->items[i]))
			offer(flood, roots->items[i].edge >> 1);
	run_flood(flood);
}

/* Goes on from there over explained pointers. */
static void mark_explained(struct flood *flood, const struct hawk_roots *roots,
			   const struct hawk_explained *explained)
{
	const struct hawk_graph *graph = flood->graph;
	uint32_t block = 0;

	flood->explained = explained;
	for (size_t i = 0; explained->roots && i < roots->count; i++)
		if (hawk_explained_root(explained, i) && roots->items[i].kind != HAWK_ROOT_UNOWNED)
			offer(flood, roots->items[i].edge >> 1);
	for (uint32_t i = explained->edges ? hawk_graph_next_interior(graph, 0) : graph->edge_count;
	     i < graph->edge_count; i = hawk_graph_next_interior(graph, i + 1)) {
		if (!hawk_explained_edge(explained, i))
			continue;
		block = hawk_graph_source(graph, i, block);
		if (flood->kinds[block] == HAWK_REACH_REACHABLE)
			offer(flood, graph->edges[i] >> 1);
	}
	run_flood(flood);
}

/* From the weaker roots, and from the interior pointers of all that is reachable. */
static void mark_possibly(struct flood *flood, const struct hawk_roots *roots)
{
	const struct hawk_graph *graph = flood->graph;
	uint32_t block = 0;

	begin_flood(flood, NOT_MET, HAWK_REACH_POSSIBLY, 0);
	for (size_t i = 0; i < roots->count; i++)
		if (!hawk_root_is_strong(&roots->items[i]))
			offer(flood, roots->items[i].edge >> 1);
	for (uint32_t i = hawk_graph_next_interior(graph, 0); i < graph->edge_count;
	     i = hawk_graph_next_interior(graph, i + 1)) {
		block = hawk_graph_source(graph, i, block);
		if (flood->kinds[block] == HAWK_REACH_REACHABLE)
			offer(flood, graph->edges[i] >> 1);
	}
	run_flood(flood);
}

static void mark_lost(struct flood *flood, uint32_t mask, uint32_t *starts)
{
	uint32_t count = flood->graph->count;
	uint32_t start_count = 0;

	begin_flood(flood, NOT_MET, MET, mask);
	for (uint32_t block = 0; block < count; block++) {
		const uint8_t *next = memchr(flood->kinds + block, NOT_MET, count - block);

		if (!next)
			break;
		block = (uint32_t)(next - flood->kinds);
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
	/* Two sets of sums: one would wait for itself from block to block. */
	struct hawk_reach_sum sums[2][HAWK_REACH_KINDS] = {0};

	for (uint32_t block = 0; block < index->count; block++) {
		struct hawk_reach_sum *sum = &sums[block & 1][reach->kinds[block]];

		sum->objects++;
		sum->bytes += hawk_block_size(index, block);
	}
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++) {
		reach->sums[kind].objects = sums[0][kind].objects + sums[1][kind].objects;
		reach->sums[kind].bytes = sums[0][kind].bytes + sums[1][kind].bytes;
	}
	for (size_t i = 0; i < index->part_count; i++) {
		const struct hawk_block_part *part = &index->parts[i];
		struct hawk_reach_sum *sum = &reach->sums[reach->kinds[part->number]];

		sum->objects -= part->previous != HAWK_BLOCK_NOWHERE;
		sum->bytes += part->left_bytes - hawk_block_size(index, part->number);
	}
}

static struct hawk_error *make_kinds(uint32_t count, enum hawk_edges edges, struct hawk_reach *ret)
{
	struct hawk_reach reach = {.edges = edges};
	struct hawk_error *err = hawk_area_create(&reach.area, count);

	if (!err)
		err = hawk_area_grow(&reach.area, count);
	reach.kinds = reach.area.bytes;
	*ret = reach;
	if (err)
		hawk_reach_deinit(ret);
	return err;
}

struct hawk_error *hawk_reach_begin(const struct hawk_graph *graph, struct hawk_reach *all,
				    struct hawk_reach *start)
{
	struct hawk_error *err = NULL;

	if (start)
		err = make_kinds(graph->count, HAWK_EDGES_START_ONLY, start);
	if (!err && all)
		err = make_kinds(graph->count, HAWK_EDGES_ALL, all);
	if (err && start)
		hawk_reach_deinit(start);
	return err;
}

void hawk_reach_finish(const struct hawk_block_index *index, const struct hawk_graph *graph,
		       const struct hawk_roots *roots, const struct hawk_explained *explained,
		       uint32_t *stack, uint32_t *starts, struct hawk_reach *all,
		       struct hawk_reach *start)
{
	static const struct hawk_explained none;
	struct flood flood = {.graph = graph, .explained = &none, .stack = stack};

	if (start && all && graph->count)
		memcpy(all->kinds, start->kinds, graph->count);
	if (start) {
		flood.kinds = start->kinds;
		mark_lost(&flood, HAWK_EDGES_START_ONLY, starts);
	}
	if (!all) {
		add_up(index, start);
		return;
	}
	flood.kinds = all->kinds;
	begin_flood(&flood, NOT_MET, HAWK_REACH_REACHABLE, HAWK_EDGE_INTERIOR);
	mark_explained(&flood, roots, explained);
	mark_possibly(&flood, roots);
	flood.explained = &none;
	mark_lost(&flood, HAWK_EDGES_ALL, starts);
	add_up(index, all);
}

static struct hawk_error *make(const struct hawk_block_index *index, const struct hawk_graph *graph,
			       const struct hawk_roots *roots,
			       const struct hawk_explained *explained,
			       struct hawk_workspace *workspace, struct hawk_reach *all,
			       struct hawk_reach *start)
{
	static const struct hawk_explained none;
	struct flood flood = {
		.graph = graph,
		.explained = &none,
		.stack = hawk_workspace_lane(workspace, 0),
	};
	struct hawk_error *err = hawk_reach_begin(graph, all, start);

	if (err)
		return err;
	flood.kinds = start ? start->kinds : all->kinds;
	mark_reachable(&flood, roots);
	hawk_reach_finish(index, graph, roots, explained, flood.stack,
			  hawk_workspace_lane(workspace, 1), all, start);
	return NULL;
}

struct hawk_error *hawk_reach_make(const struct hawk_block_index *index,
				   const struct hawk_graph *graph, const struct hawk_roots *roots,
				   enum hawk_edges edges, struct hawk_workspace *workspace,
				   struct hawk_reach *ret)
{
	static const struct hawk_explained none;
	bool start = edges == HAWK_EDGES_START_ONLY;

	return make(index, graph, roots, &none, workspace, start ? NULL : ret, start ? ret : NULL);
}

struct hawk_error *
hawk_reach_make_explained(const struct hawk_block_index *index, const struct hawk_graph *graph,
			  const struct hawk_roots *roots, const struct hawk_explained *explained,
			  struct hawk_workspace *workspace, struct hawk_reach *ret)
{
	return make(index, graph, roots, explained, workspace, ret, NULL);
}

void hawk_reach_deinit(struct hawk_reach *reach)
{
	hawk_area_destroy(&reach->area);
	*reach = (struct hawk_reach){0};
}
