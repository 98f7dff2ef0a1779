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

/* Adds up by site, of `chosen` blocks (NULL = all), what `dominators` say; caller frees `*ret`. */
static struct hawk_error *sum_by_site(const struct hawk_block_graph *graph,
				      const struct hawk_dominators *dominators,
				      const uint64_t *chosen, uint64_t **ret)
{
	size_t count = graph->heap->site_count;
	CLEANUP(free_ptr) uint64_t *sums = calloc(count + 1, sizeof(*sums));
	CLEANUP(free_ptr) uint32_t *group_of_trace = make_groups(graph->heap);
	const struct hawk_dominators_groups groups = {
		.group_of_trace = group_of_trace,
		.trace_count = graph->heap->trace_count,
		.group_count = (uint32_t)count,
		.chosen = chosen,
	};
	struct hawk_error *err;

	if (!sums || !group_of_trace)
		return &hawk_enomem;
	err = hawk_dominators_retained_by_group(dominators, &graph->heap->index, &groups, sums);
	if (!err)
		*ret = take_ptr(&sums);
	return err;
}

static struct hawk_error *make_all(struct hawk_block_graph *graph, struct hawk_dominators *ret)
{
	return hawk_dominators_make(&graph->heap->index, &graph->edges, &graph->roots,
				    &graph->reach, &graph->workspace, ret);
}

struct hawk_error *hawk_block_graph_make_retained(struct hawk_block_graph *graph)
{
	uint64_t *retained;
	struct hawk_error *err = make_all(graph, &graph->dominators);

	if (!err)
		err = sum_by_site(graph, &graph->dominators, NULL, &retained);
	if (err)
		return err;
	hawk_dominators_number_blocks(&graph->dominators);
	free(graph->retained); /* the same, of dominators that gave way */
	graph->retained = retained;
	return NULL;
}

/* What lies in the workspace. */
static void give_way(struct hawk_block_graph *graph)
{
	hawk_dominators_deinit(&graph->dominators);
	graph->parts &= ~(unsigned)HAWK_PART_RETAINED;
}

static struct hawk_error *make_start(struct hawk_block_graph *graph, struct hawk_dominators *ret)
{
	struct hawk_reach start = {0};
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);

	if (err)
		return err;
	give_way(graph);
	err = hawk_block_graph_workspace(graph);
	if (!err)
		err = hawk_reach_make(&graph->heap->index, &graph->edges, &graph->roots,
				      HAWK_EDGES_START_ONLY, &graph->workspace, &start);
	if (!err)
		err = hawk_dominators_make(&graph->heap->index, &graph->edges, &graph->roots,
					   &start, &graph->workspace, ret);
	hawk_reach_deinit(&start);
	return err;
}

struct hawk_error *hawk_block_graph_start_dominators(struct hawk_block_graph *graph,
						     struct hawk_dominators *ret)
{
	struct hawk_error *err = make_start(graph, ret);

	if (!err)
		hawk_dominators_number_blocks(ret);
	return err;
}

struct hawk_error *hawk_block_graph_retained_chosen(struct hawk_block_graph *graph,
						    const uint64_t *blocks,
						    struct hawk_site_retained **ret)
{
	size_t count = graph->heap->site_count;
	CLEANUP(free_ptr) uint64_t *all = NULL;
	CLEANUP(free_ptr) uint64_t *start = NULL;
	struct hawk_dominators made = {0};
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_REACH);

	if (!err) {
		give_way(graph);
		err = make_all(graph, &made);
	}
	if (!err)
		err = sum_by_site(graph, &made, blocks, &all);
	hawk_dominators_deinit(&made);
	if (!err)
		err = make_start(graph, &made);
	if (!err)
		err = sum_by_site(graph, &made, blocks, &start);
	hawk_dominators_deinit(&made);
	if (err)
		return err;
	*ret = calloc(count + 1, sizeof(**ret));
	if (!*ret)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		(*ret)[i] = (struct hawk_site_retained){all[i], start[i]};
	return NULL;
}

uint64_t hawk_block_graph_retained(const struct hawk_block_graph *graph,
				   const struct hawk_dominators *dominators, uint32_t block)
{
	const struct hawk_block_index *index = &graph->heap->index;
	uint64_t bytes = 0;

	for (uint32_t part = block; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(index, part)) {
		uint32_t number = dominators->numbers[part];
		uint32_t above = dominators->dominators[number];

		/* Parts below others are in their sums. */
		if (above && hawk_block_index_same(index, dominators->blocks[above], block))
			continue;
		bytes += dominators->retained[number];
	}
	return bytes;
}
