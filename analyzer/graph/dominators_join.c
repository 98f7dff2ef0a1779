/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tree of blocks apart (dominators_apart.c) by all pointers: found anew, by the same algorithm,
 * in a graph of only these blocks in which all others are the virtual root. That is right for the
 * dominators that are apart, because every other block can be reached without these.
 *
 * A block that has none there hangs under the one from which the search came to it: all its
 * dominators are above that.
 */
#include "dominators_state.h"

#include "hawk_cleanup.h"

struct join {
	struct hawk_dominator_state state; /* its numbers are those from `before` + 1 on */
	struct hawk_dominators *dominators;
	uint32_t before; /* the last number that is not apart */
	uint32_t *old;   /* blocks apart in their old order; where `best` will be */
};

/* The new number of a block apart, 0 = it has none yet. */
static uint32_t number_of(const struct join *join, uint32_t block)
{
	uint32_t number = join->dominators->numbers[block];

	return number ? number - join->before : 0;
}

/* `above`: where the search comes from, a number of the whole. */
static uint32_t enter(struct join *join, uint32_t block, uint32_t parent, uint32_t above)
{
	uint32_t number = hawk_dominators_number(&join->state, block, parent);

	join->state.positions[number] = join->state.graph->offsets[block];
	join->dominators->numbers[block] = join->before + number;
	join->dominators->dominators[join->before + number] = above;
	return number;
}

/* As in dominators_search.c, where it is quicker. */
static struct hawk_error *step(struct join *join, uint32_t *current)
{
	struct hawk_dominator_state *state = &join->state;
	uint32_t source = *current;
	uint32_t end = state->graph->offsets[state->blocks[source] + 1];

	while (state->positions[source] < end) {
		uint32_t target = state->graph->edges[state->positions[source]++] >> 1;
		uint32_t whole = join->dominators->numbers[target];
		struct hawk_error *err;

		if (!whole) {
			*current = enter(join, target, source, join->before + source);
			return NULL;
		}
		if (whole <= join->before)
			continue;
		err = hawk_dominators_edge(state, source, whole - join->before);
		if (err)
			return err;
	}
	*current = state->parents[source];
	return NULL;
}

/* An edge to a block apart from one that is not, or from the virtual root. */
static struct hawk_error *search_from(struct join *join, uint32_t block, uint32_t above)
{
	uint32_t current = number_of(join, block);

	if (current) {
		join->state.semi[current] = 0;
		return NULL;
	}
	current = enter(join, block, 0, above);
	while (current) {
		struct hawk_error *err = step(join, &current);

		if (err)
			return err;
	}
	return NULL;
}

static bool is_apart(const struct join *join, uint32_t block)
{
	uint32_t number = join->dominators->numbers[block];

	return !number || number > join->before;
}

/* From leaders, from what weak roots lead to, from what interior pointers lead to. */
static struct hawk_error *search_all(struct join *join, uint32_t count,
				     const struct hawk_roots *roots, const struct hawk_reach *all)
{
	struct hawk_interior_walk walk = {.interior = &join->dominators->interior};
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < count && !err; i++)
		if (all->kinds[join->old[i]] == HAWK_REACH_DEFINITELY_LOST)
			err = search_from(join, join->old[i], 0);
	for (size_t i = 0; i < roots->count && !err; i++)
		if (is_apart(join, roots->items[i].edge >> 1))
			err = search_from(join, roots->items[i].edge >> 1, 0);
	while (!err && hawk_interior_next(&walk)) {
		uint32_t source = hawk_interior_source(&walk);
		uint32_t target = hawk_interior_target(&walk);

		if (!is_apart(join, source) && is_apart(join, target))
			err = search_from(join, target, join->dominators->numbers[source]);
	}
	return err;
}

enum { LANES = 5, EDGES = 2 /* of a block that have room beside them; mostly enough */ };

/* Room for edges and their sources, then lanes of 32-bit numbers. */
static void set_up(struct join *join, void *room, uint32_t count)
{
	struct hawk_dominator_state *state = &join->state;
	size_t stride = (size_t)count + 2;
	uint32_t *lanes;

	state->edges = room;
	state->edge_capacity = EDGES * stride;
	state->lane_bytes = EDGES * stride * (sizeof(*state->edges) + sizeof(*state->sources));
	lanes = (uint32_t *)room + state->lane_bytes / sizeof(*lanes);
	state->best = lanes;
	state->dominators = lanes + stride;
	state->parents = lanes + 2 * stride;
	state->semi = lanes + 3 * stride;
	state->positions = lanes + 4 * stride;
	state->source_offsets = state->positions;
	state->blocks = join->dominators->blocks + join->before;
	join->old = state->best;
}

static bool join_all(struct join *join, uint32_t count, const struct hawk_roots *roots,
		     const struct hawk_reach *all)
{
	struct hawk_dominators *whole = join->dominators;
	struct hawk_dominator_state *state = &join->state;
	struct hawk_error *err;

	memcpy(join->old, state->blocks + 1, count * sizeof(*join->old));
	for (uint32_t i = 0; i < count; i++)
		whole->numbers[join->old[i]] = 0;
	err = search_all(join, count, roots, all);
	state->stretches = hawk_dominators_cut(state->parents, state->count, 1);
	if (!err && state->count == count)
		err = hawk_dominators_link(state);
	hawk_area_destroy(&state->edges_area);
	hawk_area_destroy(&state->sources_area);
	if (err || state->count != count) {
		hawk_error_destroy(err);
		return false;
	}
	for (uint32_t number = 1; number <= count; number++)
		if (state->dominators[number])
			whole->dominators[join->before + number] =
				join->before + state->dominators[number];
	return true;
}

bool hawk_dominators_join(struct hawk_dominators *dominators, const struct hawk_graph *graph,
			  const struct hawk_roots *roots, const struct hawk_reach *all)
{
	uint32_t count = dominators->count + 1 - dominators->base.apart;
	struct join join = {
		.state = {.graph = graph},
		.dominators = dominators,
		.before = dominators->base.apart - 1,
	};
	CLEANUP(free_ptr)
	void *room = malloc(((size_t)count + 2) *
			    (LANES * sizeof(uint32_t) +
			     EDGES * (sizeof(*join.state.edges) + sizeof(*join.state.sources))));

	if (!room)
		return false;
	set_up(&join, room, count);
	return join_all(&join, count, roots, all);
}
