/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loss records from the kinds of all blocks.
 */
#include "hawk_leaks.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "leaks_fold.h"

static void hawk_cleanup_fold(struct hawk_leak_fold *fold)
{
	free(fold->record_of);
	hawk_area_destroy(&fold->recorded.area);
}

static void hawk_cleanup_workspace(struct hawk_workspace *workspace)
{
	hawk_workspace_destroy(workspace);
}

enum hawk_leaks_doubt hawk_leaks_doubt(const struct hawk_block_graph *graph)
{
	size_t threads;
	bool dropped;

	hawk_target_threads(graph->target, &threads);
	if (!threads || !hawk_roots_complete(&graph->roots))
		return HAWK_LEAKS_MEMORY_MISSING;
	if (graph->heap->discarded_heaps)
		return HAWK_LEAKS_HEAPS_DISCARDED;
	/* What the tracer had to drop is whole, and is scanned as memory between blocks. */
	dropped = graph->heap->table && hawk_table_header(graph->heap->table)->dropped_objects;
	return graph->heap->plan.blocks_missing && !dropped ? HAWK_LEAKS_OVERWRITTEN
							    : HAWK_LEAKS_NO_DOUBT;
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

enum hawk_reach_kind hawk_leaks_kind(const struct hawk_block_graph *graph, uint32_t block)
{
	enum hawk_reach_kind kind = (enum hawk_reach_kind)graph->reach.kinds[block];
	bool lost = kind == HAWK_REACH_DEFINITELY_LOST || kind == HAWK_REACH_INDIRECTLY_LOST;

	return lost && hawk_leaks_doubt(graph) ? HAWK_REACH_POSSIBLY : kind;
}

struct hawk_error *hawk_leak_bits_create(struct hawk_leak_bits *bits, uint32_t count)
{
	struct hawk_error *err = hawk_area_create_sparse(&bits->area, (uint64_t)count / 8 + 1);

	bits->bits = bits->area.bytes;
	return err;
}

static struct hawk_error *start_record(struct hawk_leak_fold *fold, uint32_t block,
				       enum hawk_reach_kind kind, uint32_t *slot)
{
	struct hawk_leaks *leaks = fold->leaks;

	if (leaks->count == fold->capacity) {
		size_t more = fold->capacity ? 2 * fold->capacity : 64;
		void *moved = reallocarray(leaks->records, more, sizeof(*leaks->records));

		if (!moved)
			return &hawk_enomem;
		leaks->records = moved;
		fold->capacity = more;
	}
	*slot = (uint32_t)leaks->count;
	leaks->records[leaks->count++] = (struct hawk_leak_record){
		.site = hawk_block_graph_site(fold->graph, block),
		.kind = kind,
		.example = block,
		.first_root = UINT32_MAX,
	};
	return NULL;
}

static void note_age(struct hawk_leak_fold *fold, struct hawk_leak_record *record, uint32_t block)
{
	struct hawk_block bytes;
	uint64_t units;

	if (!hawk_block_graph_next_block(fold->graph, &fold->near, block, &bytes))
		return;
	units = hawk_birth_decode(bytes.birth);
	if (record->has_birth && record->oldest_units <= units)
		return;
	record->has_birth = true;
	record->oldest_units = units;
	record->example = block;
}

static struct hawk_error *is_wanted(struct hawk_leak_fold *fold, uint32_t block, bool *ret)
{
	return hawk_choice_passes(fold->graph, &fold->near, fold->filter, block, NULL, ret);
}

/* Blocks that are called `kind` and are `told`. */
static void add_sum(struct hawk_leaks *leaks, unsigned kind, enum hawk_reach_kind told,
		    struct hawk_reach_sum sum)
{
	leaks->sums[told].objects += sum.objects;
	leaks->sums[told].bytes += sum.bytes;
	if (kind == told)
		return;
	leaks->downgrade.objects += sum.objects;
	leaks->downgrade.bytes += sum.bytes;
}

static struct hawk_error *add_to_record(struct hawk_leak_fold *fold, uint32_t block,
					enum hawk_reach_kind kind, struct hawk_reach_sum sum)
{
	struct hawk_leaks *leaks = fold->leaks;
	uint32_t *slot = hawk_leak_slot(fold, block, kind);
	struct hawk_leak_record *record;
	struct hawk_error *err = NULL;

	if (*slot == HAWK_LEAK_NO_RECORD)
		err = start_record(fold, block, kind, slot);
	if (err)
		return err;
	record = &leaks->records[*slot];
	record->objects += sum.objects;
	record->bytes += sum.bytes;
	hawk_leak_set_bit(&fold->recorded, block);
	note_age(fold, record, block);
	return NULL;
}

static struct hawk_error *add_block(struct hawk_leak_fold *fold, uint32_t block)
{
	enum hawk_reach_kind kind = hawk_leak_kind(fold, block);
	const struct hawk_reach_sum sum = {
		.objects = hawk_block_index_counts(&fold->graph->index, block),
		.bytes = hawk_block_index_left_bytes(&fold->graph->index, block),
	};
	struct hawk_error *err;
	bool wanted;

	err = is_wanted(fold, block, &wanted);
	if (err || !wanted)
		return err;
	if (fold->filter)
		add_sum(fold->leaks, fold->leaks->reach.kinds[block], kind, sum);
	return fold->kinds >> kind & 1 ? add_to_record(fold, block, kind, sum) : NULL;
}

/* Without a filter sums are those of reach, and blocks of kinds without records are passed over.
 * The first block from `block` on that is not. */
static uint32_t skip(const struct hawk_leak_fold *fold, uint32_t block)
{
	const uint8_t *kinds = fold->leaks->reach.kinds;
	uint32_t count = fold->graph->index.count;

	while (!fold->filter && block < count &&
	       !(fold->kinds >> hawk_leak_kind(fold, block) & 1)) {
		uint64_t alike = kinds[block] * UINT64_C(0x0101010101010101);
		uint64_t eight;

		for (block++; count - block >= sizeof(eight); block += sizeof(eight)) {
			memcpy(&eight, kinds + block, sizeof(eight));
			if (eight != alike)
				break;
		}
	}
	return block;
}

static void add_sums(struct hawk_leak_fold *fold)
{
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++)
		add_sum(fold->leaks, kind, hawk_leak_told(fold, (enum hawk_reach_kind)kind),
			fold->leaks->reach.sums[kind]);
}

static struct hawk_error *add_blocks(struct hawk_leak_fold *fold)
{
	size_t slots = (fold->graph->heap->site_count + 1) * HAWK_REACH_KINDS;
	struct hawk_error *err = NULL;

	fold->record_of = malloc(slots * sizeof(*fold->record_of));
	if (!fold->record_of)
		return &hawk_enomem;
	memset(fold->record_of, 0xff, slots * sizeof(*fold->record_of));
	err = hawk_leak_bits_create(&fold->recorded, fold->graph->index.count);
	if (!fold->filter)
		add_sums(fold);
	for (uint32_t block = skip(fold, 0); block < fold->graph->index.count && !err;
	     block = skip(fold, block + 1))
		err = add_block(fold, block);
	return err;
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

static struct hawk_error *fold_all(struct hawk_block_graph *graph,
				   const struct hawk_explained *explained, unsigned kinds,
				   const struct hawk_choice_wish *filter,
				   struct hawk_workspace *workspace, struct hawk_leaks *leaks)
{
	CLEANUP(fold)
	struct hawk_leak_fold fold = {
		.graph = graph,
		.near = {.target = graph->target},
		.explained = explained,
		.filter = filter,
		.kinds = kinds,
		.leaks = leaks,
	};
	struct hawk_error *err = NULL;

	leaks->reach = graph->reach;
	leaks->reach.area = (struct hawk_area){0};
	if (explained != &graph->explained)
		err = hawk_reach_make_explained(&graph->index, &graph->edges, &graph->roots,
						explained, workspace, &leaks->reach);
	if (err)
		return err;
	leaks->downgraded = hawk_leaks_doubt(graph) != HAWK_LEAKS_NO_DOUBT;
	memcpy(leaks->heuristics, explained->counts, sizeof(leaks->heuristics));
	err = add_blocks(&fold);
	if (!err)
		err = hawk_leaks_find_evidence(&fold);
	if (!err && !leaks->downgraded)
		err = hawk_leaks_add_indirect(&fold, hawk_workspace_lane(workspace, 0));
	if (!err && leaks->count)
		qsort_r(leaks->records, leaks->count, sizeof(*leaks->records), compare,
			(void *)(uintptr_t)graph->heap);
	return err;
}

struct hawk_error *hawk_leaks_make(struct hawk_block_graph *graph,
				   const struct hawk_explained *explained, unsigned kinds,
				   const struct hawk_choice_wish *filter, struct hawk_leaks *ret)
{
	CLEANUP(workspace) struct hawk_workspace own = {0};
	struct hawk_workspace *workspace = &graph->workspace;
	struct hawk_leaks leaks = {0};
	struct hawk_error *err = hawk_block_graph_need(
		graph, explained == &graph->explained ? HAWK_PART_REACH
						      : HAWK_PART_EDGES | HAWK_PART_ROOTS);

	/* Dominators live in the graph's. */
	if (!err && (graph->parts & HAWK_PART_RETAINED || !workspace->area.bytes)) {
		workspace = &own;
		err = hawk_workspace_create(workspace, graph->index.count, 1);
	}
	if (!err)
		err = fold_all(graph, explained, kinds, filter, workspace, &leaks);
	if (err) {
		hawk_leaks_deinit(&leaks);
		return err;
	}
	*ret = leaks;
	return NULL;
}

void hawk_leaks_deinit(struct hawk_leaks *leaks)
{
	free(leaks->records);
	hawk_reach_deinit(&leaks->reach);
	*leaks = (struct hawk_leaks){0};
}
