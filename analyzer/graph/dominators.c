/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages put together; sizes of subtrees, and their sums by group, by three passes over arrays
 * in the order of numbers.
 */
#include "dominators_state.h"

#include <assert.h>
#include <stdlib.h>

#include "hawk_cleanup.h"

static void set_up(struct hawk_dominator_state *state, const struct hawk_workspace *workspace)
{
	state->records = (struct hawk_search_record *)(void *)hawk_workspace_lane(workspace, 0);
	state->best = hawk_workspace_lane(workspace, 0);
	state->dominators = hawk_workspace_lane(workspace, 1);
	state->blocks = hawk_workspace_lane(workspace, 2);
	state->parents = hawk_workspace_lane(workspace, 3);
	state->semi = hawk_workspace_lane(workspace, 4);
	state->positions = hawk_workspace_lane(workspace, 5);
	state->source_offsets = hawk_workspace_lane(workspace, 5);
	state->last_lane = hawk_workspace_lane(workspace, 6);
	state->edges = (uint64_t *)(void *)state->last_lane;
	state->lane_bytes = workspace->stride * sizeof(uint32_t);
	state->edge_capacity = state->lane_bytes / sizeof(*state->edges);
}

/* Dominators have smaller numbers: descending, every block is complete when it is added to its
 * dominator. */
void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators)
{
	const uint32_t *above = dominators->dominators;
	uint64_t *retained = dominators->retained;
	uint32_t *sizes = dominators->sizes;
	size_t count = (size_t)dominators->count + 1;
	uint64_t bytes = 0; /* of what is below, if that is the number before */
	uint32_t size = 0;

	memset(retained, 0, count * sizeof(*retained));
	memset(sizes, 0, count * sizeof(*sizes));
	for (uint32_t number = dominators->count; number; number--) {
		bytes += retained[number] + hawk_block_size(index, dominators->blocks[number]);
		size += sizes[number] + 1;
		retained[number] = bytes;
		sizes[number] = size;
		/* In a chain what was added is wanted at once: memory would be waited for. */
		if (above[number] == number - 1)
			continue;
		retained[above[number]] += bytes;
		sizes[above[number]] += size;
		bytes = 0;
		size = 0;
	}
	retained[0] += bytes;
	sizes[0] += size + 1;
}

/* Behind the search. */
static struct hawk_error *finish(struct hawk_dominator_state *state,
				 const struct hawk_block_index *index,
				 const struct hawk_workspace *workspace,
				 struct hawk_dominators *ret)
{
	struct hawk_error *err;

	assert(state->count == state->graph->count);
	err = hawk_dominators_part(state);
	if (!err)
		err = hawk_dominators_link(state);
	if (!err)
		err = hawk_dominators_add_outward(state);
	if (err)
		return err;
	*ret = (struct hawk_dominators){
		.count = state->count,
		.blocks = state->blocks,
		.dominators = state->dominators,
		.retained = (uint64_t *)(void *)hawk_workspace_lane(workspace, 4),
		.sizes = hawk_workspace_lane(workspace, 0),
		.workspace = workspace,
		.base = state->base,
	};
	state->base.moves = NULL; /* `ret` owns them now */
	if (state->edges_area.bytes || state->sources_area.bytes)
		ret->scratch_bytes =
			state->edge_count * (sizeof(*state->edges) + sizeof(*state->sources));
	hawk_dominators_add_up(index, ret);
	return NULL;
}

static void tear_down(struct hawk_dominator_state *state)
{
	hawk_area_destroy(&state->edges_area);
	hawk_area_destroy(&state->sources_area);
	free(state->outward);
	free(state->base.moves);
}

struct hawk_error *
hawk_dominators_make(const struct hawk_block_index *index, const struct hawk_graph *graph,
		     const struct hawk_roots *roots, const struct hawk_reach *reach,
		     const struct hawk_reach *all, struct hawk_workspace *workspace,
		     struct hawk_dominators *ret)
{
	struct hawk_dominator_state state = {
		.graph = graph, .roots = roots, .reach = reach, .all = all};
	struct hawk_error *err;

	set_up(&state, workspace);
	err = hawk_dominators_search_roots(&state);
	if (!err)
		err = hawk_dominators_search_leaders(&state);
	if (!err)
		err = finish(&state, index, workspace, ret);
	tear_down(&state);
	return err;
}

struct hawk_error *hawk_dominators_make_reaching(
	const struct hawk_block_index *index, const struct hawk_graph *graph,
	const struct hawk_roots *roots, const struct hawk_explained *explained,
	struct hawk_workspace *workspace, struct hawk_reach *all, struct hawk_dominators *ret)
{
	struct hawk_reach start;
	struct hawk_dominator_state state = {
		.graph = graph, .roots = roots, .reach = &start, .all = all};
	struct hawk_error *err = hawk_reach_begin(graph, all, &start);

	if (err)
		return err;
	set_up(&state, workspace);
	err = hawk_dominators_search_roots(&state);
	if (!err) {
		for (uint32_t block = 0; block < graph->count; block++)
			start.kinds[block] = state.records[block].number ? HAWK_REACH_REACHABLE : 0;
		/* What was not met has no entries in these lanes yet. */
		hawk_reach_finish(index, graph, roots, explained, state.positions + state.count + 1,
				  state.parents + state.count + 1, all, &start);
		err = hawk_dominators_search_leaders(&state);
	}
	hawk_reach_deinit(&start);
	if (!err)
		err = finish(&state, index, workspace, ret);
	tear_down(&state);
	if (err)
		hawk_reach_deinit(all);
	return err;
}

uint32_t *hawk_dominators_order(const struct hawk_dominators *dominators, uint32_t **ends)
{
	uint32_t *next = hawk_workspace_lane(dominators->workspace, 3);
	uint32_t *order = hawk_workspace_lane(dominators->workspace, 6);
	uint32_t position = 1;

	order[0] = 0;
	next[0] = 1;
	for (uint32_t number = 1; number <= dominators->count; number++) {
		uint32_t above = dominators->dominators[number];

		/* The one before is the last that was put somewhere: no need to wait for memory. */
		if (above != number - 1)
			position = next[above];
		next[above] = position + dominators->sizes[number];
		order[position] = number;
		next[number] = ++position;
	}
	*ends = next;
	return order;
}

struct hawk_error *hawk_dominators_retained_by_group(const struct hawk_dominators *dominators,
						     const struct hawk_block_index *index,
						     const struct hawk_dominators_groups *groups,
						     uint64_t *ret)
{
	CLEANUP(free_ptr) uint32_t *ends = calloc((size_t)groups->group_count + 1, sizeof(*ends));
	const uint32_t *order;
	uint32_t *unused;

	if (!ends)
		return &hawk_enomem;
	assert(!dominators->numbers);
	order = hawk_dominators_order(dominators, &unused);
	for (uint32_t position = 1; position <= dominators->count; position++) {
		uint32_t number = order[position];
		uint32_t group = hawk_dominators_group(groups, index, dominators->blocks[number]);

		/* Behind the end of the last topmost block of this group? */
		if (group >= groups->group_count || position < ends[group])
			continue;
		ret[group] += dominators->retained[number];
		ends[group] = position + dominators->sizes[number];
	}
	return NULL;
}

void hawk_dominators_number_blocks(struct hawk_dominators *dominators)
{
	uint32_t *numbers = hawk_workspace_lane(dominators->workspace, 6);

	for (uint32_t number = 1; number <= dominators->count; number++)
		numbers[dominators->blocks[number]] = number;
	dominators->numbers = numbers;
}

void hawk_dominators_deinit(struct hawk_dominators *dominators)
{
	free(dominators->base.moves);
	*dominators = (struct hawk_dominators){0};
}
