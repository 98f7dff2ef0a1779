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
	free(fold->chosen);
	free(fold->record_of);
	free(fold->recorded);
}

static void hawk_cleanup_workspace(struct hawk_workspace *workspace)
{
	hawk_workspace_destroy(workspace);
}

/* What the tracer had to drop is whole, and is scanned as memory between blocks. */
static bool are_only_dropped(const struct hawk_block_graph *graph)
{
	const struct hawk_heap *heap = graph->heap;

	return heap->table && hawk_table_header(heap->table)->dropped_objects &&
	       !hawk_heap_unaccounted(graph->target, heap) && !heap->sweep.implausible;
}

enum hawk_leaks_doubt hawk_leaks_doubt(const struct hawk_block_graph *graph)
{
	const struct hawk_heap *heap = graph->heap;
	size_t threads;

	hawk_target_threads(graph->target, &threads);
	if (!threads || hawk_target_is_incomplete(graph->target) ||
	    !hawk_roots_complete(&graph->roots))
		return HAWK_LEAKS_MEMORY_MISSING;
	if (heap->discarded_heaps)
		return HAWK_LEAKS_HEAPS_DISCARDED;
	return heap->plan.blocks_missing && !are_only_dropped(graph) ? HAWK_LEAKS_OVERWRITTEN
								     : HAWK_LEAKS_NO_DOUBT;
}

bool hawk_leaks_may_hide(const struct hawk_block_graph *graph, const struct hawk_leaks *leaks)
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
	hawk_target_threads(graph->target, &threads); /* none: dead stacks count as roots */
	return leaks->downgrade.objects || !threads || hawk_target_is_incomplete(graph->target) ||
	       graph->roots.heap_missing_bytes || !hawk_heap_is_whole(graph->target, graph->heap);
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

void hawk_leaks_sort(const struct hawk_heap *heap, struct hawk_leaks *leaks)
{
	if (leaks->count)
		qsort_r(leaks->records, leaks->count, sizeof(*leaks->records), compare,
			(void *)(uintptr_t)heap);
}

/* Pointers to the blocks that count, and what is lost through them. */
static struct hawk_error *find_evidence(struct hawk_leak_fold *fold,
					const struct hawk_workspace *workspace)
{
	struct hawk_error *err = hawk_leaks_find_evidence(fold);

	if (err || fold->leaks->downgraded)
		return err;
	return hawk_leaks_add_indirect(fold, hawk_workspace_lane(workspace, 0));
}

/* Without evidence if `workspace` is NULL. */
static struct hawk_error *fold_all(struct hawk_block_graph *graph,
				   const struct hawk_explained *explained, unsigned kinds,
				   const struct hawk_choice_wish *filter,
				   struct hawk_workspace *workspace, struct hawk_leaks *leaks)
{
	CLEANUP(fold)
	struct hawk_leak_fold fold = {
		.graph = graph,
		.explained = explained,
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
	if (filter)
		err = hawk_choice_bits_make(graph, filter, false, &fold.chosen);
	if (!err)
		err = hawk_leaks_add_blocks(&fold);
	if (!err && workspace)
		err = find_evidence(&fold, workspace);
	if (!err)
		hawk_leaks_sort(graph->heap, leaks);
	return err;
}

struct hawk_error *hawk_leaks_make_bare(struct hawk_block_graph *graph, struct hawk_leaks *ret)
{
	struct hawk_leaks leaks = {0};
	struct hawk_error *err;

	err = hawk_block_graph_need(graph, HAWK_PART_REACH);
	if (!err)
		err = fold_all(graph, &graph->explained, ~0u, NULL, NULL, &leaks);
	if (err)
		hawk_leaks_deinit(&leaks);
	else
		*ret = leaks;
	return err;
}

struct hawk_error *hawk_leaks_make(struct hawk_block_graph *graph,
				   const struct hawk_explained *explained, unsigned kinds,
				   const struct hawk_choice_wish *filter, struct hawk_leaks *ret)
{
	CLEANUP(workspace) struct hawk_workspace own = {0};
	struct hawk_workspace *workspace = &graph->workspace;
	bool is_own = explained == &graph->explained;
	struct hawk_leaks leaks = {0};
	struct hawk_error *err;

	err = hawk_block_graph_need(graph,
				    is_own ? HAWK_PART_REACH : HAWK_PART_EDGES | HAWK_PART_ROOTS);
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
