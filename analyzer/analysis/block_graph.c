/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parts of the graph in the order of what they depend on.
 */
#include "hawk_block_graph.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

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
	struct hawk_error *err;

	if (graph->has_explained)
		return NULL;
	err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);
	if (!err)
		err = hawk_block_graph_readable(graph);
	if (err)
		return err;
	err = hawk_heuristics_find(graph->target, &graph->index, &graph->edges, &graph->roots,
				   HAWK_HEURISTICS_ALL, graph->vtables,
				   hawk_block_graph_threads(graph), &graph->explained);
	graph->has_explained = !err;
	return err;
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

/* The site of every trace, and in the end that of all larger ids. */
static uint32_t *make_groups(const struct hawk_heap *heap)
{
	uint32_t *groups = malloc(((size_t)heap->trace_count + 1) * sizeof(*groups));

	if (!groups)
		return NULL;
	if (heap->trace_count)
		memcpy(groups, heap->site_of_trace, heap->trace_count * sizeof(*groups));
	groups[heap->trace_count] = heap->table ? heap->lost_site : UINT32_MAX;
	return groups;
}

/* `all`: NULL, or they will be extended. */
static struct hawk_error *make_dominators(struct hawk_block_graph *graph,
					  const struct hawk_reach *reach,
					  const struct hawk_reach *all, struct hawk_dominators *ret)
{
	hawk_dominators_deinit(ret);
	return hawk_dominators_make(&graph->index, &graph->edges, &graph->roots, reach, all,
				    &graph->workspace, ret);
}

/* By start pointers; `all` as above. */
static struct hawk_error *follow_start(struct hawk_block_graph *graph, const struct hawk_reach *all,
				       struct hawk_dominators *ret)
{
	struct hawk_reach start = {0};
	struct hawk_error *err = hawk_block_graph_workspace(graph);

	if (!err)
		err = hawk_reach_make(&graph->index, &graph->edges, &graph->roots,
				      HAWK_EDGES_START_ONLY, &graph->workspace, &start);
	if (!err)
		err = make_dominators(graph, &start, all, ret);
	hawk_reach_deinit(&start);
	return err;
}

/* Unless they were made together with `reach`. */
static struct hawk_error *make_start_dominators(struct hawk_block_graph *graph)
{
	if (graph->has_start_dominators)
		return NULL;
	return follow_start(graph, &graph->reach, &graph->dominators);
}

/* Start pointers first: the workspace is to hold the dominators over all of them in the end. */
static struct hawk_error *make_both_retained(struct hawk_block_graph *graph,
					     const struct hawk_dominators_groups *groups,
					     uint64_t *all, uint64_t *start)
{
	enum hawk_dominators_extension extension;
	struct hawk_error *err;

	err = make_start_dominators(graph);
	graph->has_start_dominators = false;
	if (!err)
		err = hawk_dominators_retained_by_group(&graph->dominators, &graph->index, groups,
							start);
	if (err)
		return err;
	memcpy(all, start, groups->group_count * sizeof(*all));
	extension = hawk_dominators_extend(&graph->dominators, &graph->index, &graph->edges,
					   &graph->roots, &graph->reach, groups, all);
	graph->start_is_all = extension == HAWK_DOMINATORS_SAME;
	if (extension == HAWK_DOMINATORS_SAME || extension == HAWK_DOMINATORS_REGROUPED)
		return NULL;
	memset(all, 0, groups->group_count * sizeof(*all));
	if (extension == HAWK_DOMINATORS_OTHER)
		err = make_dominators(graph, &graph->reach, NULL, &graph->dominators);
	if (!err)
		err = hawk_dominators_retained_by_group(&graph->dominators, &graph->index, groups,
							all);
	if (!err)
		hawk_dominators_number_blocks(&graph->dominators);
	return err;
}

/** Fills sums by group: by all pointers, and by start pointers. */
typedef struct hawk_error *sum_function(struct hawk_block_graph *graph,
					const struct hawk_dominators_groups *groups, uint64_t *all,
					uint64_t *start);

/* By site, of `chosen` blocks (NULL = all); caller frees. */
static struct hawk_error *sum_by_site(struct hawk_block_graph *graph, const uint64_t *chosen,
				      sum_function *sum, struct hawk_site_retained **ret)
{
	size_t count = graph->heap->site_count;
	CLEANUP(free_ptr) uint64_t *sums = calloc(2 * count + 1, sizeof(*sums));
	CLEANUP(free_ptr)
	struct hawk_site_retained *retained = calloc(count + 1, sizeof(*retained));
	CLEANUP(free_ptr) uint32_t *group_of_trace = make_groups(graph->heap);
	struct hawk_dominators_groups groups = {
		.group_of_trace = group_of_trace,
		.trace_count = graph->heap->trace_count,
		.group_count = (uint32_t)count,
		.chosen = chosen,
	};
	struct hawk_error *err;

	if (!sums || !retained || !group_of_trace)
		return &hawk_enomem;
	err = sum(graph, &groups, sums, sums + count);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		retained[i] = (struct hawk_site_retained){sums[i], sums[count + i]};
	*ret = take_ptr(&retained);
	return NULL;
}

static struct hawk_error *make_retained(struct hawk_block_graph *graph, unsigned missing)
{
	struct hawk_site_retained *retained;
	struct hawk_error *err = sum_by_site(graph, NULL, make_both_retained, &retained);

	(void)missing;
	if (err)
		return err;
	free(graph->retained); /* the same, of dominators that gave way */
	graph->retained = retained;
	return NULL;
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

bool hawk_block_graph_chosen_takes_retained(const struct hawk_block_graph *graph)
{
	return graph->parts & HAWK_PART_RETAINED && graph->dominators.workspace;
}

bool hawk_block_graph_start_takes_retained(const struct hawk_block_graph *graph)
{
	return hawk_block_graph_chosen_takes_retained(graph) && !graph->start_is_all;
}

/* What lies in the workspace. */
static void give_way(struct hawk_block_graph *graph)
{
	if (!graph->dominators.workspace)
		return;
	hawk_dominators_deinit(&graph->dominators);
	graph->parts &= ~(unsigned)HAWK_PART_RETAINED;
	graph->has_start_dominators = graph->start_is_all = false;
}

struct hawk_error *hawk_block_graph_start_dominators(struct hawk_block_graph *graph,
						     struct hawk_dominators *ret)
{
	struct hawk_dominators made = {0};
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);

	if (err)
		return err;
	if (graph->start_is_all) {
		*ret = graph->dominators;
		return NULL;
	}
	give_way(graph);
	err = follow_start(graph, NULL, &made);
	if (err)
		return err;
	hawk_dominators_number_blocks(&made);
	*ret = made;
	return NULL;
}

void hawk_block_graph_drop_start_dominators(struct hawk_block_graph *graph,
					    struct hawk_dominators *dominators)
{
	if (!dominators->workspace)
		return;
	if (dominators->blocks == graph->dominators.blocks) {
		*dominators = (struct hawk_dominators){0};
		return;
	}
	hawk_dominators_deinit(dominators);
	/* With a cache it was made for them alone. */
	if (graph->parts & HAWK_PART_RETAINED)
		hawk_workspace_destroy(&graph->workspace);
}

/* By the dominators that lie in a cache; the workspace is for scratch alone. */
static struct hawk_error *sum_cached(struct hawk_block_graph *graph,
				     const struct hawk_dominators_groups *groups, uint64_t *all)
{
	struct hawk_dominators cached = graph->dominators;

	cached.workspace = &graph->workspace;
	cached.numbers = NULL;
	hawk_dominators_cut_again(&cached, hawk_block_graph_threads(graph));
	return hawk_dominators_retained_by_group(&cached, &graph->index, groups, all);
}

static struct hawk_error *sum_made(struct hawk_block_graph *graph,
				   const struct hawk_dominators_groups *groups,
				   struct hawk_dominators *made, uint64_t *all)
{
	struct hawk_error *err = make_dominators(graph, &graph->reach, NULL, made);

	if (err)
		return err;
	return hawk_dominators_retained_by_group(made, &graph->index, groups, all);
}

/* Of the groups, first by all pointers, then by start pointers. */
static struct hawk_error *sum_chosen(struct hawk_block_graph *graph,
				     const struct hawk_dominators_groups *groups, uint64_t *all,
				     uint64_t *start)
{
	bool is_cached = graph->parts & HAWK_PART_RETAINED;
	struct hawk_dominators made = {0};
	struct hawk_error *err = hawk_block_graph_workspace(graph);

	if (!err)
		err = is_cached ? sum_cached(graph, groups, all)
				: sum_made(graph, groups, &made, all);
	if (!err && is_cached && graph->start_is_all) {
		memcpy(start, all, groups->group_count * sizeof(*start));
		hawk_workspace_destroy(&graph->workspace);
		return NULL;
	}
	if (!err)
		err = follow_start(graph, NULL, &made);
	if (!err)
		err = hawk_dominators_retained_by_group(&made, &graph->index, groups, start);
	hawk_block_graph_drop_start_dominators(graph, &made);
	return err;
}

struct hawk_error *hawk_block_graph_retained_chosen(struct hawk_block_graph *graph,
						    const uint64_t *blocks,
						    struct hawk_site_retained **ret)
{
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_REACH);

	if (err)
		return err;
	give_way(graph);
	return sum_by_site(graph, blocks, sum_chosen, ret);
}

static struct hawk_error *sum_in_order(const struct hawk_block_graph *graph,
				       const struct hawk_tree_order *order,
				       const struct hawk_tree_fold *fold, const uint64_t *blocks,
				       uint64_t *sums)
{
	CLEANUP(free_ptr) uint64_t *positions = NULL;
	struct hawk_error *err = hawk_tree_order_place(graph, order, blocks, &positions);

	return err ? err : hawk_tree_order_sum_sites(graph, order, fold, positions, sums);
}

/* First by all pointers, then by start pointers. */
static struct hawk_error *sum_in_orders(const struct hawk_tree_folds *folds,
					const struct hawk_block_graph *graph,
					const uint64_t *blocks, uint64_t *sums)
{
	size_t count = graph->heap->site_count;
	struct hawk_error *err = sum_in_order(graph, &folds->order, &folds->retained, blocks, sums);

	if (err)
		return err;
	if (folds->start_order.blocks != folds->order.blocks)
		return sum_in_order(graph, &folds->start_order, &folds->start_retained, blocks,
				    sums + count);
	memcpy(sums + count, sums, count * sizeof(*sums));
	return NULL;
}

bool hawk_block_graph_retained_in_order(const struct hawk_block_graph *graph,
					const uint64_t *blocks, struct hawk_site_retained **ret,
					struct hawk_error **err)
{
	const struct hawk_tree_folds *folds = &graph->folds;
	size_t count = graph->heap->site_count;
	CLEANUP(free_ptr) uint64_t *sums = NULL;
	CLEANUP(free_ptr) struct hawk_site_retained *retained = NULL;

	*err = NULL;
	if (!hawk_tree_order_fits(&folds->order, &folds->retained) ||
	    !hawk_tree_order_fits(&folds->start_order, &folds->start_retained))
		return false;
	sums = calloc(2 * count + 1, sizeof(*sums));
	retained = calloc(count + 1, sizeof(*retained));
	*err = sums && retained ? sum_in_orders(folds, graph, blocks, sums) : &hawk_enomem;
	if (*err)
		return false;
	for (size_t i = 0; i < count; i++)
		retained[i] = (struct hawk_site_retained){sums[i], sums[count + i]};
	*ret = take_ptr(&retained);
	return true;
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
