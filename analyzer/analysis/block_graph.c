/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The parts of the graph in the order of what they depend on.
 */
#include "hawk_block_graph.h"

#include <malloc.h>
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_parallel.h"

void hawk_block_graph_init(struct hawk_block_graph *graph, const struct hawk_heap *heap,
			   struct hawk_findings *findings)
{
	*graph = (struct hawk_block_graph){
		.heap = heap,
		.findings = findings,
		.parts = HAWK_PART_INDEX,
	};
}

struct hawk_error *hawk_block_graph_readable(const struct hawk_block_graph *graph)
{
	if (!graph->heap->table || !hawk_target_process(graph->heap->target)->live)
		return NULL;
	if (!hawk_target_pause_ns(graph->heap->target))
		return NULL;
	return hawk_error_create(HAWK_ERROR_NOT_FOUND,
				 "the process runs on, and its memory was not kept");
}

static struct hawk_error *make_edges(struct hawk_block_graph *graph)
{
	return hawk_graph_make(graph->heap->target, &graph->heap->index, hawk_parallel_threads(),
			       &graph->edges);
}

static struct hawk_error *make_roots(struct hawk_block_graph *graph)
{
	return hawk_roots_find(graph->heap->target, &graph->heap->index, &graph->heap->plan,
			       graph->findings, &graph->roots);
}

struct hawk_error *hawk_block_graph_explain(struct hawk_block_graph *graph)
{
	struct hawk_error *err;
	size_t before;

	if (graph->has_explained)
		return NULL;
	err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);
	if (!err)
		err = hawk_block_graph_readable(graph);
	if (err)
		return err;
	before = graph->findings ? graph->findings->count : 0;
	err = hawk_heuristics_find(graph->heap->target, &graph->heap->index, &graph->edges,
				   &graph->roots, HAWK_HEURISTICS_ALL, graph->vtables,
				   hawk_parallel_threads(), &graph->explained);
	graph->has_explained = !err;
	hawk_findings_sort(graph->findings, before); /* threads ask in no order */
	return err;
}

struct hawk_error *hawk_block_graph_workspace(struct hawk_block_graph *graph)
{
	unsigned threads = hawk_parallel_threads();
	struct hawk_error *err = NULL;

	if (!graph->workspace.area.bytes) {
		err = hawk_workspace_create(&graph->workspace, graph->heap->index.count, threads);
	}
	graph->workspace.threads = threads;
	return err;
}

static struct hawk_error *make_reach(struct hawk_block_graph *graph)
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
	return hawk_reach_make_explained(&graph->heap->index, &graph->edges, &graph->roots,
					 &graph->explained, &graph->workspace, &graph->reach);
}

static struct hawk_error *make_retained(struct hawk_block_graph *graph)
{
	return hawk_block_graph_make_retained(graph);
}

static struct hawk_error *make_sites(struct hawk_block_graph *graph)
{
	return hawk_site_graph_make(graph, NULL, &graph->sites);
}

static struct hawk_error *make_paths(struct hawk_block_graph *graph)
{
	return hawk_paths_find(graph, HAWK_BLOCK_NOWHERE, &graph->paths);
}

/** `parts` and what they depend on. */
static unsigned with_dependencies(unsigned parts)
{
	if (parts & HAWK_PART_RETAINED)
		parts |= HAWK_PART_REACH;
	if (parts & (HAWK_PART_REACH | HAWK_PART_SITES | HAWK_PART_PATHS))
		parts |= HAWK_PART_EDGES | HAWK_PART_ROOTS;
	return parts;
}

struct hawk_error *hawk_block_graph_need(struct hawk_block_graph *graph, unsigned parts)
{
	static const struct {
		unsigned part;
		bool reads;
		struct hawk_error *(*make)(struct hawk_block_graph *graph);
	} stages[] = {
		{HAWK_PART_EDGES, true, make_edges},  {HAWK_PART_ROOTS, true, make_roots},
		{HAWK_PART_REACH, false, make_reach}, {HAWK_PART_RETAINED, false, make_retained},
		{HAWK_PART_PATHS, false, make_paths}, {HAWK_PART_SITES, true, make_sites},
	};
	unsigned missing = with_dependencies(parts) & ~graph->parts;

	if (graph->heap->refusal)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "%s", graph->heap->refusal);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		struct hawk_error *err = NULL;

		if (!(missing & stages[i].part))
			continue;
		if (stages[i].reads)
			err = hawk_block_graph_readable(graph);
		if (!err)
			err = stages[i].make(graph);
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
	hawk_explained_deinit(&graph->explained);
	hawk_site_graph_deinit(&graph->sites);
	hawk_paths_deinit(&graph->paths);
	free(graph->retained);
	*graph = (struct hawk_block_graph){0};
}

/* Of a living process all else that is read. Marking and dominators wait until it runs again. */
static struct hawk_error *read_process(struct hawk_block_graph *graph, unsigned parts)
{
	struct hawk_error *err;

	if (!hawk_target_process(graph->heap->target)->live)
		return NULL;
	if (parts & (HAWK_PART_REACH | HAWK_PART_RETAINED))
		parts |= HAWK_PART_EDGES | HAWK_PART_ROOTS;
	err = hawk_block_graph_need(graph, parts & (HAWK_PART_EDGES | HAWK_PART_ROOTS));
	if (!err && parts & (HAWK_PART_REACH | HAWK_PART_RETAINED))
		err = hawk_block_graph_explain(graph);
	return err;
}

struct hawk_error *hawk_heap_load_graph(struct hawk_target *target, struct hawk_findings *findings,
					unsigned parts, struct hawk_block_graph *graph,
					struct hawk_heap *heap)
{
	const struct hawk_vtable_oracle *vtables = graph->vtables;
	struct hawk_error *err;

	*heap = (struct hawk_heap){0};
	err = hawk_heap_load(target, findings, heap);
	hawk_block_graph_init(graph, heap, findings);
	graph->vtables = vtables;
	if (!err)
		err = read_process(graph, parts);
	if (err || !(parts & HAWK_PART_CONTENTS))
		hawk_target_release(target);
	if (!err)
		err = hawk_block_graph_need(graph, parts);
	if (err) {
		hawk_block_graph_deinit(graph);
		hawk_heap_deinit(heap);
	}
	return err;
}
