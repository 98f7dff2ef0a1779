/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sums of chosen blocks along an order of all of them. Every thread takes the positions from some
 * point on to another, and looks for those that dominate its first one: what they say holds for the
 * blocks behind it.
 *
 * What a file says of order is believed as far as it is in bounds.
 */
#include <stdlib.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"
#include "hawk_site_tree.h"
#include "hawk_tree_order.h"

enum {
	SHARES_MAX = 16,
	BLOCKS_PER_SHARE = 1 << 12, /**< fewer are not worth a thread */
	BLOCKS_PER_SUM = 4,         /**< likewise sums of its own */
	LINE_WORDS = 16,            /**< so far apart threads do not wait for each other */
	WORD_BLOCKS = 64,
	NODES_NEAR = 1 << 14, /**< sums of more are not near the processor */
	POSITIONS_AHEAD = 32,
};

/** Positions from `first` to `end`. */
struct share {
	const struct hawk_block_graph *graph;
	const struct hawk_tree_order *order;
	const struct hawk_tree_fold *fold;
	const uint32_t *nodes;  /**< by block: of paths */
	const uint64_t *chosen; /**< by position; of paths by block */
	uint32_t first, end;
	uint64_t *positions;      /**< to be filled */
	struct hawk_chosen *sums; /**< by node */

	/* By site. */
	const uint32_t *sites; /**< by node; UINT32_MAX = none */
	unsigned node_bits;    /**< of steps */
	uint32_t *ends;        /**< behind what the last topmost block dominates */
	uint64_t *before;      /**< all bytes of the share when that came */
	uint64_t *by_site;
	/* Sites whose topmost block is open, those that are inside of others behind them. */
	uint32_t *stack;
	uint32_t depth;
	uint64_t bytes;
};

static unsigned cut(const struct share *shared, uint64_t sums, struct share *shares)
{
	uint32_t count = shared->graph->index.count;
	unsigned threads = hawk_block_graph_threads(shared->graph);
	uint64_t most = count / BLOCKS_PER_SHARE + 1;

	if (most > count / (BLOCKS_PER_SUM * (sums + 1)) + 1)
		most = count / (BLOCKS_PER_SUM * (sums + 1)) + 1;
	if (most > SHARES_MAX)
		most = SHARES_MAX;
	if (threads > most)
		threads = (unsigned)most;
	for (unsigned i = 0; i < threads; i++) {
		shares[i] = *shared;
		shares[i].first = (uint32_t)((uint64_t)count * i / threads) & ~(WORD_BLOCKS - 1u);
		shares[i].end =
			(uint32_t)((uint64_t)count * (i + 1) / threads) & ~(WORD_BLOCKS - 1u);
	}
	shares[threads - 1].end = count;
	return threads;
}

/* Behind all that the block at `position` dominates. */
static uint32_t end_of(const struct share *share, uint32_t position)
{
	uint32_t size = share->order->sizes[position];
	uint32_t left = share->graph->index.count - position;

	return position + (!size ? 1 : size < left ? size : left);
}

static bool is_chosen(const struct share *share, uint32_t position)
{
	return share->chosen[position / WORD_BLOCKS] >> position % WORD_BLOCKS & 1;
}

/* Of those that dominate the block at `end` the next one from `*at` on, which goes on into it. */
static bool next_above(const struct share *share, uint32_t end, uint32_t *at, uint32_t *ret)
{
	while (*at < end) {
		uint32_t behind = end_of(share, *at);

		if (behind > end) {
			*ret = (*at)++;
			return true;
		}
		*at = behind;
	}
	return false;
}

static void place_chosen(void *context, unsigned part)
{
	const struct share *share = (const struct share *)context + part;
	const uint32_t *blocks = share->order->blocks;
	const uint64_t *chosen = share->chosen;
	uint32_t count = share->graph->index.count;

	for (uint32_t first = share->first; first < share->end; first += WORD_BLOCKS) {
		uint32_t left = share->end - first;
		uint64_t bits = 0;

		for (uint32_t i = 0; i < (left < WORD_BLOCKS ? left : WORD_BLOCKS); i++) {
			uint32_t block = blocks[first + i];

			if (block < count)
				bits |= (chosen[block / WORD_BLOCKS] >> block % WORD_BLOCKS & 1)
					<< i;
		}
		share->positions[first / WORD_BLOCKS] = bits;
	}
	hawk_progress_add(share->end - share->first);
}

struct hawk_error *hawk_tree_order_place(const struct hawk_block_graph *graph,
					 const struct hawk_tree_order *order,
					 const uint64_t *chosen, uint64_t **ret)
{
	uint32_t count = graph->index.count;
	uint64_t *positions = calloc((size_t)count / WORD_BLOCKS + 1, sizeof(*positions));
	const struct share shared = {
		.graph = graph, .order = order, .chosen = chosen, .positions = positions};
	struct share shares[SHARES_MAX];
	struct hawk_progress progress;

	if (!positions)
		return &hawk_enomem;
	hawk_progress_begin(&progress, "looking for chosen blocks", count);
	hawk_parallel_run(cut(&shared, 0, shares), place_chosen, shares);
	hawk_progress_end(&progress);
	*ret = positions;
	return NULL;
}

/* One after the other, of the same node. */
struct run {
	struct hawk_chosen *sums;
	uint32_t node_count;
	uint32_t node;
	uint64_t objects, bytes;
};

static void end_run(struct run *run)
{
	if (run->node < run->node_count) {
		run->sums[run->node].objects += run->objects;
		run->sums[run->node].bytes += run->bytes;
	}
	run->objects = run->bytes = 0;
}

static inline void add_to_run(struct run *run, uint32_t node, uint64_t objects, uint64_t bytes)
{
	if (node != run->node) {
		end_run(run);
		run->node = node;
	}
	run->objects += objects;
	run->bytes += bytes;
}

static void add_block(struct run *run, const struct hawk_block_index *index, uint32_t node,
		      uint32_t block)
{
	if (block < index->count)
		add_to_run(run, node, hawk_block_index_counts(index, block),
			   hawk_block_index_left_bytes(index, block));
}

static void add_gone(const struct share *share, struct run *run, uint32_t position, uint32_t end)
{
	const struct hawk_tree_order *order = share->order;
	unsigned bits = hawk_step_node_bits(share->fold->count);
	uint32_t most = hawk_step_bytes_max(bits), mask = (UINT32_C(1) << bits) - 1;
	bool is_far = share->fold->count > NODES_NEAR;

	for (; position < end; position++) {
		uint32_t step = order->steps[position];
		uint32_t bytes = step >> bits;

		/* It is likely to be needed: stretches are short where steps are many. */
		if (is_far && share->end - position > POSITIONS_AHEAD)
			hawk_prefetch(
				&share->sums[order->steps[position + POSITIONS_AHEAD] & mask]);

		if (bytes != most)
			add_to_run(run, step & mask, 1, bytes);
		else
			add_block(run, &share->graph->index, step & mask, order->blocks[position]);
	}
}

static void sum_gone(void *context, unsigned part)
{
	const struct share *share = (const struct share *)context + part;
	struct run run = {.sums = share->sums, .node_count = share->fold->count};
	uint32_t at = 0, above, position = share->first;
	uint64_t told = position;

	while (next_above(share, share->first, &at, &above))
		if (is_chosen(share, above)) {
			uint32_t end = end_of(share, above);

			position = end < share->end ? end : share->end;
			add_gone(share, &run, share->first, position);
			break;
		}
	for (;;) {
		uint32_t end;

		position = hawk_block_next_chosen(share->chosen, position, share->end);
		if (position >= share->end)
			break;
		hawk_progress_pass(&told, position);
		end = end_of(share, position);
		if (end > share->end)
			end = share->end;
		add_gone(share, &run, position, end);
		position = end;
	}
	end_run(&run);
}

/* Whether all 64 from `first` on are whole blocks. */
static bool are_whole(const struct hawk_block_index *index, uint32_t first)
{
	const struct hawk_block_part *part =
		index->part_count ? hawk_block_index_part_from(index, first) : NULL;

	return !part || part->number - first >= WORD_BLOCKS;
}

/* Sums that the blocks from `first` on will be added to. */
static void prefetch_sums(const struct share *share, uint32_t first)
{
	uint64_t bits = share->chosen[first / WORD_BLOCKS];

	for (; bits; bits &= bits - 1) {
		uint32_t node = share->nodes[first + (uint32_t)__builtin_ctzll(bits)];

		hawk_prefetch(&share->sums[node]);
	}
}

static void sum_alone(void *context, unsigned part)
{
	const struct share *share = (const struct share *)context + part;
	const struct hawk_block_index *index = &share->graph->index;
	struct run run = {.sums = share->sums, .node_count = share->fold->count};
	bool is_far = share->fold->count > NODES_NEAR;
	uint64_t told = share->first;

	for (uint32_t first = share->first; first < share->end; first += WORD_BLOCKS) {
		uint64_t bits = share->chosen[first / WORD_BLOCKS];
		bool whole = bits && are_whole(index, first);

		if (share->end - first < WORD_BLOCKS)
			bits &= (UINT64_C(1) << (share->end - first)) - 1;
		hawk_progress_pass(&told, first);
		if (is_far && share->end - first > 2 * WORD_BLOCKS)
			prefetch_sums(share, first + WORD_BLOCKS);
		for (; bits; bits &= bits - 1) {
			uint32_t block = first + (uint32_t)__builtin_ctzll(bits);

			if (whole)
				add_to_run(&run, share->nodes[block], 1,
					   hawk_block_size(index, block));
			else
				add_block(&run, index, share->nodes[block], block);
		}
	}
	end_run(&run);
}

/* By node; caller frees. */
static struct hawk_error *sum_nodes(const struct share *shared, hawk_parallel_function *sum,
				    struct hawk_chosen **ret)
{
	size_t nodes = shared->fold->count, stride = nodes + LINE_WORDS;
	struct share shares[SHARES_MAX];
	unsigned count = cut(shared, nodes, shares);
	struct hawk_chosen *sums = calloc(count * stride, sizeof(*sums));
	struct hawk_progress progress;

	if (!sums)
		return &hawk_enomem;
	for (unsigned i = 0; i < count; i++)
		shares[i].sums = sums + i * stride;
	hawk_progress_begin(&progress, "adding up blocks by steps of the tree",
			    shared->graph->index.count);
	hawk_parallel_run(count, sum, shares);
	hawk_progress_end(&progress);
	for (size_t i = stride; i < count * stride; i++) {
		sums[i % stride].objects += sums[i].objects;
		sums[i % stride].bytes += sums[i].bytes;
	}
	*ret = sums;
	return NULL;
}

struct hawk_error *hawk_tree_order_sum_nodes(const struct hawk_block_graph *graph,
					     const struct hawk_tree_order *order,
					     const struct hawk_tree_fold *fold,
					     const uint64_t *positions, struct hawk_chosen **ret)
{
	const struct share share = {
		.graph = graph, .order = order, .fold = fold, .chosen = positions};

	return sum_nodes(&share, sum_gone, ret);
}

struct hawk_error *hawk_tree_steps_sum(const struct hawk_block_graph *graph,
				       const struct hawk_tree_steps *steps,
				       const struct hawk_tree_fold *fold, const uint64_t *chosen,
				       struct hawk_chosen **ret)
{
	const struct share share = {
		.graph = graph, .nodes = steps->nodes, .fold = fold, .chosen = chosen};

	return sum_nodes(&share, sum_alone, ret);
}

/* UINT32_MAX = none. */
static inline uint32_t site_at(const struct share *share, uint32_t position)
{
	uint32_t node = share->order->steps[position] & ((UINT32_C(1) << share->node_bits) - 1);

	return node < share->fold->count ? share->sites[node] : UINT32_MAX;
}

/* By node: nodes themselves are eight times as large, and asked for in no order. NULL = no
 * memory. */
static uint32_t *list_sites(const struct hawk_tree_fold *fold)
{
	uint32_t *sites = malloc((size_t)fold->count * sizeof(*sites) + 1);

	for (uint32_t i = 0; sites && i < fold->count; i++)
		sites[i] = fold->nodes[i].kind < HAWK_TREE_SITE ? UINT32_MAX : fold->nodes[i].key;
	return sites;
}

/* What it dominates is added up from here on, unless another one of its site dominates it. */
static inline void open_block(struct share *share, uint32_t position, uint32_t from)
{
	uint32_t site = site_at(share, position);

	if (site >= share->graph->heap->site_count || from < share->ends[site] ||
	    share->depth >= share->graph->heap->site_count)
		return;
	share->ends[site] = end_of(share, position);
	share->before[site] = share->bytes;
	share->stack[share->depth++] = site;
}

static void close_last(struct share *share)
{
	uint32_t site = share->stack[--share->depth];

	share->by_site[site] += share->bytes - share->before[site];
}

static inline uint64_t bytes_of(const struct share *share, uint32_t position, uint32_t end)
{
	const uint32_t *steps = share->order->steps;
	unsigned bits = share->node_bits;
	uint32_t most = hawk_step_bytes_max(bits);
	uint64_t bytes = 0;

	for (; position < end; position++) {
		uint32_t few = steps[position] >> bits;
		uint32_t block;

		if (few != most) {
			bytes += few;
			continue;
		}
		block = share->order->blocks[position];
		if (block < share->graph->index.count)
			bytes += hawk_block_size(&share->graph->index, block);
	}
	return bytes;
}

/* Of one that dominates no other, as are most, nothing needs to be open. */
static inline void add_chosen(struct share *share, uint32_t position)
{
	uint64_t bytes = bytes_of(share, position, position + 1);
	uint32_t site;

	if (end_of(share, position) > position + 1) {
		open_block(share, position, position);
	} else {
		site = site_at(share, position);
		if (site < share->graph->heap->site_count)
			share->by_site[site] += position < share->ends[site] ? 0 : bytes;
	}
	share->bytes += bytes;
}

/* Soon it may be asked for. */
static inline void prefetch_site(const struct share *share, uint32_t position)
{
	uint32_t mask = (UINT32_C(1) << share->node_bits) - 1;

	if (share->end - position > POSITIONS_AHEAD)
		hawk_prefetch(
			&share->sites[share->order->steps[position + POSITIONS_AHEAD] & mask]);
}

static void sum_sites(void *context, unsigned part)
{
	struct share own = ((const struct share *)context)[part]; /* not beside the others' */
	struct share *share = &own;
	uint64_t told = share->first;
	uint32_t at = 0, above;

	while (next_above(share, share->first, &at, &above))
		if (is_chosen(share, above))
			open_block(share, above, share->first);
	for (uint32_t position = share->first; position < share->end;) {
		uint32_t next, end = share->end;

		while (share->depth && share->ends[share->stack[share->depth - 1]] <= position)
			close_last(share);
		if (share->depth && share->ends[share->stack[share->depth - 1]] < end)
			end = share->ends[share->stack[share->depth - 1]];
		next = hawk_block_next_chosen(share->chosen, position, end);
		if (next < end)
			end = next + 1;
		share->bytes += bytes_of(share, position, next < end ? next : end);
		if (next < end) {
			prefetch_site(share, next);
			add_chosen(share, next);
		}
		hawk_progress_pass(&told, end);
		position = end;
	}
	while (share->depth)
		close_last(share);
}

struct hawk_error *hawk_tree_order_sum_sites(const struct hawk_block_graph *graph,
					     const struct hawk_tree_order *order,
					     const struct hawk_tree_fold *fold,
					     const uint64_t *positions, uint64_t *sums)
{
	const struct share shared = {.graph = graph,
				     .order = order,
				     .fold = fold,
				     .chosen = positions,
				     .node_bits = hawk_step_node_bits(fold->count)};
	size_t sites = graph->heap->site_count, stride = sites + LINE_WORDS;
	struct share shares[SHARES_MAX];
	unsigned count = cut(&shared, sites, shares);
	CLEANUP(free_ptr) uint64_t *words = calloc(2 * count * stride, sizeof(*words));
	CLEANUP(free_ptr) uint32_t *halves = calloc(2 * count * stride, sizeof(*halves));
	CLEANUP(free_ptr) uint32_t *by_node = list_sites(fold);
	struct hawk_progress progress;

	if (!words || !halves || !by_node)
		return &hawk_enomem;
	for (unsigned i = 0; i < count; i++) {
		shares[i].sites = by_node;
		shares[i].by_site = words + 2 * i * stride;
		shares[i].before = shares[i].by_site + stride;
		shares[i].ends = halves + 2 * i * stride;
		shares[i].stack = shares[i].ends + stride;
	}
	hawk_progress_begin(&progress, "adding up what sites retain", graph->index.count);
	hawk_parallel_run(count, sum_sites, shares);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < count; i++)
		for (size_t site = 0; site < sites; site++)
			sums[site] += shares[i].by_site[site];
	return NULL;
}
