/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages put together.
 */
#include "dominators_state.h"

#include <assert.h>
#include <stdlib.h>

static void set_up(struct hawk_dominator_state *state, const struct hawk_workspace *workspace)
{
	state->workspace = workspace;
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

/* Behind the search. */
static struct hawk_error *finish(struct hawk_dominator_state *state,
				 const struct hawk_block_index *index,
				 const struct hawk_workspace *workspace,
				 struct hawk_dominators *ret)
{
	struct hawk_error *err;

	assert(state->count == state->graph->count);
	err = hawk_dominators_part(state);
	if (err)
		return err;
	state->stretches = hawk_dominators_cut(state->parents, state->count, workspace->threads);
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
		.stretches = state->stretches,
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

/* What the search has met. */
static void fill_kinds(const struct hawk_dominator_state *state, struct hawk_reach *all,
		       struct hawk_reach *start)
{
	uint8_t *restrict start_kinds = start->kinds;
	uint8_t *restrict all_kinds = all->kinds;

	for (size_t block = 0; block < state->graph->count; block++)
		start_kinds[block] = all_kinds[block] =
			hawk_dominators_met(state->records[block].number) ? HAWK_REACH_REACHABLE
									  : 0;
}

/* Room for the kinds by start pointers: where the search had the positions of blocks with numbers,
 * which nobody wants any more; if they are few, memory of its own. */
static struct hawk_error *place_start(const struct hawk_dominator_state *state,
				      struct hawk_reach *start)
{
	if (state->count < state->graph->count / sizeof(*state->positions) + 1)
		return hawk_reach_begin(state->graph, NULL, start);
	start->kinds = (uint8_t *)(void *)(state->positions + 1);
	return NULL;
}

struct hawk_error *hawk_dominators_make_reaching(
	const struct hawk_block_index *index, const struct hawk_graph *graph,
	const struct hawk_roots *roots, const struct hawk_explained *explained,
	struct hawk_workspace *workspace, struct hawk_reach *all, struct hawk_dominators *ret)
{
	struct hawk_reach start = {.edges = HAWK_EDGES_START_ONLY};
	struct hawk_interior interior = {0};
	struct hawk_dominator_state state = {
		.graph = graph, .roots = roots, .reach = &start, .all = all};
	struct hawk_error *err = hawk_reach_begin(graph, all, NULL);

	if (err)
		return err;
	set_up(&state, workspace);
	err = hawk_dominators_search_roots(&state);
	if (!err)
		err = place_start(&state, &start);
	if (!err) {
		/* What was not met has no entries in these lanes yet. */
		uint32_t *const rooms[HAWK_REACH_ROOMS] = {
			state.positions + state.count + 1,
			state.parents + state.count + 1,
			state.semi + state.count + 1,
			state.blocks + state.count + 1,
		};

		fill_kinds(&state, all, &start);
		hawk_interior_init(&interior, graph, workspace->threads);
		hawk_reach_finish(index, graph, roots, explained, &interior, workspace->threads,
				  rooms, all, &start);
		err = hawk_dominators_search_leaders(&state);
	}
	hawk_reach_deinit(&start);
	if (!err)
		err = finish(&state, index, workspace, ret);
	tear_down(&state);
	if (err) {
		hawk_interior_deinit(&interior);
		hawk_reach_deinit(all);
	} else {
		ret->interior = interior;
	}
	return err;
}

void hawk_dominators_deinit(struct hawk_dominators *dominators)
{
	hawk_interior_deinit(&dominators->interior);
	free(dominators->base.moves);
	*dominators = (struct hawk_dominators){0};
}
