/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The order of blocks. Codes of births ascend with time. Once a ranking is full, size and birth
 * alone reject most blocks.
 */
#include "hawk/analysis/block_order.h"

int hawk_block_order(const void *left, const void *right)
{
	const struct hawk_block *a = left;
	const struct hawk_block *b = right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->birth != b->birth)
		return a->birth < b->birth ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Returns false if the arrays do not decide. Addresses ascend, so the later of two equal blocks
 * ranks behind. */
static bool is_behind(const struct hawk_ranking *ranking, const struct hawk_block_index *index,
		      uint32_t number)
{
	const struct hawk_block *last = ranking->items;
	uint32_t size = index->sizes[number];

	if (ranking->count < ranking->most || !ranking->count || size == UINT32_MAX)
		return false;
	return size < last->size ||
	       (size == last->size && index->heads && (uint8_t)index->heads[number] >= last->birth);
}

struct hawk_error *hawk_block_order_first(const struct hawk_heap *heap, const uint64_t *chosen,
					  size_t most, struct hawk_ranking *ret)
{
	const struct hawk_block_index *index = &heap->index;
	struct hawk_near near = {.target = heap->target};
	struct hawk_error *err = NULL;

	hawk_ranking_init(ret, most, sizeof(struct hawk_numbered_block), hawk_block_order);
	for (uint32_t i = hawk_block_next_chosen(chosen, 0, index->count); i < index->count && !err;
	     i = hawk_block_next_chosen(chosen, i + 1, index->count)) {
		struct hawk_numbered_block item = {.number = i};

		if (is_behind(ret, index, i))
			continue;
		hawk_heap_next_block(heap, &near, i, &item.block);
		err = hawk_ranking_offer(ret, &item);
	}
	hawk_ranking_sort(ret);
	return err;
}
