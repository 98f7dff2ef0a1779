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
#include "dominators_state.h"

#include <pthread.h>

#include "hawk_parallel.h"

enum {
	RUNS_MAX = 1024,
	RUN_SHARE = 32,         /* of the roots that are left */
	NUMBERS_AT_ONCE = 2048, /* that a search takes for itself */
};

/** Roots [first_root, end_root) and the second search's numbers (first, end]. */
struct run {
	size_t first_root;
	uint32_t first;
	uint32_t end;
	uint64_t first_edge;
	uint64_t end_edge;
	uint32_t final; /* the first of its numbers in the end, minus 1 */
};

struct hawk_search_pair {
	struct hawk_dominator_state *first;
	struct hawk_dominator_state second;
	struct hawk_error *err; /* the first search's */

	pthread_mutex_t lock;
	pthread_cond_t ended;
	/* Under the lock. */
	size_t front, back; /* roots that nobody has taken: [front, back) */
	uint32_t spare;     /* numbers that nobody has taken */
	bool running;       /* the second search */
	bool stop;          /* it is to end */

	/* The second search's, then everybody's. */
	struct run runs[RUNS_MAX];
	unsigned run_count; /* the last of them was finished */
	bool lost;          /* some numbers, to the first search or to later runs */
};

/* Under the lock. */
static uint32_t take_numbers(struct hawk_search_pair *pair)
{
	uint32_t taken = pair->spare < NUMBERS_AT_ONCE ? pair->spare : NUMBERS_AT_ONCE;

	pair->spare -= taken;
	return taken;
}

/* As if the second search had not begun with this run, its last. Under the lock, or alone. */
static void undo_run(struct hawk_search_pair *pair, const struct run *run)
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
		pthread_cond_wait(&pair->ended, &pair->lock);
	while (!pair->spare && pair->run_count)
		undo_run(pair, &pair->runs[--pair->run_count]);
	return take_numbers(pair);
}

bool hawk_dominators_more_numbers(struct hawk_dominator_state *state)
{
	struct hawk_search_pair *pair = state->pair;
	bool is_first;
	uint32_t taken;

	if (!pair)
		return true;
	is_first = state == pair->first;
	pthread_mutex_lock(&pair->lock);
	taken = is_first || !pair->stop ? take_numbers(pair) : 0;
	if (!taken && is_first)
		taken = take_numbers_back(pair);
	pthread_mutex_unlock(&pair->lock);
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

	memset(state->numbers, 0, state->graph->count * sizeof(*state->numbers));
	while (pair->run_count < RUNS_MAX && state->edge_count <= edges_max &&
	       take_roots(pair, false, &first, &end)) {
		struct run *run = &pair->runs[pair->run_count];

		*run = (struct run){
			.first_root = first,
			.first = state->count,
			.first_edge = state->edge_count,
		};
		state->before = state->count;
		err = search_roots(state, first, end);
		if (err || state->stopped) {
			pthread_mutex_lock(&pair->lock);
			undo_run(pair, run);
			pthread_mutex_unlock(&pair->lock);
			break;
		}
		run->end = state->count;
		run->end_edge = state->edge_count;
		pair->run_count++;
	}
	return err;
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
	pthread_cond_signal(&pair->ended);
	pthread_mutex_unlock(&pair->lock);
}

/* Counts the second search's numbers again: where each is to be (0 = lost) is put in the place of
 * its position, and in that of its block. */
static void count_again(struct hawk_search_pair *pair)
{
	const struct hawk_dominator_state *second = &pair->second;
	struct hawk_dominator_state *first = pair->first;
	uint32_t count = first->count;

	for (unsigned i = pair->run_count; i--;) {
		struct run *run = &pair->runs[i];

		run->final = count;
		for (uint32_t number = run->first + 1; number <= run->end; number++) {
			ptrdiff_t at = hawk_dominators_at(second->turn, number);
			uint32_t block = second->blocks[at];
			bool kept = second->numbers[block] == number && !first->numbers[block];

			count += kept;
			second->positions[at] = kept ? count : 0;
			if (kept)
				first->numbers[block] = count;
			pair->lost |= !kept;
		}
	}
	second->positions[hawk_dominators_at(second->turn, 0)] = 0;
	first->count = count;
}

static void reverse(uint32_t *items, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t item = items[i];

		items[i] = items[count - 1 - i];
		items[count - 1 - i] = item;
	}
}

/* Moves a lane's entries to where their numbers are in the end; `lane` as the second search sees
 * it. Ascending they move down or not at all. */
static void move_lane(const struct hawk_search_pair *pair, uint32_t *lane, uint32_t *first_lane,
		      bool of_numbers)
{
	const uint32_t *positions = pair->second.positions;
	size_t turn = pair->second.turn;

	for (unsigned i = pair->run_count; i--;) {
		const struct run *run = &pair->runs[i];
		uint32_t *items = lane + hawk_dominators_at(turn, run->end);

		reverse(items, run->end - run->first);
		for (uint32_t number = run->first + 1; number <= run->end; number++) {
			uint32_t moved = positions[hawk_dominators_at(turn, number)];
			uint32_t item = *items++;

			if (moved)
				first_lane[moved] =
					of_numbers ? positions[hawk_dominators_at(turn, item)]
						   : item;
		}
	}
}

/* Behind those of the first search, in the order of trees. */
static struct hawk_error *move_edges(struct hawk_search_pair *pair)
{
	struct hawk_dominator_state *second = &pair->second;
	struct hawk_dominator_state *first = pair->first;
	struct hawk_error *err =
		hawk_dominators_reserve_edges(first, first->edge_count + second->edge_count);

	for (unsigned i = pair->run_count; i-- && !err;) {
		const struct run *run = &pair->runs[i];

		for (uint64_t j = run->first_edge; j < run->end_edge; j++) {
			uint32_t source = (uint32_t)(second->edges[j] >> 32);
			uint32_t target = (uint32_t)second->edges[j];

			source = second->positions[hawk_dominators_at(second->turn, source)];
			target = second->positions[hawk_dominators_at(second->turn, target)];
			if (source && target)
				first->edges[first->edge_count++] = (uint64_t)source << 32 | target;
		}
	}
	return err;
}

static void run_move(void *context, unsigned part)
{
	struct hawk_search_pair *pair = context;
	struct hawk_dominator_state *second = &pair->second;

	if (!part) {
		move_lane(pair, second->parents, pair->first->parents, true);
		pair->err = move_edges(pair);
	} else {
		move_lane(pair, second->semi, pair->first->semi, true);
		move_lane(pair, second->blocks, pair->first->blocks, false);
	}
}

/* No path but from the virtual root leads to this block and to its pointer's. */
static void set_free(const struct hawk_dominator_state *state, uint32_t number)
{
	__atomic_store_n(&state->semi[number], 0, __ATOMIC_RELAXED);
}

/* The edges into earlier roots' trees: the second search may have seen none, or others, there. */
static void free_targets(const struct hawk_dominator_state *state, uint32_t number, uint32_t final)
{
	const struct hawk_graph *graph = state->graph;
	uint32_t block = state->blocks[number];

	for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
		uint32_t target = state->numbers[graph->edges[i] >> 1];

		if (!(graph->edges[i] & state->reach->edges) && target <= final)
			set_free(state, target);
	}
}

/* Every other run. */
static void run_free(void *context, unsigned part)
{
	const struct hawk_search_pair *pair = context;
	const struct hawk_dominator_state *state = pair->first;
	const struct hawk_roots *roots = state->roots;

	for (unsigned i = part; i < pair->run_count; i += 2) {
		const struct run *run = &pair->runs[i];
		uint32_t end = i ? pair->runs[i - 1].final : state->count;
		size_t end_root = i ? pair->runs[i - 1].first_root : roots->count;

		for (size_t j = run->first_root; j < end_root; j++)
			if (hawk_dominators_root_counts(state, &roots->items[j]))
				set_free(state, state->numbers[roots->items[j].edge >> 1]);
		for (uint32_t number = run->final + 1; number <= end; number++)
			free_targets(state, number, run->final);
	}
}

static struct hawk_error *join(struct hawk_search_pair *pair)
{
	count_again(pair);
	hawk_parallel_run(2, run_move, pair);
	if (!pair->err && (pair->lost || pair->second.touched))
		hawk_parallel_run(2, run_free, pair);
	return pair->err;
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
		.ended = PTHREAD_COND_INITIALIZER,
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
	memset(state->numbers, 0, ((size_t)state->graph->count + 1) * sizeof(*state->numbers));
	set_up_second(&pair);
	hawk_parallel_run(2, run_search, &pair);
	err = pair.err;
	if (!err)
		err = search_front(&pair); /* what the second search has left */
	if (!err)
		err = join(&pair);
	hawk_area_destroy(&pair.second.edges_area);
	state->limit = UINT32_MAX;
	state->pair = NULL;
	if (!state->edges_area.bytes)
		state->edge_capacity = state->lane_bytes / sizeof(*state->edges);
	return err;
}
