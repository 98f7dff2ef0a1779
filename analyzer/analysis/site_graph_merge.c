/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Two folds made one. Every pointer and every source block is one's or the other's, so most counts
 * are sums. Only targets can be both's: (place, block) and (edge, block) pairs that both have seen
 * were counted twice, and are looked for among the pairs of the second.
 */
#include "site_graph_fold.h"

#include <stdlib.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_progress.h"

struct merge {
	struct hawk_site_fold *fold;
	const struct hawk_site_fold *other;
	uint32_t *places; /**< by number in `other`: that in `fold` */
	uint32_t *edges;
};

static void add_counts(struct hawk_site_counts *counts, const struct hawk_site_counts *more)
{
	counts->pointers += more->pointers;
	counts->interior += more->interior;
	counts->sources += more->sources;
	counts->targets += more->targets;
	counts->target_bytes += more->target_bytes;
}

/* Places and edges, with what was counted. */
static struct hawk_error *add_places(struct merge *merge)
{
	struct hawk_site_fold *fold = merge->fold;
	const struct hawk_site_fold *other = merge->other;

	for (size_t i = 0; i < other->place_count; i++) {
		const struct hawk_fold_place *place = &other->places[i];
		uint32_t *number = &merge->places[i];
		struct hawk_error *err = hawk_site_fold_place(fold, place->source, place->target,
							      place->offset, number);

		if (err)
			return err;
		add_counts(&fold->places[*number].counts, &place->counts);
		merge->edges[place->edge] = fold->places[*number].edge;
	}
	for (size_t i = 0; i < other->edge_count; i++) {
		const struct hawk_fold_edge *edge = &other->edges[i];
		struct hawk_fold_edge *sum = &fold->edges[merge->edges[i]];

		sum->repeated_sources += edge->repeated_sources;
		sum->repeated_targets += edge->repeated_targets;
		sum->repeated_bytes += edge->repeated_bytes;
	}
	return NULL;
}

/* What an edge's places count more than once of a target; may be less than nothing on the way. */
static void repeat_target(struct hawk_fold_edge *edge, uint64_t times, uint64_t bytes)
{
	edge->repeated_targets += times;
	edge->repeated_bytes += times * bytes;
}

/* A place of `other` that has seen `block`. */
static void join_place(struct merge *merge, uint32_t number, uint32_t block)
{
	struct hawk_site_fold *fold = merge->fold;
	uint32_t merged = merge->places[number];
	struct hawk_fold_place *place = &fold->places[merged];
	uint64_t bytes;

	if (!hawk_site_fold_saw_place(fold, merged, block))
		return;
	bytes = hawk_block_index_left_bytes(&fold->graph->index, block);
	place->counts.targets--;
	place->counts.target_bytes -= bytes;
	repeat_target(&fold->edges[place->edge], (uint64_t)-1, bytes);
}

/* Likewise an edge. */
static void join_edge(struct merge *merge, uint32_t number, uint32_t block)
{
	struct hawk_site_fold *fold = merge->fold;
	uint32_t merged = merge->edges[number];

	if (hawk_site_fold_saw_edge(fold, merged, block))
		repeat_target(&fold->edges[merged], 1,
			      hawk_block_index_left_bytes(&fold->graph->index, block));
}

/* The first two places of a block that both have seen. */
static void join_block(struct merge *merge, uint32_t block)
{
	const struct hawk_site_fold *other = merge->other;
	struct hawk_first_places seen = other->first[block];
	uint32_t edge = other->places[seen.first - 1].edge;

	join_place(merge, seen.first - 1, block);
	join_edge(merge, edge, block);
	if (!seen.second)
		return;
	join_place(merge, seen.second - 1, block);
	if (other->places[seen.second - 1].edge != edge)
		join_edge(merge, other->places[seen.second - 1].edge, block);
}

static void join_pairs(struct merge *merge, const struct hawk_pair_set *pairs,
		       void (*join)(struct merge *merge, uint32_t number, uint32_t block))
{
	for (size_t i = 0; i < pairs->slot_count; i++)
		if (pairs->slots[i])
			join(merge, (uint32_t)(pairs->slots[i] >> 32),
			     (uint32_t)pairs->slots[i] - 1);
}

static void join_targets(struct merge *merge)
{
	const struct hawk_first_places *first = merge->fold->first;
	const struct hawk_first_places *other = merge->other->first;

	const uint64_t *shared = merge->fold->shared;
	uint32_t count = merge->fold->graph->index.count;
	uint64_t told = 0;

	for (uint32_t block = hawk_block_next_chosen(shared, 0, count); block < count;
	     block = hawk_block_next_chosen(shared, block + 1, count)) {
		if (first[block].first && other[block].first)
			join_block(merge, block);
		hawk_progress_pass(&told, block);
	}
	join_pairs(merge, &merge->other->further_places, join_place);
	join_pairs(merge, &merge->other->further_edges, join_edge);
}

struct hawk_error *hawk_site_fold_merge(struct hawk_site_fold *fold,
					const struct hawk_site_fold *other)
{
	CLEANUP(free_ptr)
	uint32_t *numbers = malloc((other->place_count + other->edge_count + 1) * sizeof(*numbers));
	struct merge merge = {
		.fold = fold,
		.other = other,
	};
	struct hawk_error *err;

	if (!numbers)
		return &hawk_enomem;
	merge.places = numbers;
	merge.edges = numbers + other->place_count;
	err = add_places(&merge);
	if (!err)
		join_targets(&merge);
	return err;
}
