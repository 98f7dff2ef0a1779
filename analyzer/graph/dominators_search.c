/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The depth-first search. The path down to the current block is the chain of parents; where to go
 * on in each of its blocks is in `positions`: there is no other stack, however deep it gets.
 *
 * Of edges that are not in the tree, one that leads down it needs no list: it can only lower `semi`
 * of its target, at once.
 */
#include "dominators_state.h"

enum { PREFETCH_MAX = 8 };

/* A position: all edges were looked at. */
static const uint32_t DONE = UINT32_MAX;

static uint32_t number_block(struct hawk_dominator_state *state, uint32_t block, uint32_t parent)
{
	return state->records[block].number = hawk_dominators_number(state, block, parent);
}

static struct hawk_error *make_room(struct hawk_dominator_state *state)
{
	uint64_t bytes = (state->edge_count + 1) * sizeof(*state->edges);
	struct hawk_error *err;

	if (state->edges_area.bytes) {
		err = hawk_area_grow(&state->edges_area, bytes);
		if (err)
			return err;
	} else {
		err = hawk_area_create(&state->edges_area,
				       sizeof(*state->edges) * (uint64_t)state->graph->edge_count);
		if (!err)
			err = hawk_area_grow(&state->edges_area, bytes);
		if (err)
			return err;
		memcpy(state->edges_area.bytes, state->edges,
		       state->edge_count * sizeof(*state->edges));
	}
	state->edges = state->edges_area.bytes;
	state->edge_capacity = state->edges_area.size / sizeof(*state->edges);
	return NULL;
}

static inline struct hawk_error *add_edge(struct hawk_dominator_state *state, uint32_t source,
					  uint32_t target)
{
	uint64_t edge = (uint64_t)source << 32 | target;

	/* Lists point to both neighbours, buckets to the same thing twice. */
	if (state->edge_count && state->edges[state->edge_count - 1] == edge)
		return NULL;
	if (state->edge_count == state->edge_capacity) {
		struct hawk_error *err = make_room(state);

		if (err)
			return err;
	}
	state->edges[state->edge_count++] = edge;
	return NULL;
}

static inline struct hawk_error *take_edge(struct hawk_dominator_state *state, uint32_t source,
					   uint32_t target)
{
	if (target > source) {
		if (state->semi[target] > source)
			state->semi[target] = source;
		return NULL;
	}
	return target < source ? add_edge(state, source, target) : NULL;
}

struct hawk_error *hawk_dominators_edge(struct hawk_dominator_state *state, uint32_t source,
					uint32_t target)
{
	return take_edge(state, source, target);
}

/** Where the search is. */
struct place {
	uint32_t source; /* the current block's number */
	uint32_t at;     /* its next edge */
	uint32_t end;
};

/* The edges of a block; the first is looked at next, but others may have to wait for memory. */
static void go_down(const struct hawk_dominator_state *state, struct place *place, uint32_t block,
		    uint32_t number)
{
	const struct hawk_search_record *record = &state->records[block];
	const uint32_t *edges = state->graph->edges;
	uint32_t ahead;

	*place = (struct place){number, record[0].offset, record[1].offset};
	ahead = place->end - place->at;
	if (ahead > PREFETCH_MAX)
		ahead = PREFETCH_MAX;
	for (uint32_t i = 1; i < ahead; i++)
		__builtin_prefetch(&state->records[edges[place->at + i] >> 1]);
}

/* To the next block above that is not done. False: there is none. */
static bool go_up(const struct hawk_dominator_state *state, struct place *place)
{
	uint32_t source = place->source;

	do
		source = state->parents[source];
	while (state->positions[source] == DONE);
	if (!source)
		return false;
	place->source = source;
	place->at = state->positions[source];
	place->end = state->records[state->blocks[source] + 1].offset;
	return true;
}

/* An edge from the virtual root. */
static struct hawk_error *search_from(struct hawk_dominator_state *state, uint32_t block)
{
	const struct hawk_search_record *records = state->records;
	const uint32_t *edges = state->graph->edges;
	uint32_t mask = state->reach->edges;
	uint32_t number = records[block].number;
	struct place place;

	if (number) {
		state->semi[number] = 0;
		return NULL;
	}
	go_down(state, &place, block, number_block(state, block, 0));
	state->positions[0] = 0;
	while (place.at < place.end || go_up(state, &place)) {
		uint32_t edge = edges[place.at++];
		struct hawk_error *err;

		block = edge >> 1;
		number = records[block].number;
		if (edge & mask)
			continue;
		if (number) {
			err = take_edge(state, place.source, number);
			if (err)
				return err;
			continue;
		}
		number = number_block(state, block, place.source);
		/* Leaves, half of all blocks, are done with their number. */
		if (records[block].offset == records[block + 1].offset)
			continue;
		state->positions[place.source] = place.at < place.end ? place.at : DONE;
		go_down(state, &place, block, number);
	}
	return NULL;
}

struct hawk_error *hawk_dominators_search_roots(struct hawk_dominator_state *state)
{
	const struct hawk_graph *graph = state->graph;

	state->count = 0;
	for (uint32_t block = 0; block <= graph->count; block++)
		state->records[block] =
			(struct hawk_search_record){.offset = graph->offsets[block]};
	for (size_t i = 0; i < state->roots->count; i++) {
		const struct hawk_root *root = &state->roots->items[i];
		struct hawk_error *err = NULL;

		if (state->reach->edges == HAWK_EDGES_ALL || hawk_root_is_strong(root))
			err = search_from(state, root->edge >> 1);
		if (err)
			return err;
	}
	return NULL;
}

/* From leaders that are leaders in `as` too. */
static struct hawk_error *search_leaders(struct hawk_dominator_state *state,
					 const struct hawk_reach *as)
{
	const uint8_t *kinds = state->reach->kinds;
	uint32_t count = state->graph->count;

	for (uint32_t block = 0; block < count; block++) {
		const uint8_t *next =
			memchr(kinds + block, HAWK_REACH_DEFINITELY_LOST, count - block);
		struct hawk_error *err;

		if (!next)
			break;
		block = (uint32_t)(next - kinds);
		if (as->kinds[block] != HAWK_REACH_DEFINITELY_LOST)
			continue;
		err = search_from(state, block);
		if (err)
			return err;
	}
	return NULL;
}

struct hawk_error *hawk_dominators_search_leaders(struct hawk_dominator_state *state)
{
	struct hawk_error *err = NULL;

	if (state->all)
		err = search_leaders(state, state->all);
	state->base.apart = state->count + 1;
	state->apart_edges = state->edge_count;
	if (!err && state->count < state->graph->count)
		err = search_leaders(state, state->reach);
	return err;
}
