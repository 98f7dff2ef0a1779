/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators of the graph, both ways, in the one workspace; and what sites retain, of all blocks
 * and of chosen ones.
 */
#include "hawk_block_graph.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

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

struct hawk_error *hawk_block_graph_make_retained(struct hawk_block_graph *graph)
{
	struct hawk_site_retained *retained;
	struct hawk_error *err = sum_by_site(graph, NULL, make_both_retained, &retained);

	if (err)
		return err;
	free(graph->retained); /* the same, of dominators that gave way */
	graph->retained = retained;
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
