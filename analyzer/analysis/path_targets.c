/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counting the chosen blocks, and those of them that no root leads to, 64 at a time.
 */
#include "hawk/analysis/path_targets.h"

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
	return hawk_block_order_first(heap, chosen, most, &ret->shown);
}

void hawk_path_targets_deinit(struct hawk_path_targets *targets)
{
	hawk_ranking_deinit(&targets->shown);
}
