/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Evidence of each block: first, on all threads, which pointers of a block lead to one block of a
 * record and which to several; then one pointer after the other is added to what it leads to.
 */
#include "hawk_kept_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "evidence_codes.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"
#include "leaks_fold.h"

enum {
	EDGES_AHEAD = 32,
	GROUPED_PER_BLOCK = 4, /**< more pointers of groups are not kept */
	BLOCKS_PER_LOST = 4,   /**< likewise fewer blocks for each that something is lost through */
};

/** What a block's pointers have met of a record. */
struct met {
	uint32_t source;
	uint32_t target; /**< the first one */
	enum { ALONE, TAKEN, SEVERAL } state;
};

struct maker {
	const struct hawk_block_graph *graph;
	struct hawk_leak_fold fold; /**< of all blocks; for slots and kinds */
	struct hawk_kept_evidence *kept;
	struct hawk_evidence_codes codes;
	uint64_t *several; /**< a bit for each edge of a group */
	uint64_t *sole;    /**< a bit for each that adds a source to what it leads to */
	uint64_t *grouped; /**< of one source: slot << 32 | block */
	size_t grouped_count;
	uint32_t *groups;
	bool too_much;
};

/** Sources one after the other. */
struct share {
	struct maker *maker;
	uint32_t first, end;
	struct met *met; /**< by slot */
	uint64_t several_count;
	uint64_t several_most; /**< of one source */
};

static void hawk_cleanup_maker(struct maker *maker)
{
	free(maker->several);
	free(maker->sole);
	free(maker->grouped);
	hawk_evidence_codes_deinit(&maker->codes);
}

static void hawk_cleanup_kept(struct hawk_kept_evidence **kept)
{
	hawk_kept_evidence_destroy(*kept);
}

static size_t slot_of(const struct maker *maker, uint32_t block)
{
	return hawk_leak_slot(&maker->fold, hawk_block_graph_site(maker->graph, block),
			      hawk_leak_kind(&maker->fold, block));
}

/* Shares meet in words. */
static void mark(const struct share *share, uint64_t *bits, uint32_t edge)
{
	const uint32_t *offsets = share->maker->graph->edges.offsets;
	uint64_t bit = UINT64_C(1) << edge % 64;

	if (edge / 64 == offsets[share->first] / 64 || edge / 64 == offsets[share->end] / 64)
		__atomic_fetch_or(&bits[edge / 64], bit, __ATOMIC_RELAXED);
	else
		bits[edge / 64] |= bit;
}

static void prefetch_target(const struct maker *maker, uint32_t edge)
{
	const struct hawk_graph *edges = &maker->graph->edges;
	uint32_t block;

	if (edges->edge_count - edge <= EDGES_AHEAD)
		return;
	block = edges->edges[edge + EDGES_AHEAD] >> 1;
	hawk_prefetch(&maker->graph->index.traces[block]);
	hawk_prefetch(&maker->fold.leaks->reach.kinds[block]);
}

/* Which records the edges of `part`, of block `whole`, lead to. */
static void meet_targets(const struct share *share, uint32_t part, uint32_t whole)
{
	const struct maker *maker = share->maker;
	const struct hawk_graph *edges = &maker->graph->edges;

	for (uint32_t i = edges->offsets[part]; i < edges->offsets[part + 1]; i++) {
		uint32_t target = edges->edges[i] >> 1;
		struct met *met;

		prefetch_target(maker, i);
		if (hawk_block_index_same(&maker->graph->index, target, whole))
			continue;
		met = &share->met[slot_of(maker, target)];
		if (met->source != whole)
			*met = (struct met){.source = whole, .target = target};
		else if (met->target != target)
			met->state = SEVERAL;
	}
}

/* When all of them have been met. */
static uint64_t mark_edges(const struct share *share, uint32_t part, uint32_t whole)
{
	const struct maker *maker = share->maker;
	const struct hawk_graph *edges = &maker->graph->edges;
	uint64_t several = 0;

	for (uint32_t i = edges->offsets[part]; i < edges->offsets[part + 1]; i++) {
		uint32_t target = edges->edges[i] >> 1;
		struct met *met;

		if (hawk_block_index_same(&maker->graph->index, target, whole))
			continue;
		met = &share->met[slot_of(maker, target)];
		if (met->state == SEVERAL) {
			mark(share, maker->several, i);
			several++;
		} else if (met->state == ALONE) {
			mark(share, maker->sole, i);
			met->state = TAKEN;
		}
	}
	return several;
}

static void mark_source(struct share *share, uint32_t whole)
{
	const struct hawk_block_index *index = &share->maker->graph->index;
	const struct hawk_graph *edges = &share->maker->graph->edges;
	uint64_t several = 0;

	if (!index->part_count && edges->offsets[whole + 1] - edges->offsets[whole] == 1) {
		if (edges->edges[edges->offsets[whole]] >> 1 != whole)
			mark(share, share->maker->sole, edges->offsets[whole]);
		return;
	}
	for (uint32_t part = whole; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(index, part))
		meet_targets(share, part, whole);
	for (uint32_t part = whole; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(index, part))
		several += mark_edges(share, part, whole);
	share->several_count += several;
	if (several > share->several_most)
		share->several_most = several;
}

static void mark_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	const struct hawk_block_graph *graph = share->maker->graph;

	for (uint32_t block = share->first; block < share->end; block++) {
		hawk_progress_tick(block);
		if (hawk_block_index_whole(&graph->index, block) == block)
			mark_source(share, block);
	}
}

/* Parts of a block may lie in the shares of others. */
static unsigned count_shares(const struct maker *maker)
{
	return maker->graph->index.part_count ? 1 : hawk_leak_count_shares(&maker->fold);
}

static struct hawk_error *init_share(struct maker *maker, unsigned number, unsigned count,
				     struct share *ret)
{
	size_t slots = hawk_leak_slot_count(&maker->fold);

	*ret = (struct share){
		.maker = maker,
		.first = (uint32_t)((uint64_t)maker->graph->edges.count * number / count),
		.end = (uint32_t)((uint64_t)maker->graph->edges.count * (number + 1) / count),
		.met = malloc(slots * sizeof(*ret->met)),
	};
	for (size_t i = 0; i < slots && ret->met; i++)
		ret->met[i].source = HAWK_BLOCK_NOWHERE;
	return ret->met ? NULL : &hawk_enomem;
}

/* Fills `several` and `sole`, and makes room for groups. */
static struct hawk_error *mark_all(struct maker *maker)
{
	size_t words = (size_t)maker->graph->edges.edge_count / 64 + 1;
	struct share shares[HAWK_LEAK_SHARES_MAX] = {{0}};
	unsigned count = count_shares(maker);
	uint64_t all = 0, most = 0;
	struct hawk_error *err = NULL;
	struct hawk_area *area = &maker->kept->groups_area;

	maker->several = calloc(words, sizeof(*maker->several));
	maker->sole = calloc(words, sizeof(*maker->sole));
	if (!maker->several || !maker->sole)
		return &hawk_enomem;
	for (unsigned i = 0; i < count && !err; i++)
		err = init_share(maker, i, count, &shares[i]);
	if (!err)
		hawk_parallel_run(count, mark_share, shares);
	for (unsigned i = 0; i < HAWK_LEAK_SHARES_MAX; i++) {
		all += shares[i].several_count;
		most = shares[i].several_most > most ? shares[i].several_most : most;
		free(shares[i].met);
	}
	maker->too_much = all > (uint64_t)GROUPED_PER_BLOCK * maker->graph->index.count ||
			  most > maker->graph->index.count;
	if (err || maker->too_much)
		return err;
	maker->grouped = malloc((most + 1) * sizeof(*maker->grouped));
	err = maker->grouped ? hawk_area_create(area, (all + 1) * sizeof(*maker->groups))
			     : &hawk_enomem;
	if (!err)
		err = hawk_area_grow(area, (all + 1) * sizeof(*maker->groups));
	maker->kept->groups = maker->groups = area->bytes;
	return err;
}

static bool has_ended(const struct maker *maker)
{
	return maker->too_much || maker->codes.too_many || maker->codes.err;
}

static void add_roots(struct maker *maker)
{
	const struct hawk_roots *roots = &maker->graph->roots;

	for (size_t i = 0; i < roots->count && !has_ended(maker); i++) {
		const struct hawk_root *root = &roots->items[i];
		bool explained = hawk_explained_root(maker->fold.explained, i);

		hawk_evidence_codes_add(&maker->codes, root->edge >> 1,
					hawk_evidence_event(root->kind,
							    root->edge & HAWK_EDGE_INTERIOR,
							    explained, false));
	}
}

static void add_edges(struct maker *maker, uint32_t source, uint32_t whole)
{
	const struct hawk_graph *edges = &maker->graph->edges;
	unsigned from = HAWK_LEAK_FROM_BLOCKS + maker->fold.leaks->reach.kinds[source];

	for (uint32_t i = edges->offsets[source]; i < edges->offsets[source + 1]; i++) {
		uint32_t target = edges->edges[i] >> 1;
		bool interior = edges->edges[i] & HAWK_EDGE_INTERIOR;

		if (edges->edge_count - i > EDGES_AHEAD)
			hawk_prefetch(&maker->codes.codes[edges->edges[i + EDGES_AHEAD] >> 1]);
		if (hawk_block_index_same(&maker->graph->index, target, whole))
			continue;
		hawk_evidence_codes_add(
			&maker->codes, target,
			hawk_evidence_event(from, interior,
					    interior &&
						    hawk_explained_edge(maker->fold.explained, i),
					    hawk_leak_bit(maker->sole, i)));
		if (hawk_leak_bit(maker->several, i))
			maker->grouped[maker->grouped_count++] =
				(uint64_t)slot_of(maker, target) << 32 | target;
	}
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* What one source points to, by record. */
static void add_groups(struct maker *maker)
{
	uint64_t *grouped = maker->grouped;

	qsort(grouped, maker->grouped_count, sizeof(*grouped), compare_numbers);
	for (size_t i = 0; i < maker->grouped_count; i++) {
		bool first = !i || grouped[i] >> 32 != grouped[i - 1] >> 32;

		if (first || grouped[i] != grouped[i - 1])
			maker->groups[maker->kept->group_count++] =
				(uint32_t)grouped[i] << 1 | first;
	}
	maker->grouped_count = 0;
}

static void add_sources(struct maker *maker)
{
	const struct hawk_block_index *index = &maker->graph->index;

	for (uint32_t block = 0; block < index->count && !has_ended(maker); block++) {
		hawk_progress_tick(block);
		if (hawk_block_index_whole(index, block) != block)
			continue;
		for (uint32_t part = block; part != HAWK_BLOCK_NOWHERE;
		     part = hawk_block_index_next_part(index, part))
			add_edges(maker, part, block);
		if (maker->grouped_count)
			add_groups(maker);
	}
}

/* What is lost through each block. */
static struct hawk_error *find_lost(struct maker *maker)
{
	const struct hawk_block_graph *graph = maker->graph;
	struct hawk_kept_evidence *kept = maker->kept;
	CLEANUP(free_ptr) uint32_t *stack = malloc(((size_t)graph->index.count + 1) * 4);
	CLEANUP(free_ptr) uint64_t *met = hawk_leak_bits(graph);
	size_t most = graph->index.count / BLOCKS_PER_LOST + 1;
	size_t capacity = 0;
	uint64_t met_count = 0;

	if (!stack || !met)
		return &hawk_enomem;
	for (uint32_t block = hawk_leak_next_leader(&maker->fold, 0); block < graph->index.count;
	     block = hawk_leak_next_leader(&maker->fold, block + 1)) {
		struct hawk_chosen lost = {0};

		hawk_leaks_flood(&maker->fold, met, block, stack, &lost, &met_count);
		if (!lost.objects && !lost.bytes)
			continue;
		if (kept->lost_count == most) {
			maker->too_much = true;
			return NULL;
		}
		if (kept->lost_count == capacity) {
			void *moved;

			capacity = capacity ? 2 * capacity : 256;
			moved = reallocarray(kept->owned_lost, capacity, sizeof(*kept->lost));
			if (!moved)
				return &hawk_enomem;
			kept->lost = kept->owned_lost = moved;
		}
		kept->owned_lost[kept->lost_count++] = (struct hawk_lost_through){
			.block = block,
			.objects = (uint32_t)lost.objects,
			.bytes = lost.bytes,
		};
	}
	return NULL;
}

static struct hawk_error *make(struct maker *maker)
{
	const struct hawk_block_graph *graph = maker->graph;
	struct hawk_error *err = mark_all(maker);

	if (!err && !maker->too_much)
		err = hawk_evidence_codes_init(graph->reach.kinds, graph->index.count,
					       &maker->codes);
	if (err || maker->too_much)
		return err;
	add_roots(maker);
	add_sources(maker);
	maker->too_much = maker->codes.too_many;
	if (has_ended(maker))
		return maker->codes.err;
	err = hawk_evidence_codes_keep(&maker->codes, maker->kept);
	maker->kept->head.downgraded = maker->fold.leaks->downgraded;
	if (!err && !maker->fold.leaks->downgraded)
		err = find_lost(maker);
	return err;
}

struct hawk_error *hawk_kept_evidence_need(struct hawk_block_graph *graph)
{
	CLEANUP(kept) struct hawk_kept_evidence *kept = NULL;
	struct hawk_leaks leaks = {0};
	struct hawk_error *err;
	struct hawk_progress progress;

	if (graph->evidence)
		return NULL;
	err = hawk_block_graph_readable(graph);
	if (err) {
		hawk_error_destroy(err);
		return NULL;
	}
	err = hawk_block_graph_need(graph, HAWK_PART_REACH);
	if (!err)
		err = hawk_block_graph_explain(graph);
	kept = err ? NULL : calloc(1, sizeof(*kept));
	if (!kept)
		return err ? err : &hawk_enomem;
	leaks.reach.kinds = graph->reach.kinds;
	leaks.downgraded = hawk_leaks_doubt(graph) != HAWK_LEAKS_NO_DOUBT;
	CLEANUP(maker)
	struct maker maker = {
		.graph = graph,
		.fold = {.graph = graph, .explained = &graph->explained, .leaks = &leaks},
		.kept = kept,
	};
	hawk_progress_begin(&progress, "collecting evidence by block",
			    2 * (uint64_t)graph->index.count);
	err = make(&maker);
	hawk_progress_end(&progress);
	if (!err && !maker.too_much)
		graph->evidence = take_ptr(&kept);
	return err;
}

void hawk_kept_evidence_destroy(struct hawk_kept_evidence *kept)
{
	if (!kept)
		return;
	hawk_area_destroy(&kept->codes_area);
	hawk_area_destroy(&kept->groups_area);
	free(kept->owned_items);
	free(kept->owned_lost);
	free(kept);
}
