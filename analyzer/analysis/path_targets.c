/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counting the chosen blocks, and those of them that no root leads to, 64 at a time.
 */
#include "hawk/analysis/path_targets.h"

#include "hawk/analysis/block_order.h"
#include "hawk/base/cleanup.h"

static void sum_targets(const struct hawk_block_index *index, const struct hawk_paths *paths,
			const uint64_t *chosen, struct hawk_path_targets *targets)
{
	for (uint64_t first = 0; first < index->count; first += 64) {
		uint64_t bits = chosen[first / 64];

		hawk_chosen_add_64(&targets->all, index, (uint32_t)first, bits);
		hawk_chosen_add_64(&targets->unreached, index, (uint32_t)first,
				   bits & ~paths->found[first / 64]);
	}
}

/** Fills the shown blocks. */
static struct hawk_error *show_first(const struct hawk_heap *heap, const uint64_t *chosen,
				     size_t most, struct hawk_path_targets *ret)
{
	struct hawk_ranking ranking;
	struct hawk_error *err = hawk_block_order_first(heap, chosen, most, &ranking);
	const struct hawk_numbered_block *items = ranking.items;

	ret->blocks = calloc(ranking.count + 1, sizeof(*ret->blocks));
	for (; !err && ret->blocks && ret->count < ranking.count; ret->count++)
		ret->blocks[ret->count] = items[ret->count].number;
	hawk_ranking_deinit(&ranking);
	return err || ret->blocks ? err : &hawk_enomem;
}

struct hawk_error *hawk_path_targets_choose(const struct hawk_heap *heap,
					    const struct hawk_paths *paths,
					    const struct hawk_block_filter *filter, size_t most,
					    struct hawk_path_targets *ret)
{
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	struct hawk_error *err;

	*ret = (struct hawk_path_targets){0};
	err = hawk_selection_bits_make(heap, hawk_block_filter_selector(filter), true, &chosen);
	if (err)
		return err;
	sum_targets(&heap->index, paths, chosen, ret);
	return show_first(heap, chosen, most, ret);
}

struct hawk_error *hawk_path_targets_find_holders(const struct hawk_graph *graph,
						  struct hawk_path_targets *targets)
{
	uint32_t count = graph->heap->index.count;

	if (!targets->unreached.objects)
		return NULL;
	targets->holders = malloc(((size_t)count + 1) * sizeof(*targets->holders));
	if (!targets->holders)
		return &hawk_enomem;
	for (uint32_t block = 0; block < count; block++)
		targets->holders[block] = HAWK_BLOCK_NOWHERE;
	for (uint32_t source = 0; source < count; source++)
		for (uint32_t i = graph->offsets[source]; i < graph->offsets[source + 1]; i++) {
			uint32_t target = graph->edges[i] >> 1;

			if (target != source && targets->holders[target] == HAWK_BLOCK_NOWHERE)
				targets->holders[target] = source;
		}
	return NULL;
}

struct hawk_lost_way hawk_lost_way_of(const struct hawk_graph *graph,
				      const struct hawk_path_targets *targets, uint32_t block)
{
	struct hawk_lost_way way = {0};
	uint32_t last = block;
	uint32_t holder;

	while ((holder = targets->holders[last]) != HAWK_BLOCK_NOWHERE) {
		way.is_cycle = holder == block;
		for (uint32_t i = 0; i < way.count && !way.is_cycle; i++)
			if (way.steps[i].source == holder) {
				way.cycle = i + 1;
				way.is_cycle = true;
			}
		way.is_cut = !way.is_cycle && way.count == HAWK_LOST_STEPS;
		if (way.is_cycle || way.is_cut)
			break;
		hawk_referrer_between(graph, holder, last, &way.steps[way.count++]);
		last = holder;
	}
	return way;
}

void hawk_path_targets_deinit(struct hawk_path_targets *targets)
{
	free(targets->blocks);
	free(targets->holders);
}
