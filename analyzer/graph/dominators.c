/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs the stages of finding dominators in order.
 */
#include "dominators_state.h"

#include <assert.h>

#include "hawk/base/parallel.h"

enum {
	LANES = 7,
	LANES_KEPT = 6,
	NUMBERS_MIN = 4096, /* lower limit of a range: fewer are not worth a thread */
};

/** The columns' memory. */
struct columns {
	struct hawk_area area;
	uint64_t stride; /**< numbers in a column: blocks + 2 at least */
};

static struct hawk_error *make_columns(uint32_t count, struct columns *columns)
{
	/* Even, so that pairs of columns are aligned; not a power of two, so that equal indexes of
	 * different columns do not meet in the same cache set. */
	uint64_t stride = (((uint64_t)count + 2 + 15) & ~UINT64_C(15)) + 16;
	uint64_t bytes = LANES * stride * sizeof(uint32_t);
	struct hawk_error *err = hawk_area_create(&columns->area, bytes);

	columns->stride = stride;
	if (!err)
		err = hawk_area_grow(&columns->area, bytes);
	if (!err)
		hawk_area_trim(&columns->area, bytes);
	return err;
}

static uint32_t *column(const struct columns *columns, unsigned number)
{
	return (uint32_t *)columns->area.bytes + number * columns->stride;
}

static void set_up(struct hawk_dominator_state *state, const struct columns *columns)
{
	state->records = (struct hawk_search_record *)(void *)column(columns, 0);
	state->best = column(columns, 0);
	state->dominators = column(columns, 1);
	state->blocks = column(columns, 2);
	state->parents = column(columns, 3);
	state->semi = column(columns, 4);
	state->positions = column(columns, 5);
	state->source_offsets = column(columns, 5);
	state->last_lane = column(columns, 6);
	state->edges = (uint64_t *)(void *)state->last_lane;
	state->lane_bytes = columns->stride * sizeof(uint32_t);
	state->edge_capacity = state->lane_bytes / sizeof(*state->edges);
}

static unsigned count_wanted(uint32_t count)
{
	unsigned threads = hawk_parallel_threads();
	unsigned query = threads < HAWK_STRETCHES_MAX ? threads : HAWK_STRETCHES_MAX;

	return query > count / NUMBERS_MIN ? count / NUMBERS_MIN : query;
}

/* Cuts the numbers into about as many ranges as threads. The trees of the search follow each other,
 * each beginning at a child of the virtual root. All dominators of a block are in its tree. */
static struct hawk_dominators_ranges cut(const uint32_t *parents, uint32_t count)
{
	struct hawk_dominators_ranges ret = {.first = {1}};
	unsigned query = count_wanted(count);

	for (unsigned i = 1; i < query; i++) {
		uint32_t number = (uint32_t)((uint64_t)count * i / query);

		if (number <= ret.first[ret.count])
			continue; /* part of a large tree that began earlier */
		while (number <= count && parents[number])
			number++;
		if (number <= count)
			ret.first[++ret.count] = number;
	}
	ret.first[++ret.count] = count + 1;
	return ret;
}

static struct hawk_error *make(struct hawk_dominator_state *state)
{
	struct hawk_error *err = hawk_dominators_search_roots(state);

	if (!err)
		err = hawk_dominators_search_leaders(state);
	if (err)
		return err;
	assert(state->count == state->graph->count);
	state->ranges = cut(state->parents, state->count);
	return hawk_dominators_link(state);
}

struct hawk_error *hawk_dominators_make(const struct hawk_graph *graph,
					const struct hawk_reach *reach, struct hawk_dominators *ret)
{
	struct hawk_dominator_state state = {.graph = graph, .reach = reach};
	struct columns columns = {0};
	struct hawk_error *err = make_columns(graph->count, &columns);

	if (!err) {
		set_up(&state, &columns);
		err = make(&state);
	}
	hawk_area_destroy(&state.edges_area);
	hawk_area_destroy(&state.sources_area);
	if (err) {
		hawk_area_destroy(&columns.area);
		return err;
	}
	hawk_area_trim(&columns.area, LANES_KEPT * state.lane_bytes);
	*ret = (struct hawk_dominators){
		.count = state.count,
		.blocks = state.blocks,
		.dominators = state.dominators,
		.retained = (uint64_t *)(void *)column(&columns, 4),
		.sizes = column(&columns, 0),
		.numbers = column(&columns, 3),
		.ranges = state.ranges,
		.area = columns.area,
	};
	hawk_dominators_add_up(&graph->heap->index, ret);
	return NULL;
}

void hawk_dominators_deinit(struct hawk_dominators *dominators)
{
	hawk_area_destroy(&dominators->area);
	*dominators = (struct hawk_dominators){0};
}
