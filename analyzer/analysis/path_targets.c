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

void hawk_path_targets_deinit(struct hawk_path_targets *targets)
{
	free(targets->blocks);
}
