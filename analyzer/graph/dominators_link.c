/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lengauer and Tarjan's algorithm ("A fast algorithm for finding dominators in a flowgraph", TOPLAS
 * 1979), the simple form: links without balancing, path compression.
 *
 * Blocks are linked in descending order, so "linked" is "number above a limit" and needs no bit. A
 * block that is not linked yet has no `best`, so that column holds the head of its bucket. A block
 * in a bucket has no dominator yet, so that column holds the link to the next one.
 *
 * No edge in the list leads from one range to another, so ranges are linked in parallel.
 */
#include "dominators_state.h"

#include "hawk/base/array.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"

/* Makes room for the sources: behind the edges in their lane, or in an area. */
static struct hawk_error *place_sources(struct hawk_dominator_state *state)
{
	uint64_t edges_bytes = state->edge_count * sizeof(*state->edges);
	uint64_t bytes = state->edge_count * sizeof(*state->sources);
	struct hawk_error *err;

	if (!state->edges_area.bytes && edges_bytes + bytes <= state->lane_bytes) {
		state->sources = (uint32_t *)(void *)(state->edges + state->edge_count);
		return NULL;
	}
	err = hawk_area_create(&state->sources_area, bytes);
	if (!err)
		err = hawk_area_grow(&state->sources_area, bytes);
	state->sources = state->sources_area.bytes;
	return err;
}

/* Returns the first edge of the tree that begins with `number`, or of a later tree. */
static uint64_t first_edge(const struct hawk_dominator_state *state, uint32_t number)
{
	return number ? hawk_array_first_above(state->edges, state->edge_count,
					       sizeof(*state->edges), 0,
					       ((uint64_t)number << 32) - 1)
		      : 0;
}

/** Numbers [first, end) and their edges. */
struct range {
	uint32_t first;
	uint32_t end;
	uint64_t first_edge;
	uint64_t end_edge;
};

/* Sorts by counting: the sources of target t become [offsets[t], offsets[t + 1]) of `sources`. */
static void sort_edges(struct hawk_dominator_state *state, const struct range *range)
{
	const uint64_t *edges = state->edges;
	uint32_t *offsets = state->source_offsets;
	uint64_t sum = range->first_edge;

	memset(offsets + range->first, 0, (range->end - range->first) * sizeof(*offsets));
	for (uint64_t i = range->first_edge; i < range->end_edge; i++)
		offsets[(uint32_t)edges[i]]++;
	hawk_progress_add(range->end_edge - range->first_edge);
	for (uint32_t number = range->first; number < range->end; number++) {
		sum += offsets[number];
		offsets[number] = (uint32_t)sum;
	}
	for (uint64_t i = range->first_edge; i < range->end_edge; i++)
		state->sources[--offsets[(uint32_t)edges[i]]] = (uint32_t)(edges[i] >> 32);
	hawk_progress_add(range->end_edge - range->first_edge);
}

/* Joins the label of `number` with that of `above`, and hangs it under `top`. */
static void shorten(struct hawk_dominator_state *state, uint32_t number, uint32_t above,
		    uint32_t top)
{
	uint32_t label = state->best[above];

	if (state->semi[label] < state->semi[state->best[number]])
		state->best[number] = label;
	state->parents[number] = top;
}

/*
 * Makes best[number] the label with the lowest `semi` between `number` and the top of its tree of
 * linked blocks (those above `limit`); everything on the way is hung under the top. The links on
 * the way up are reversed to find the way back.
 */
static void compress(struct hawk_dominator_state *state, uint32_t number, uint32_t limit)
{
	uint32_t *ancestors = state->parents;
	uint32_t below = number;
	uint32_t above = ancestors[number];
	uint32_t top;

	if (above <= limit)
		return;
	while (ancestors[above] > limit) {
		uint32_t next = ancestors[above];

		ancestors[above] = below;
		below = above;
		above = next;
	}
	top = ancestors[above];
	while (below != number) {
		uint32_t next = ancestors[below];

		shorten(state, below, above, top);
		above = below;
		below = next;
	}
	shorten(state, number, above, top);
}

/* Empties the bucket of blocks whose semidominator is `parent`. `number`, which leads to them, is
 * linked: each block's dominator is now known, or known to equal another block's. */
static void empty_bucket(struct hawk_dominator_state *state, uint32_t parent, uint32_t number)
{
	uint32_t next;

	for (uint32_t member = state->best[parent]; member; member = next) {
		uint32_t label;

		next = state->dominators[member];
		compress(state, member, number - 1);
		label = state->best[member];
		state->dominators[member] =
			state->semi[label] < state->semi[member] ? label : parent;
	}
	state->best[parent] = 0;
}

/* Returns the lowest `semi` on any way to `number` from its sources at [from, end). */
static uint32_t lowest_semi(struct hawk_dominator_state *state, uint32_t number, uint32_t from,
			    uint32_t end)
{
	uint32_t semi = state->semi[number];

	for (uint32_t i = from; i < end; i++) {
		uint32_t source = state->sources[i];

		compress(state, source, number);
		if (state->semi[state->best[source]] < semi)
			semi = state->semi[state->best[source]];
	}
	return semi;
}

static void link_all(struct hawk_dominator_state *state, const struct range *range)
{
	uint32_t end = (uint32_t)range->end_edge;

	for (uint32_t number = range->end; number-- > range->first;) {
		uint32_t parent = state->parents[number];
		uint32_t semi = state->semi[number];
		uint32_t from = state->source_offsets[number];

		if (from < end) {
			semi = lowest_semi(state, number, from, end);
			state->semi[number] = semi;
			end = from;
		}
		state->best[number] = number;
		if (semi == parent || !semi) {
			/* It would leave its bucket next, or no block on the way has a lower
			 * `semi`. */
			state->dominators[number] = semi;
		} else {
			state->dominators[number] = state->best[semi];
			state->best[semi] = number;
		}
		if (parent && state->best[parent])
			empty_bucket(state, parent, number);
		hawk_progress_tick(number);
	}
}

static void link_range(void *context, unsigned number)
{
	struct hawk_dominator_state *state = context;
	const uint32_t *first = &state->ranges.first[number];
	struct range range = {
		.first = first[0],
		.end = first[1],
		.first_edge = first_edge(state, first[0]),
		.end_edge = first_edge(state, first[1]),
	};

	sort_edges(state, &range);
	memset(state->best + range.first, 0, (range.end - range.first) * sizeof(*state->best));
	link_all(state, &range);
	for (uint32_t i = range.first; i < range.end; i++)
		if (state->dominators[i] != state->semi[i])
			state->dominators[i] = state->dominators[state->dominators[i]];
	hawk_progress_add(range.end - range.first);
}

struct hawk_error *hawk_dominators_link(struct hawk_dominator_state *state)
{
	struct hawk_error *err = place_sources(state);
	struct hawk_progress progress;

	if (err)
		return err;
	hawk_progress_begin(&progress, "finding dominators",
			    2 * (state->edge_count + state->count + 1));
	hawk_parallel_run(state->ranges.count, link_range, state);
	hawk_progress_end(&progress);
	hawk_area_destroy(&state->edges_area);
	return NULL;
}
