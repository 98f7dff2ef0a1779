/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Two searches at a time: the first takes roots from the front, the second runs of roots from the
 * back, until they meet. What comes out is what one search finds.
 *
 * Why: let S be all that a search of the earlier roots meets. One search of the later roots then
 * leaves out S. A search that does not know of S meets some of it, too; but whatever is reached
 * from a block in S is in S, so it is a matter of whole subtrees, and without them the rest is
 * found from the same blocks in the same order. So the first search, and each later run of the
 * second, takes no notice of what was found from later roots; where both have numbered a block,
 * the earlier roots keep it. Then the second's numbers are counted again without what it lost.
 *
 * Where the two find so much of the same that the lanes are full, or where memory is short, the
 * second search ends; the run that it was in was in vain. If the first one still has no numbers, it
 * takes back those of the second's runs, the last one first, and their roots with them: whatever a
 * run has met, a search of its roots meets again. So no work is done more than twice.
 */
#include "dominators_search_pair.h"

#include "hawk_parallel.h"
#include "hawk_progress.h"

enum {
	RUN_SHARE = 32,         /* of the roots that are left */
	NUMBERS_AT_ONCE = 2048, /* that a search takes for itself */
	CLEARED_AT_ONCE = 1 << 20,
};

/* Under the lock. */
static uint32_t take_numbers(struct hawk_search_pair *pair)
{
	uint32_t taken = pair->spare < NUMBERS_AT_ONCE ? pair->spare : NUMBERS_AT_ONCE;

	pair->spare -= taken;
	return taken;
}

/* As if the second search had not begun with this run, its last. Under the lock, or alone. */
static void undo_run(struct hawk_search_pair *pair, const struct hawk_search_run *run)
{
	struct hawk_dominator_state *second = &pair->second;

	pair->spare += second->limit - run->first;
	second->limit = second->count = run->first;
	second->edge_count = run->first_edge;
	pair->back = run == pair->runs ? pair->first->roots->count : run[-1].first_root;
}

/* The second search's, for the first. */
static uint32_t take_numbers_back(struct hawk_search_pair *pair)
{
	pair->stop = true;
	while (pair->running)
		pthread_cond_wait(&pair->changed, &pair->lock);
	while (!pair->spare && pair->run_count)
		undo_run(pair, &pair->runs[--pair->run_count]);
	return take_numbers(pair);
}

bool hawk_dominators_more_numbers(struct hawk_dominator_state *state)
{
	struct hawk_search_pair *pair = state->pair;
	bool is_first;
	uint32_t taken;
	uint32_t spare;

	if (!pair) {
		state->limit += NUMBERS_AT_ONCE;
		hawk_progress_reach(state->count);
		return true;
	}
	is_first = state == pair->first;
	pthread_mutex_lock(&pair->lock);
	taken = is_first || !pair->stop ? take_numbers(pair) : 0;
	if (!taken && is_first)
		taken = take_numbers_back(pair);
	spare = pair->spare;
	pthread_mutex_unlock(&pair->lock);
	hawk_progress_reach(state->workspace->stride - spare);
	state->limit += taken;
	state->stopped = !taken;
	return taken;
}

/* A few of the roots that are left, from the front or from the back. False: there are none. */
static bool take_roots(struct hawk_search_pair *pair, bool from_front, size_t *first, size_t *end)
{
	size_t count;

	pthread_mutex_lock(&pair->lock);
	count = (pair->back - pair->front) / RUN_SHARE + 1;
	if (pair->front == pair->back || (!from_front && pair->stop))
		count = 0;
	*first = from_front ? pair->front : pair->back - count;
	*end = *first + count;
	if (from_front)
		pair->front = *end;
	else
		pair->back = *first;
	pthread_mutex_unlock(&pair->lock);
	return count;
}

static struct hawk_error *search_roots(struct hawk_dominator_state *state, size_t first, size_t end)
{
	struct hawk_error *err = NULL;

	for (size_t i = first; i < end && !err && !state->stopped; i++)
		if (hawk_dominators_root_counts(state, &state->roots->items[i]))
			err = hawk_dominators_search_from(state, state->roots->items[i].edge >> 1);
	return err;
}

static struct hawk_error *search_front(struct hawk_search_pair *pair)
{
	struct hawk_error *err = NULL;
	size_t first;
	size_t end;

	while (!err && take_roots(pair, true, &first, &end))
		err = search_roots(pair->first, first, end);
	return err;
}

static struct hawk_error *search_back(struct hawk_search_pair *pair)
{
	struct hawk_dominator_state *state = &pair->second;
	/* Runs may find the same ones again and again: the first search goes on alone then. */
	uint64_t edges_max = state->graph->edge_count / 2;
	struct hawk_error *err = NULL;
	size_t first;
	size_t end;

	while (pair->run_count < HAWK_SEARCH_RUNS_MAX && state->edge_count <= edges_max &&
	       take_roots(pair, false, &first, &end)) {
		struct hawk_search_run *run = &pair->runs[pair->run_count];

		*run = (struct hawk_search_run){
			.first_root = first,
			.first = state->count,
			.first_edge = state->edge_count,
		};
		state->before = state->count;
		state->touched = false;
		err = search_roots(state, first, end);
		if (err || state->stopped) {
			pthread_mutex_lock(&pair->lock);
			undo_run(pair, run);
			pthread_mutex_unlock(&pair->lock);
			break;
		}
		run->end = state->count;
		run->end_edge = state->edge_count;
		run->touched = state->touched;
		pair->run_count++;
	}
	return err;
}

/* No block has a number; half of them. */
static void run_clear(void *context, unsigned part)
{
	const struct hawk_search_pair *pair = context;
	uint32_t *first_numbers = pair->first->numbers;
	uint32_t *second_numbers = pair->second.numbers;
	size_t half = pair->first->graph->count / 2;
	size_t first = part ? half : 0;
	size_t end = part ? pair->first->graph->count : half;

	/* Of memory that is new this takes a while. */
	for (size_t at = first; at < end; at += CLEARED_AT_ONCE) {
		size_t count = end - at < CLEARED_AT_ONCE ? end - at : CLEARED_AT_ONCE;

		for (size_t block = at; block < at + count; block++)
			first_numbers[block] = second_numbers[block] =
				hawk_dominators_first(pair->first, block);
		hawk_progress_refresh();
	}
}

static void run_search(void *context, unsigned part)
{
	struct hawk_search_pair *pair = context;

	if (!part) {
		pair->err = search_front(pair);
		return;
	}
	pthread_mutex_lock(&pair->lock);
	pair->running = !pair->stop;
	pthread_mutex_unlock(&pair->lock);
	if (!pair->running)
		return;
	/* The first search may do with the memory that there is. */
	hawk_error_destroy(search_back(pair));
	pthread_mutex_lock(&pair->lock);
	pair->running = false;
	pair->spare += pair->second.limit - pair->second.count;
	pair->second.limit = pair->second.count;
	pthread_cond_signal(&pair->changed);
	pthread_mutex_unlock(&pair->lock);
}

/* A state that numbers from the other end of the lanes. */
static void set_up_second(struct hawk_search_pair *pair)
{
	const struct hawk_workspace *workspace = pair->first->workspace;
	struct hawk_dominator_state *second = &pair->second;
	uint64_t half;

	*second = *pair->first;
	second->taken = pair->first->numbers;
	second->numbers = hawk_workspace_lane(workspace, 1);
	second->turn = SIZE_MAX;
	second->blocks += workspace->stride;
	second->parents += workspace->stride;
	second->semi += workspace->stride;
	second->positions += workspace->stride;
	half = second->edge_capacity / 2;
	pair->first->edge_capacity = half;
	second->edges += half;
	second->edge_capacity -= half;
}

struct hawk_error *hawk_dominators_search_two(struct hawk_dominator_state *state)
{
	struct hawk_search_pair pair = {
		.first = state,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.back = state->roots->count,
		/* 0 and, of the second, 0, too, have places of their own. */
		.spare = (uint32_t)(state->workspace->stride - 2),
	};
	struct hawk_error *err;

	state->offsets = state->graph->offsets;
	state->numbers = hawk_workspace_lane(state->workspace, 0);
	state->block_shift = 0;
	state->limit = 0;
	state->pair = &pair;
	set_up_second(&pair);
	hawk_parallel_run(2, run_clear, &pair);
	hawk_parallel_run(2, run_search, &pair);
	err = pair.err;
	if (!err)
		err = search_front(&pair); /* what the second search has left */
	if (!err)
		err = hawk_dominators_merge_searches(&pair);
	hawk_area_destroy(&pair.second.edges_area);
	state->limit = state->count;
	state->pair = NULL;
	if (!state->edges_area.bytes)
		state->edge_capacity = state->lane_bytes / sizeof(*state->edges);
	return err;
}
