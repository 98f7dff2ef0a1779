/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parts of the graph in the order of what they depend on.
 */
#include "hawk_block_graph.h"

#include <malloc.h>
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_kept_evidence.h"
#include "hawk_kept_leaks.h"
#include "hawk_parallel.h"

static const unsigned ORDERS = HAWK_PART_ORDER | HAWK_PART_START_ORDER | HAWK_PART_PATH_STEPS;

void hawk_block_graph_init(struct hawk_block_graph *graph, struct hawk_target *target,
			   const struct hawk_heap *heap, struct hawk_findings *findings)
{
	*graph = (struct hawk_block_graph){.target = target, .heap = heap, .findings = findings};
}

void hawk_block_graph_reset(struct hawk_block_graph *graph, struct hawk_target *target,
			    const struct hawk_heap *heap, struct hawk_findings *findings)
{
	*graph = (struct hawk_block_graph){
		.target = target,
		.heap = heap,
		.findings = findings,
		.threads = graph->threads,
		.keeps_sites = graph->keeps_sites,
		.vtables = graph->vtables,
	};
}

unsigned hawk_block_graph_threads(const struct hawk_block_graph *graph)
{
	unsigned processors = hawk_parallel_processors();

	return graph->threads && graph->threads < processors ? graph->threads : processors;
}

struct hawk_error *hawk_block_graph_readable(const struct hawk_block_graph *graph)
{
	if (!graph->heap->table || !hawk_target_process(graph->target)->live)
		return NULL;
	if (!hawk_target_pause_ns(graph->target))
		return NULL;
	return hawk_error_create(HAWK_ERROR_NOT_FOUND,
				 "the process runs on, and its memory was not kept");
}

static struct hawk_error *make_index(struct hawk_block_graph *graph, unsigned missing)
{
	struct hawk_sweep_result result;

	(void)missing;
	if (!graph->heap->table)
		return hawk_block_index_init(&graph->index, 0);
	return hawk_block_index_sweep(&graph->index, graph->target, &graph->heap->plan,
				      graph->threads, NULL, &result);
}

static struct hawk_error *make_edges(struct hawk_block_graph *graph, unsigned missing)
{
	(void)missing;
	return hawk_graph_make(graph->target, &graph->index, graph->threads, &graph->edges);
}

static struct hawk_error *make_roots(struct hawk_block_graph *graph, unsigned missing)
{
	(void)missing;
	return hawk_roots_find(graph->target, &graph->index, &graph->heap->plan, graph->findings,
			       &graph->roots);
}

struct hawk_error *hawk_block_graph_explain(struct hawk_block_graph *graph)
{
	CLEANUP(asking) struct hawk_asking asking = {0};
	struct hawk_error *err;
	size_t before;

	if (graph->has_explained)
		return NULL;
	err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);
	if (!err)
		err = hawk_block_graph_readable(graph);
	before = graph->findings ? graph->findings->count : 0;
	if (!err && graph->vtables)
		err = hawk_asking_init(&asking, graph->target, graph->vtables);
	if (err)
		return err;
	err = hawk_heuristics_find(graph->target, &graph->index, &graph->edges, &graph->roots,
				   HAWK_HEURISTICS_ALL, graph->vtables ? &asking.oracle : NULL,
				   hawk_block_graph_threads(graph), &graph->explained);
	graph->has_explained = !err;
	hawk_findings_sort(graph->findings, before); /* threads ask in no order */
	if (err || graph->parts & HAWK_PART_ASKED)
		return err;
	hawk_asking_finish(&asking, &graph->asked);
	graph->parts |= HAWK_PART_ASKED;
	return NULL;
}

struct hawk_error *hawk_block_graph_workspace(struct hawk_block_graph *graph)
{
	unsigned threads = hawk_block_graph_threads(graph);
	struct hawk_error *err = NULL;

	if (!graph->workspace.area.bytes) {
		err = hawk_workspace_create(&graph->workspace, graph->index.count, threads);
	}
	graph->workspace.threads = threads;
	return err;
}

static struct hawk_error *make_reach(struct hawk_block_graph *graph, unsigned missing)
{
	struct hawk_error *err = hawk_block_graph_readable(graph);

	if (err)
		hawk_error_destroy(take_ptr(&err));
	else
		err = hawk_block_graph_explain(graph);
	if (!err)
		err = hawk_block_graph_workspace(graph);
	if (err)
		return err;
	/* From here on memory is at its peak; what earlier steps have freed is not needed. */
	(void)malloc_trim(0);
	if (missing & HAWK_PART_RETAINED) {
		err = hawk_dominators_make_reaching(&graph->index, &graph->edges, &graph->roots,
						    &graph->explained, &graph->workspace,
						    &graph->reach, &graph->dominators);
		graph->has_start_dominators = !err;
		return err;
	}
	return hawk_reach_make_explained(&graph->index, &graph->edges, &graph->roots,
					 &graph->explained, &graph->workspace, &graph->reach);
}

static struct hawk_error *make_retained(struct hawk_block_graph *graph, unsigned missing)
{
	(void)missing;
	return hawk_block_graph_make_retained(graph);
}

unsigned hawk_block_graph_wanted(const struct hawk_block_graph *graph, unsigned cached,
				 unsigned parts)
{
	const unsigned both = HAWK_PART_FOLDS | HAWK_PART_START_FOLD;
	unsigned have = graph->parts | cached;
	unsigned some = parts & ORDERS;
	unsigned folds = 0;

	if (parts & HAWK_PART_RETAINED_TREES)
		folds = both;
	else if (parts & HAWK_PART_RETAINED_TREE ||
		 (parts & HAWK_PART_RETAINED_BY_SITE && (some || !graph->retained)))
		folds = HAWK_PART_FOLDS;
	if (some && parts & HAWK_PART_RETAINED_BY_SITE)
		folds = both;
	if (some && !((folds | some) & ~have))
		parts |= HAWK_PART_ROOTS | folds;
	else if (some && !(parts & (HAWK_PART_RETAINED_TREE | HAWK_PART_RETAINED_TREES)))
		parts |= HAWK_PART_REACH;
	else if ((folds | some) & ~have)
		parts |= HAWK_PART_RETAINED;
	else if (folds || parts & HAWK_PART_RETAINED_BY_SITE)
		parts |= HAWK_PART_REACH | folds;
	if (parts & (HAWK_PART_LEAKS | HAWK_PART_EVIDENCE) & ~have)
		parts = (parts & ~(unsigned)(HAWK_PART_LEAKS | HAWK_PART_EVIDENCE)) |
			HAWK_PART_REACH;
	return parts & ~(unsigned)(HAWK_PART_RETAINED_BY_SITE | HAWK_PART_RETAINED_TREE |
				   HAWK_PART_RETAINED_TREES);
}

/* Whether what is `missing` begins with the site graph, which makes all else beside it. */
static bool is_with_sites(const struct hawk_block_graph *graph, unsigned missing)
{
	const unsigned all = HAWK_PART_EDGES | HAWK_PART_RETAINED;

	if (missing & HAWK_PART_SITES)
		return true;
	return graph->keeps_sites && (missing & all) == all && hawk_site_graph_is_cheap(graph);
}

static struct hawk_error *make_sites(struct hawk_block_graph *graph, unsigned missing)
{
	bool keeps_sites = graph->keeps_sites;
	struct hawk_error *err;

	graph->keeps_sites = false; /* it is on its way */
	err = hawk_site_graph_make_beside(graph, missing & ~(unsigned)HAWK_PART_SITES,
					  &graph->sites);
	graph->keeps_sites = keeps_sites;
	if (!err)
		graph->parts |= HAWK_PART_SITES;
	return err;
}

static struct hawk_error *make_paths(struct hawk_block_graph *graph, unsigned missing)
{
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);

	(void)missing;
	if (err)
		return err;
	return hawk_paths_find(graph, HAWK_BLOCK_NOWHERE, &graph->paths);
}

void hawk_block_graph_note_folds(struct hawk_block_graph *graph)
{
	const struct hawk_tree_folds *folds = &graph->folds;

	/* A tree may have been made anew, for other groups of roots. */
	graph->parts &= ~(unsigned)(HAWK_PART_ORDER | HAWK_PART_START_ORDER | HAWK_PART_PATH_STEPS);
	if (graph->retained && folds->retained.nodes && folds->ages)
		graph->parts |= HAWK_PART_FOLDS;
	if (folds->paths.nodes)
		graph->parts |= HAWK_PART_PATHS_FOLD;
	if (folds->start_retained.nodes)
		graph->parts |= HAWK_PART_START_FOLD;
	if (folds->by_start)
		graph->parts |= HAWK_PART_START_BLOCKS;
	if (graph->leaks)
		graph->parts |= HAWK_PART_LEAKS;
	if (graph->evidence)
		graph->parts |= HAWK_PART_EVIDENCE;
	if (hawk_tree_order_fits(&folds->order, &folds->retained))
		graph->parts |= HAWK_PART_ORDER;
	if (hawk_tree_order_fits(&folds->start_order, &folds->start_retained))
		graph->parts |= HAWK_PART_START_ORDER;
	if (hawk_tree_steps_fit(&folds->path_steps, &folds->paths))
		graph->parts |= HAWK_PART_PATH_STEPS;
}

/* Whatever reach is needed for, but loss records. */
static const unsigned RESTING_ON_REACH =
	HAWK_PART_REACH | HAWK_PART_RETAINED | HAWK_PART_FOLDS | HAWK_PART_START_FOLD |
	HAWK_PART_START_BLOCKS | HAWK_PART_ORDER | HAWK_PART_START_ORDER | HAWK_PART_PATH_STEPS;

bool hawk_block_graph_rests_on_reach(unsigned parts)
{
	return parts & RESTING_ON_REACH;
}

struct hawk_error *hawk_block_graph_ask_again(struct hawk_block_graph *graph)
{
	size_t before = graph->findings ? graph->findings->count : 0;
	struct hawk_error *err = hawk_asked_modules_ask(&graph->asked, graph->vtables);

	hawk_findings_sort(graph->findings, before);
	return err;
}

bool hawk_block_graph_rests_on_roots(unsigned parts)
{
	const unsigned others = HAWK_PART_PATHS | HAWK_PART_PATHS_FOLD | HAWK_PART_LEAKS;

	return hawk_block_graph_dependencies(parts) & (HAWK_PART_ROOTS | RESTING_ON_REACH | others);
}

unsigned hawk_block_graph_dependencies(unsigned parts)
{
	if (parts & HAWK_PART_START_ORDER)
		parts |= HAWK_PART_ORDER | HAWK_PART_START_FOLD;
	if (parts & HAWK_PART_ORDER)
		parts |= HAWK_PART_FOLDS;
	if (parts & HAWK_PART_PATH_STEPS)
		parts |= HAWK_PART_PATHS_FOLD;
	if (parts & HAWK_PART_RETAINED)
		parts |= HAWK_PART_REACH;
	if (parts & HAWK_PART_REACH)
		parts |= HAWK_PART_EDGES | HAWK_PART_ROOTS;
	if (parts & HAWK_PART_PLACES)
		parts |= HAWK_PART_EDGES;
	if (parts & HAWK_PART_EVIDENCE)
		parts |= HAWK_PART_LEAKS;
	if (parts & HAWK_PART_LEAKS)
		parts |= HAWK_PART_ROOTS;
	if (parts & (RESTING_ON_REACH | HAWK_PART_LEAKS))
		parts |= HAWK_PART_ASKED;
	if (parts & (HAWK_PART_EDGES | HAWK_PART_ROOTS | HAWK_PART_SITES | HAWK_PART_PATHS |
		     HAWK_PART_TYPES))
		parts |= HAWK_PART_INDEX;
	return parts;
}

struct hawk_error *hawk_block_graph_need(struct hawk_block_graph *graph, unsigned parts)
{
	static const struct {
		unsigned part;
		bool reads;
		struct hawk_error *(*make)(struct hawk_block_graph *graph, unsigned missing);
	} stages[] = {
		{HAWK_PART_INDEX, true, make_index},        {HAWK_PART_EDGES, true, make_edges},
		{HAWK_PART_ROOTS, true, make_roots},        {HAWK_PART_REACH, false, make_reach},
		{HAWK_PART_RETAINED, false, make_retained}, {HAWK_PART_PATHS, false, make_paths},
	};
	unsigned missing = hawk_block_graph_dependencies(parts) & ~graph->parts;

	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		struct hawk_error *err = NULL;

		/* What is in the index says whether it is cheap. */
		if (graph->parts & HAWK_PART_INDEX && is_with_sites(graph, missing))
			err = make_sites(graph, missing);
		if (err)
			return err;
		missing &= ~graph->parts;
		if (!(missing & stages[i].part))
			continue;
		if (stages[i].reads)
			err = hawk_block_graph_readable(graph);
		if (!err)
			err = stages[i].make(graph, missing);
		if (err)
			return err;
		graph->parts |= stages[i].part;
	}
	return NULL;
}

void hawk_block_graph_deinit(struct hawk_block_graph *graph)
{
	hawk_dominators_deinit(&graph->dominators);
	hawk_reach_deinit(&graph->reach);
	hawk_workspace_destroy(&graph->workspace);
	hawk_roots_deinit(&graph->roots);
	hawk_graph_deinit(&graph->edges);
	hawk_block_index_deinit(&graph->index);
	hawk_explained_deinit(&graph->explained);
	hawk_asked_modules_deinit(&graph->asked);
	hawk_site_graph_deinit(&graph->sites);
	hawk_paths_deinit(&graph->paths);
	hawk_tree_folds_deinit(&graph->folds);
	hawk_kept_schemas_deinit(&graph->schemas);
	hawk_pointer_places_deinit(&graph->places);
	hawk_kept_leaks_destroy(graph->leaks);
	hawk_kept_evidence_destroy(graph->evidence);
	hawk_kept_types_deinit(&graph->types);
	free(graph->retained);
	*graph = (struct hawk_block_graph){0};
}

uint64_t hawk_block_graph_memory_bytes(const struct hawk_block_graph *graph)
{
	uint64_t bytes = 0;

	if (graph->parts & HAWK_PART_INDEX)
		bytes += hawk_block_index_memory_bytes(&graph->index);
	if (graph->parts & HAWK_PART_EDGES)
		bytes += hawk_graph_memory_bytes(&graph->edges);
	if (graph->parts & HAWK_PART_ROOTS)
		bytes += sizeof(struct hawk_root) * graph->roots.capacity;
	if (graph->parts & HAWK_PART_REACH)
		bytes += graph->index.count + graph->workspace.area.size;
	if (graph->retained)
		bytes += sizeof(struct hawk_site_retained) * graph->heap->site_count;
	return bytes;
}
