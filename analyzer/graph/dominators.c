/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages put together.
 */
#include "dominators_state.h"

#include <assert.h>

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
	state->stretches = hawk_dominators_cut(state->parents, state->count, workspace->threads);
	err = hawk_dominators_link(state);
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
	};
	if (state->edges_area.bytes || state->sources_area.bytes)
		ret->scratch_bytes =
			state->edge_count * (sizeof(*state->edges) + sizeof(*state->sources));
	hawk_dominators_add_up(index, ret);
	return NULL;
}

struct hawk_error *
hawk_dominators_make(const struct hawk_block_index *index, const struct hawk_graph *graph,
		     const struct hawk_roots *roots, const struct hawk_reach *reach,
		     struct hawk_workspace *workspace, struct hawk_dominators *ret)
{
	struct hawk_dominator_state state = {.graph = graph, .roots = roots, .reach = reach};
	struct hawk_error *err;

	set_up(&state, workspace);
	err = hawk_dominators_search_roots(&state);
	if (!err)
		err = hawk_dominators_search_leaders(&state);
	if (!err)
		err = finish(&state, index, workspace, ret);
	hawk_area_destroy(&state.edges_area);
	hawk_area_destroy(&state.sources_area);
	return err;
}

void hawk_dominators_deinit(struct hawk_dominators *dominators)
{
	*dominators = (struct hawk_dominators){0};
}
