/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The depth-first search. The chain of parents is the path down to the current block, and
 * `positions` holds each block's next edge. So the search needs no stack at any depth.
 *
 * Two sorts of edges outside the tree are not listed. An edge down the tree can only lower `semi`
 * of its target, which happens at once. An edge into an older tree does not count: the paths to its
 * source and to its target share only the virtual root.
 */
#include "dominators_state.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum {
	PREFETCH_MAX = 8,
	/* Distances above the current block at which to prefetch targets of edges, and edges. */
	UP_TARGETS = 4,
	UP_EDGES = 8,
	RECORDS_AT_ONCE = 1 << 20,
};

/* Position of a block whose edges were all followed. */
static const uint32_t DONE = UINT32_MAX;

/** Marks a block that was not met yet, in place of its number. The other bits are the target of its
 * first edge (HAWK_BLOCKS_MAX is less). So a search down a list waits for memory once a block, not
 * for its edges too. */
static const uint32_t NOT_MET = UINT32_C(1) << 31;

/** Returns the number that `word` holds, 0 = not met yet. */
static inline uint32_t met(uint32_t word)
{
	return word & NOT_MET ? 0 : word;
}

/* Gives `block` the next number and notes the edge from `parent`. */
static inline uint32_t number_block(struct hawk_dominator_state *state, uint32_t block,
				    uint32_t parent)
{
	uint32_t number = ++state->count;

	state->blocks[number] = block;
	state->parents[number] = parent;
	state->semi[number] = parent;
	state->records[block].number = number;
	if (__builtin_expect(number % HAWK_PROGRESS_STRIDE == 0, 0))
		hawk_progress_reach(number);
	return number;
}

/* Makes room for `count` edges in the list. */
static struct hawk_error *reserve_edges(struct hawk_dominator_state *state, uint64_t count)
{
	uint64_t bytes = count * sizeof(*state->edges);
	struct hawk_error *err;

	if (count <= state->edge_capacity)
		return NULL;
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
		struct hawk_error *err = reserve_edges(state, state->edge_count + 1);

		if (err)
			return err;
	}
	state->edges[state->edge_count++] = edge;
	return NULL;
}

/* Takes an edge outside the tree or down it. `tree` is the first number of the source's tree; all
 * numbers from it on are in that tree. */
static inline struct hawk_error *take_edge(struct hawk_dominator_state *state, uint32_t tree,
					   uint32_t source, uint32_t target)
{
	uint32_t *semi = &state->semi[target];

	if (target > source) {
		if (*semi > source)
			*semi = source;
		return NULL;
	}
	if (target > tree)
		return target < source ? add_edge(state, source, target) : NULL;
	*semi = 0;
	return NULL;
}

/** The search's position in the current block. */
struct place {
	uint32_t source; /* the current block's number */
	uint32_t first;  /* from first_target() while that edge is next, else 0 */
	uint32_t at;     /* the next edge after `first` */
	uint32_t end;
};

static inline void prefetch_target(const struct hawk_dominator_state *state, uint32_t edge)
{
	size_t target = edge >> 1;

	hawk_prefetch(&state->records[target]);
}

/* Enters a block. Its first edge needs no memory access; others may have to wait for memory.
 * `first` is the word that held the block's number. */
static inline void go_down(const struct hawk_dominator_state *state, struct place *place,
			   uint32_t block, uint32_t number, uint32_t first)
{
	const uint32_t *edges = state->graph->edges;
	uint32_t ahead;

	first &= -(first >> 31); /* 0 unless NOT_MET, without a branch */
	*place = (struct place){
		.source = number,
		.first = first,
		.at = state->records[block].offset + (first >> 31),
		.end = state->records[block + 1].offset,
	};
	ahead = place->end - place->at;
	if (ahead > PREFETCH_MAX)
		ahead = PREFETCH_MAX;
	for (uint32_t i = !first; i < ahead; i++)
		prefetch_target(state, edges[place->at + i]);
}

/* Prefetches what blocks above have left to follow. On the way back from deep below, they mostly
 * have the preceding numbers. The position of a block without edges is meaningless. */
static inline void prefetch_above(const struct hawk_dominator_state *state, uint32_t source)
{
	const uint32_t *edges = state->graph->edges;
	uint32_t at;

	if (source <= UP_EDGES)
		return;
	hawk_prefetch(&edges[state->positions[source - UP_EDGES]]);
	at = state->positions[source - UP_TARGETS];
	for (unsigned i = 0; i < 2 && at < state->graph->edge_count; i++)
		prefetch_target(state, edges[at++]);
}

/* Goes to the next block above that is not done. Returns false if none is left. */
static inline bool go_up(const struct hawk_dominator_state *state, struct place *place)
{
	uint32_t source = place->source;

	do
		source = state->parents[source];
	while (state->positions[source] == DONE);
	if (!source)
		return false;
	prefetch_above(state, source);
	place->source = source;
	place->at = state->positions[source];
	place->end = state->records[state->blocks[source] + 1].offset;
	return true;
}

/* Searches from an edge of the virtual root. */
static struct hawk_error *search_from(struct hawk_dominator_state *state, uint32_t block)
{
	const struct hawk_search_record *records = state->records;
	const uint32_t *edges = state->graph->edges;
	uint32_t word = records[block].number;
	uint32_t number = met(word);
	struct place place;
	uint32_t tree;

	if (number) {
		state->semi[number] = 0;
		return NULL;
	}
	tree = number_block(state, block, 0);
	go_down(state, &place, block, tree, word);
	state->positions[0] = 0;
	while (place.first || place.at < place.end || go_up(state, &place)) {
		uint32_t edge = place.first ? place.first << 1 : edges[place.at++];
		struct hawk_error *err;

		place.first = 0;
		block = edge >> 1;
		word = records[block].number;
		number = met(word);
		if (number) {
			err = take_edge(state, tree, place.source, number);
			if (err)
				return err;
			continue;
		}
		number = number_block(state, block, place.source);
		/* Leaves, half of all blocks, need nothing but their number. */
		if (!(word & NOT_MET) && records[block].offset == records[block + 1].offset)
			continue;
		state->positions[place.source] = place.at < place.end ? place.at : DONE;
		go_down(state, &place, block, number, word);
	}
	return NULL;
}

/* Returns the word to put in place of a block's number, 0 if it has no first edge that counts. */
static uint32_t first_target(const struct hawk_dominator_state *state, size_t block)
{
	const struct hawk_graph *graph = state->graph;
	uint32_t at = graph->offsets[block];

	if (at == graph->offsets[block + 1])
		return 0;
	return NOT_MET | graph->edges[at] >> 1;
}

static void make_records(struct hawk_dominator_state *state)
{
	const struct hawk_graph *graph = state->graph;

	for (size_t block = 0; block <= graph->count; block++) {
		if (block % RECORDS_AT_ONCE == 0)
			hawk_progress_refresh();
		state->records[block] = (struct hawk_search_record){
			.offset = graph->offsets[block],
			.number = block < graph->count ? first_target(state, block) : 0,
		};
	}
}

static struct hawk_error *search_roots(struct hawk_dominator_state *state)
{
	struct hawk_error *err = NULL;

	make_records(state);
	for (size_t i = 0; i < state->graph->roots.count && !err; i++) {
		err = search_from(state, state->graph->roots.items[i].edge >> 1);
	}
	return err;
}

struct hawk_error *hawk_dominators_search_roots(struct hawk_dominator_state *state)
{
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "following pointers", state->graph->count);
	err = search_roots(state);
	hawk_progress_end(&progress);
	return err;
}

static struct hawk_error *search_leaders(struct hawk_dominator_state *state)
{
	const uint8_t *kinds = state->reach->kinds;
	uint32_t count = state->graph->count;
	struct hawk_error *err = NULL;

	for (uint32_t block = 0; block < count && !err; block++) {
		const uint8_t *next =
			memchr(kinds + block, HAWK_REACH_DEFINITELY_LOST, count - block);

		if (!next)
			break;
		block = (uint32_t)(next - kinds);
		err = search_from(state, block);
	}
	return err;
}

struct hawk_error *hawk_dominators_search_leaders(struct hawk_dominator_state *state)
{
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "following pointers of lost blocks", state->graph->count);
	err = search_leaders(state);
	hawk_progress_end(&progress);
	return err;
}
