/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Two searches made one: the second one's numbers are counted again without those of blocks that it
 * lost, its entries in the lanes are moved behind those of the first, and what leads from its trees
 * into others counts. Runs that lost nothing, in most heaps nearly all, keep the order of their
 * numbers: all of these grow by the same.
 */
#include "dominators_search_pair.h"

#include "hawk_parallel.h"
#include "hawk_progress.h"

/* The run that has `number`. */
static struct hawk_search_run *find_run(struct hawk_search_pair *pair, uint32_t number)
{
	unsigned low = 0;
	unsigned high = pair->run_count - 1;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (pair->runs[middle].end < number)
			low = middle + 1;
		else
			high = middle;
	}
	return &pair->runs[low];
}

/* Half of the second search's numbers: blocks get those that they have if none is lost, and what is
 * lost is counted. */
static void run_count_again(void *context, unsigned part)
{
	struct hawk_search_pair *pair = context;
	const struct hawk_dominator_state *second = &pair->second;
	uint32_t *numbers = pair->first->numbers;
	uint32_t number = part ? second->count / 2 : 0;
	uint32_t stop = part ? second->count : second->count / 2;

	while (number < stop) {
		struct hawk_search_run *run = find_run(pair, number + 1);
		uint32_t end = run->end < stop ? run->end : stop;
		uint32_t lost = 0;

		while (number++ < end) {
			uint32_t block = second->blocks[hawk_dominators_at(second->turn, number)];

			if (second->numbers[block] == number &&
			    !hawk_dominators_met(numbers[block]))
				numbers[block] = run->behind + (number - run->first);
			else
				lost++;
			hawk_progress_tick(number);
		}
		number = end;
		__atomic_fetch_add(&run->lost, lost, __ATOMIC_RELAXED);
	}
}

/* Numbers the run's blocks as they will be. Where some were lost, it puts where each is to be (0 =
 * lost) in the place of its position. */
static void count_run_again(struct hawk_search_pair *pair, const struct hawk_search_run *run)
{
	const struct hawk_dominator_state *second = &pair->second;
	uint32_t count = run->final;

	for (uint32_t number = run->first + 1; number <= run->end; number++) {
		ptrdiff_t at = hawk_dominators_at(second->turn, number);
		uint32_t *slot = &pair->first->numbers[second->blocks[at]];
		/* Whose block it is, has, or had, a lower number. */
		bool kept = __atomic_load_n(slot, __ATOMIC_RELAXED) ==
			    run->behind + (number - run->first);

		count += kept;
		if (kept)
			__atomic_store_n(slot, count, __ATOMIC_RELAXED);
		if (run->lost)
			second->positions[at] = kept ? count : 0;
	}
}

/* Every other run, of those where it matters that numbers were lost. */
static void run_close_gaps(void *context, unsigned part)
{
	struct hawk_search_pair *pair = context;

	for (unsigned i = part; i < pair->run_count; i += 2) {
		const struct hawk_search_run *run = &pair->runs[i];

		if (run->lost || run->final != run->behind)
			count_run_again(pair, run);
	}
}

/* Counts the second search's numbers again, without those that it lost. False: it has none. */
static bool count_again(struct hawk_search_pair *pair)
{
	uint32_t behind = pair->first->count;
	uint32_t final = pair->first->count;

	for (unsigned i = pair->run_count; i--;) {
		pair->runs[i].behind = pair->runs[i].final = behind;
		behind += pair->runs[i].end - pair->runs[i].first;
	}
	if (behind == final)
		return false;
	hawk_parallel_run(2, run_count_again, pair);
	for (unsigned i = pair->run_count; i--;) {
		struct hawk_search_run *run = &pair->runs[i];

		run->final = final;
		final += run->end - run->first - run->lost;
	}
	if (final != behind)
		hawk_parallel_run(2, run_close_gaps, pair);
	pair->first->count = final;
	return true;
}

/* What a number of a run is in the end; 0 = lost, and of 0. */
static inline uint32_t final_number(const struct hawk_dominator_state *second,
				    const struct hawk_search_run *run, uint32_t number)
{
	if (!number)
		return 0;
	if (run->lost)
		return second->positions[hawk_dominators_at(second->turn, number)];
	return run->final + (number - run->first);
}

static void reverse(uint32_t *items, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t item = items[i];

		items[i] = items[count - 1 - i];
		items[count - 1 - i] = item;
	}
}

/* Puts a run's `count` entries, the last of which is at `items`, where `to` is, which is not behind
 * them; `shift` is added to those that are not 0. */
static void move_whole_run(uint32_t *to, uint32_t *items, size_t count, uint32_t shift)
{
	if ((size_t)(items - to) >= count) {
		for (size_t i = 0; i < count; i++)
			to[i] = items[count - 1 - i] + (items[count - 1 - i] ? shift : 0);
		return;
	}
	reverse(items, count);
	for (size_t i = 0; i < count; i++)
		to[i] = items[i] + (items[i] ? shift : 0);
}

/* The same without those that it lost. */
static void move_rest_of_run(const struct hawk_search_pair *pair, const struct hawk_search_run *run,
			     uint32_t *items, uint32_t *first_lane, bool of_numbers)
{
	const struct hawk_dominator_state *second = &pair->second;

	reverse(items, run->end - run->first);
	for (uint32_t number = run->first + 1; number <= run->end; number++) {
		uint32_t moved = final_number(second, run, number);
		uint32_t item = *items++;

		if (moved)
			first_lane[moved] = of_numbers ? final_number(second, run, item) : item;
	}
}

/* Moves a lane's entries of runs [first, end) to where their numbers are in the end; `lane` as the
 * second search sees it. Ascending they move down or not at all: those of later runs, which come
 * before them, are to be moved first. */
static void move_lane(const struct hawk_search_pair *pair, unsigned first, unsigned end,
		      uint32_t *lane, uint32_t *first_lane, bool of_numbers)
{
	for (unsigned i = end; i-- > first;) {
		const struct hawk_search_run *run = &pair->runs[i];
		uint32_t *items = lane + hawk_dominators_at(pair->second.turn, run->end);

		if (run->lost)
			move_rest_of_run(pair, run, items, first_lane, of_numbers);
		else
			move_whole_run(first_lane + run->final + 1, items, run->end - run->first,
				       of_numbers ? run->final - run->first : 0);
		hawk_progress_add(run->end - run->first);
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
		const struct hawk_search_run *run = &pair->runs[i];

		for (uint64_t j = run->first_edge; j < run->end_edge; j++) {
			uint32_t source =
				final_number(second, run, (uint32_t)(second->edges[j] >> 32));
			uint32_t target = final_number(second, run, (uint32_t)second->edges[j]);

			if (source && target)
				first->edges[first->edge_count++] = (uint64_t)source << 32 | target;
		}
	}
	return err;
}

/* A lane and a half for each thread. */
static void run_move(void *context, unsigned part)
{
	struct hawk_search_pair *pair = context;
	struct hawk_dominator_state *second = &pair->second;
	const struct hawk_dominator_state *first = pair->first;
	unsigned middle = (unsigned)(find_run(pair, second->count / 2 + 1) - pair->runs);
	unsigned end = pair->run_count;

	if (!part) {
		move_lane(pair, middle, end, second->blocks, first->blocks, false);
		pthread_mutex_lock(&pair->lock);
		pair->half_moved = true;
		pthread_cond_signal(&pair->changed);
		pthread_mutex_unlock(&pair->lock);
		move_lane(pair, 0, end, second->parents, first->parents, true);
		pair->err = move_edges(pair);
		return;
	}
	move_lane(pair, 0, end, second->semi, first->semi, true);
	pthread_mutex_lock(&pair->lock);
	while (!pair->half_moved)
		pthread_cond_wait(&pair->changed, &pair->lock);
	pthread_mutex_unlock(&pair->lock);
	move_lane(pair, 0, middle, second->blocks, first->blocks, false);
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

/* Every other run, of those that may have such edges. */
static void run_free(void *context, unsigned part)
{
	const struct hawk_search_pair *pair = context;
	const struct hawk_dominator_state *state = pair->first;
	const struct hawk_roots *roots = state->roots;

	for (unsigned i = part; i < pair->run_count; i += 2) {
		const struct hawk_search_run *run = &pair->runs[i];
		uint32_t end = i ? pair->runs[i - 1].final : state->count;
		size_t end_root = i ? pair->runs[i - 1].first_root : roots->count;

		if (!run->lost && !run->touched)
			continue;
		for (size_t j = run->first_root; j < end_root; j++)
			if (hawk_dominators_root_counts(state, &roots->items[j]))
				set_free(state, state->numbers[roots->items[j].edge >> 1]);
		for (uint32_t number = run->final + 1; number <= end; number++)
			free_targets(state, number, run->final);
	}
}

struct hawk_error *hawk_dominators_merge_searches(struct hawk_search_pair *pair)
{
	enum { PASSES = 4 }; /* over the second search's numbers */
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "joining two searches",
			    (uint64_t)PASSES * pair->second.count + PASSES);
	if (count_again(pair))
		hawk_parallel_run(2, run_move, pair);
	/* Runs without a number, too: the first search was at all their roots' blocks before. */
	if (!pair->err && pair->run_count)
		hawk_parallel_run(2, run_free, pair);
	hawk_progress_end(&progress);
	return pair->err;
}
