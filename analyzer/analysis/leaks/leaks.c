/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folds blocks into loss records, then pointers into the evidence for them.
 */
#include "hawk/analysis/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/analysis/leak_leaders.h"
#include "hawk/base/progress.h"

static const uint32_t NO_RECORD = UINT32_MAX;

struct tally {
	const struct hawk_graph *graph;
	const struct hawk_explained *explained;
	const uint64_t *chosen; /**< a bit for each block that the filter wants; NULL = all */
	unsigned kinds;
	struct hawk_leaks *leaks;
	size_t capacity;
	uint32_t *record_of; /**< by slot_of(), or NO_RECORD */
	uint64_t *recorded;  /**< a bit for each block that counts for a record */
	uint64_t *pointed;   /**< a bit for each of those that a pointer leads to */
	uint32_t *sources;   /**< by record: the last block with a pointer to one of its blocks */
};

static void hawk_cleanup_tally(struct tally *tally)
{
	free(tally->record_of);
	free(tally->recorded);
	free(tally->pointed);
	free(tally->sources);
}

/* Returns true if missing blocks were only dropped by the tracer: these are intact, and scanned as
 * memory between blocks. */
static bool are_only_dropped(const struct hawk_graph *graph)
{
	const struct hawk_heap *heap = graph->heap;

	return heap->dropped_objects && !hawk_heap_unaccounted(heap) &&
	       !heap->damages.counts[HAWK_DAMAGE_HEADER];
}

enum hawk_leaks_doubt hawk_leaks_doubt(const struct hawk_graph *graph)
{
	const struct hawk_heap *heap = graph->heap;
	size_t threads;

	hawk_target_threads(graph->heap->target, &threads);
	if (!threads || hawk_target_is_incomplete(graph->heap->target) ||
	    !hawk_roots_complete(&graph->roots))
		return HAWK_LEAKS_MEMORY_MISSING;
	if (heap->discarded_heaps)
		return HAWK_LEAKS_HEAPS_DISCARDED;
	return hawk_heap_spans_have(&heap->spans, HAWK_SPAN_UNSOUND) && !are_only_dropped(graph)
		       ? HAWK_LEAKS_OVERWRITTEN
		       : HAWK_LEAKS_NO_DOUBT;
}

bool hawk_leaks_may_hide(const struct hawk_graph *graph, const struct hawk_leaks *leaks)
{
	size_t threads;

	switch (hawk_leaks_doubt(graph)) {
	case HAWK_LEAKS_NO_DOUBT:
		return false;
	case HAWK_LEAKS_HEAPS_DISCARDED:
		return leaks->downgrade.objects;
	case HAWK_LEAKS_OVERWRITTEN:
		return true;
	case HAWK_LEAKS_MEMORY_MISSING:
		break;
	}
	hawk_target_threads(graph->heap->target, &threads); /* none: dead stacks count as roots */
	return leaks->downgrade.objects || !threads ||
	       hawk_target_is_incomplete(graph->heap->target) || graph->roots.heap_missing_bytes ||
	       !hawk_heap_is_whole(graph->heap);
}

const char *hawk_leaks_doubt_text(enum hawk_leaks_doubt doubt)
{
	switch (doubt) {
	case HAWK_LEAKS_MEMORY_MISSING:
		return "memory is missing in which pointers may lie";
	case HAWK_LEAKS_HEAPS_DISCARDED:
		return "an arena was reset, and its blocks look live";
	case HAWK_LEAKS_OVERWRITTEN:
		return "blocks were overwritten, and perhaps pointers in them";
	default:
		return "nothing is missing";
	}
}

enum hawk_reach_kind hawk_leaks_kind(const struct hawk_graph *graph, const struct hawk_reach *reach,
				     uint32_t block)
{
	enum hawk_reach_kind kind = (enum hawk_reach_kind)reach->kinds[block];
	bool lost = kind == HAWK_REACH_DEFINITELY_LOST || kind == HAWK_REACH_INDIRECTLY_LOST;

	return lost && hawk_leaks_doubt(graph) ? HAWK_REACH_POSSIBLY : kind;
}

static uint64_t site_id(const struct hawk_heap *heap, const struct hawk_leak_record *record)
{
	return record->site < heap->site_count ? heap->sites[record->site].id : 0;
}

static int compare(const void *left, const void *right, void *heap)
{
	static const uint8_t order[HAWK_REACH_KINDS] = {
		[HAWK_REACH_DEFINITELY_LOST] = 1,
		[HAWK_REACH_INDIRECTLY_LOST] = 2,
		[HAWK_REACH_POSSIBLY] = 3,
		[HAWK_REACH_REACHABLE] = 4,
	};
	const struct hawk_leak_record *a = left;
	const struct hawk_leak_record *b = right;
	uint64_t a_bytes = a->bytes + a->indirect_bytes;
	uint64_t b_bytes = b->bytes + b->indirect_bytes;

	if (a->kind != b->kind)
		return order[a->kind] < order[b->kind] ? -1 : 1;
	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	if (site_id(heap, a) != site_id(heap, b))
		return site_id(heap, a) < site_id(heap, b) ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

/* Sets a bit; returns its old value. */
static bool set_bit(uint64_t *bits, uint32_t block)
{
	bool was = hawk_block_is_chosen(bits, block);

	bits[block / 64] |= UINT64_C(1) << block % 64;
	return was;
}

/* Returns the kind under which blocks of `kind` are reported. */
static enum hawk_reach_kind reported_kind(const struct hawk_leaks *leaks, unsigned kind)
{
	return leaks->downgraded && kind > HAWK_REACH_POSSIBLY ? HAWK_REACH_POSSIBLY
							       : (enum hawk_reach_kind)kind;
}

static enum hawk_reach_kind kind_of(const struct tally *tally, uint32_t block)
{
	return reported_kind(tally->leaks, tally->leaks->reach->kinds[block]);
}

/* By site (the last one: none) and kind. */
static size_t slot_of(const struct tally *tally, uint32_t block)
{
	size_t sites = tally->graph->heap->site_count;
	size_t site = hawk_heap_site_at(tally->graph->heap, block);

	return (site < sites ? site : sites) * HAWK_REACH_KINDS + kind_of(tally, block);
}

static struct hawk_leak_record *record_of(const struct tally *tally, uint32_t block)
{
	return &tally->leaks->records[tally->record_of[slot_of(tally, block)]];
}

static struct hawk_error *add_record(struct tally *tally, uint32_t block)
{
	struct hawk_leaks *leaks = tally->leaks;

	if (!hawk_array_reserve(&leaks->records, leaks->count, &tally->capacity,
				sizeof(*leaks->records)))
		return &hawk_enomem;
	tally->record_of[slot_of(tally, block)] = (uint32_t)leaks->count;
	leaks->records[leaks->count++] = (struct hawk_leak_record){
		.site = hawk_heap_site_at(tally->graph->heap, block),
		.kind = kind_of(tally, block),
		.example = block,
		.first_root = UINT32_MAX,
	};
	return NULL;
}

static struct hawk_error *add_block(struct tally *tally, struct hawk_near *near, uint32_t block)
{
	const struct hawk_graph *graph = tally->graph;
	struct hawk_leak_record *record;
	uint64_t birth;
	uint16_t head;

	if (tally->record_of[slot_of(tally, block)] == NO_RECORD) {
		struct hawk_error *err = add_record(tally, block);

		if (err)
			return err;
	}
	set_bit(tally->recorded, block);
	record = record_of(tally, block);
	record->objects++;
	record->bytes += hawk_block_own_bytes(&graph->heap->index, block);
	head = hawk_heap_next_head(graph->heap, near, block);
	birth = hawk_birth_decode((uint8_t)head);
	if (head && (!record->has_birth || birth < record->oldest_units)) {
		record->has_birth = true;
		record->oldest_units = birth;
		record->example = block;
	}
	return NULL;
}

/* With a filter, fills `sums` by kind as found. */
static struct hawk_error *add_blocks(struct tally *tally, struct hawk_chosen *sums)
{
	struct hawk_near near = {.target = tally->graph->heap->target};
	uint32_t count = tally->graph->heap->index.count;
	struct hawk_error *err = NULL;
	struct hawk_progress progress;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "recording lost blocks", count);
	for (uint32_t block = hawk_block_next_chosen(tally->chosen, 0, count);
	     block < count && !err;
	     block = hawk_block_next_chosen(tally->chosen, block + 1, count)) {
		hawk_progress_pass(&reported, block);
		if (tally->chosen)
			hawk_chosen_add(&sums[tally->leaks->reach->kinds[block]],
					&tally->graph->heap->index, block);
		if (tally->kinds >> kind_of(tally, block) & 1)
			err = add_block(tally, &near, block);
	}
	hawk_progress_end(&progress);
	return err;
}

/* Adds the sums by reported kind. Without a filter they are already known. */
static void add_sums(struct tally *tally, const struct hawk_chosen *chosen)
{
	struct hawk_leaks *leaks = tally->leaks;

	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++) {
		struct hawk_reach_sum sum = leaks->reach->sums[kind];
		unsigned reported = reported_kind(leaks, kind);

		if (tally->chosen)
			sum = (struct hawk_reach_sum){chosen[kind].objects, chosen[kind].bytes};
		leaks->sums[reported].objects += sum.objects;
		leaks->sums[reported].bytes += sum.bytes;
		if (reported == kind)
			continue;
		leaks->downgrade.objects += sum.objects;
		leaks->downgrade.bytes += sum.bytes;
	}
}

/* Counts a pointer: `edge` leads to a block that counts for `record`. */
static void add_pointer(struct tally *tally, struct hawk_leak_record *record, uint32_t edge,
			unsigned source, bool explained)
{
	if (edge & HAWK_EDGE_INTERIOR)
		record->pointers[source].interior++;
	else
		record->pointers[source].start++;
	record->explained += explained;
	record->pointed_objects += !set_bit(tally->pointed, edge >> 1);
}

static void add_roots(struct tally *tally)
{
	const struct hawk_roots *roots = &tally->graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		const struct hawk_root *root = &roots->items[i];
		struct hawk_leak_record *record;

		if (!hawk_block_is_chosen(tally->recorded, root->edge >> 1) ||
		    hawk_graph_ignores_root(tally->graph, tally->leaks->reach->ends, i))
			continue;
		record = record_of(tally, root->edge >> 1);
		add_pointer(tally, record, root->edge, root->kind,
			    hawk_explained_root(tally->explained, i));
		if (record->first_root == UINT32_MAX)
			record->first_root = (uint32_t)i;
	}
}

static void add_edges(struct tally *tally, uint32_t source)
{
	const struct hawk_graph *edges = tally->graph;
	struct hawk_leaks *leaks = tally->leaks;

	for (uint32_t i = edges->offsets[source]; i < edges->offsets[source + 1]; i++) {
		uint32_t edge = edges->edges[i];
		uint32_t number;

		if (!hawk_block_is_chosen(tally->recorded, edge >> 1) || edge >> 1 == source ||
		    hawk_graph_ignores_edge(tally->graph, leaks->reach->ends, i))
			continue;
		number = tally->record_of[slot_of(tally, edge >> 1)];
		add_pointer(tally, &leaks->records[number], edge,
			    HAWK_LEAK_FROM_BLOCKS + leaks->reach->kinds[source],
			    hawk_explained_edge(tally->explained, i));
		leaks->records[number].source_blocks += tally->sources[number] != source;
		tally->sources[number] = source;
	}
}

static struct hawk_error *find_evidence(struct tally *tally)
{
	const struct hawk_block_index *index = &tally->graph->heap->index;
	size_t bytes = tally->leaks->count * sizeof(*tally->sources);
	struct hawk_progress progress;

	tally->pointed = calloc((size_t)index->count / 64 + 1, sizeof(*tally->pointed));
	tally->sources = malloc(bytes);
	if (!tally->pointed || !tally->sources)
		return &hawk_enomem;
	memset(tally->sources, 0xff, bytes);
	hawk_progress_begin(&progress, "looking for pointers to lost blocks", index->count);
	add_roots(tally);
	for (uint32_t block = 0; block < index->count; block++) {
		hawk_progress_tick(block);
		add_edges(tally, block);
	}
	hawk_progress_end(&progress);
	return NULL;
}

static struct hawk_error *add_indirect(const struct tally *tally)
{
	struct hawk_leaks *leaks = tally->leaks;
	CLEANUP(free_ptr) struct hawk_chosen *lost = NULL;
	struct hawk_error *err = hawk_leak_lost(tally->graph, leaks->reach, tally->recorded, &lost);

	for (size_t i = 0; i < leaks->count && !err; i++) {
		struct hawk_leak_record *record = &leaks->records[i];
		size_t sites = tally->graph->heap->site_count;

		if (record->kind != HAWK_REACH_DEFINITELY_LOST)
			continue;
		record->indirect_objects =
			lost[record->site < sites ? record->site : sites].objects;
		record->indirect_bytes = lost[record->site < sites ? record->site : sites].bytes;
	}
	return err;
}

static struct hawk_error *fill_records(struct tally *tally)
{
	size_t slots = (tally->graph->heap->site_count + 1) * HAWK_REACH_KINDS;
	struct hawk_chosen sums[HAWK_REACH_KINDS] = {{0}};
	struct hawk_leaks *leaks = tally->leaks;
	struct hawk_error *err;

	tally->recorded =
		calloc((size_t)tally->graph->heap->index.count / 64 + 1, sizeof(*tally->recorded));
	tally->record_of = malloc(slots * sizeof(*tally->record_of));
	if (!tally->recorded || !tally->record_of)
		return &hawk_enomem;
	memset(tally->record_of, 0xff, slots * sizeof(*tally->record_of));
	err = tally->kinds || tally->chosen ? add_blocks(tally, sums) : NULL;
	if (err)
		return err;
	add_sums(tally, sums);
	if (!leaks->count)
		return NULL;
	err = find_evidence(tally);
	if (!err && !leaks->downgraded)
		err = add_indirect(tally);
	qsort_r(leaks->records, leaks->count, sizeof(*leaks->records), compare,
		(void *)(uintptr_t)tally->graph->heap);
	return err;
}

struct hawk_error *hawk_leaks_make(const struct hawk_graph *graph,
				   const struct hawk_explained *explained,
				   const struct hawk_reach *reach, unsigned kinds,
				   const uint64_t *chosen, struct hawk_leaks *ret)
{
	struct hawk_leaks leaks = {
		.reach = reach,
		.downgraded = hawk_leaks_doubt(graph) != HAWK_LEAKS_NO_DOUBT,
	};
	CLEANUP(tally)
	struct tally tally = {
		.graph = graph,
		.explained = explained,
		.chosen = chosen,
		.kinds = kinds,
		.leaks = &leaks,
	};
	struct hawk_error *err;

	memcpy(leaks.heuristics, explained->counts, sizeof(leaks.heuristics));
	err = fill_records(&tally);
	if (err)
		hawk_leaks_deinit(&leaks);
	else
		*ret = leaks;
	return err;
}

void hawk_leaks_deinit(struct hawk_leaks *leaks)
{
	free(leaks->records);
	*leaks = (struct hawk_leaks){0};
}
