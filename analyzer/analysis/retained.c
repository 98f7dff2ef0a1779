/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranking sites and blocks by what would be freed with them.
 */
#include "hawk/analysis/retained.h"

#include <stdlib.h>

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct hawk_site_retained *retained = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (retained[a].all_pointers != retained[b].all_pointers)
		return retained[a].all_pointers > retained[b].all_pointers ? -1 : 1;
	if (retained[a].start_pointers != retained[b].start_pointers)
		return retained[a].start_pointers > retained[b].start_pointers ? -1 : 1;
	return a < b ? -1 : a > b;
}

void hawk_retained_sort(const struct hawk_heap *heap, const struct hawk_chosen *chosen,
			const struct hawk_site_retained *retained, struct hawk_site_list *list)
{
	hawk_site_list_keep_live(list, heap, chosen);
	if (list->count)
		qsort_r(list->sites, list->count, sizeof(*list->sites), compare_sites,
			(void *)(uintptr_t)retained);
}

/** Most retained first; then by address. */
static int compare_blocks(const void *left, const void *right)
{
	const struct hawk_retained_block *a = left;
	const struct hawk_retained_block *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static struct hawk_error *offer(const struct hawk_block_index *index,
				const struct hawk_dominators *dominators, uint32_t block,
				struct hawk_ranking *shown)
{
	struct hawk_retained_block item = {
		.block = block,
		.bytes = hawk_dominators_retained(dominators, index, block),
	};

	return hawk_ranking_offer(shown, &item);
}

/** Whole blocks by their numbers among dominators; nearly all retain too little to be looked at. */
static struct hawk_error *rank(const struct hawk_block_index *index,
			       const struct hawk_dominators *dominators, const uint64_t *chosen,
			       struct hawk_ranking *shown)
{
	const struct hawk_retained_block *last;
	struct hawk_error *err = NULL;
	uint64_t least = 0;

	for (uint32_t i = 1; i <= dominators->count && !err; i++) {
		struct hawk_retained_block item = {dominators->blocks[i], dominators->retained[i]};

		if (item.bytes < least || !hawk_block_is_chosen(chosen, item.block) ||
		    (index->part_count && hawk_block_index_part(index, item.block)))
			continue;
		err = hawk_ranking_offer(shown, &item);
		last = hawk_ranking_last(shown);
		least = last ? last->bytes : 0;
	}
	/* Of carved blocks several numbers count. */
	for (size_t i = 0; i < index->part_count && !err; i++)
		if (index->parts[i].previous == HAWK_BLOCK_NOWHERE &&
		    hawk_block_is_chosen(chosen, index->parts[i].number))
			err = offer(index, dominators, index->parts[i].number, shown);
	return err;
}

struct hawk_error *hawk_retained_blocks_choose(const struct hawk_heap *heap,
					       const struct hawk_dominators *dominators,
					       const struct hawk_block_filter *filter, size_t most,
					       struct hawk_retained_blocks *ret)
{
	struct hawk_selector selector = hawk_block_filter_selector(filter);
	struct hawk_selection selection = {0};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_retained_blocks){0};
	hawk_ranking_init(&ret->shown, most, sizeof(struct hawk_retained_block), compare_blocks);
	if (filter)
		err = hawk_selection_make(heap, &selector, &selection);
	else
		ret->count = hawk_block_index_block_count(&heap->index);
	if (selection.sites)
		ret->count = hawk_chosen_sum(heap, selection.sites).objects;
	if (!err)
		err = rank(&heap->index, dominators, selection.blocks, &ret->shown);
	hawk_selection_deinit(&selection);
	hawk_ranking_sort(&ret->shown);
	return err;
}

void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks)
{
	hawk_ranking_deinit(&blocks->shown);
}
