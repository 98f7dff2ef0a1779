/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The first of many blocks: each thread ranks a share of them. Once a ranking is full, most blocks
 * are told by size and birth alone to be behind all that is in it.
 */
#include "hawk_block_order.h"
#include "hawk_parallel.h"

enum {
	SHARES_MAX = 8,
	MOST_SHARED = 4096, /**< longer rankings are made by one thread */
};

struct share {
	const struct hawk_heap *heap;
	const uint64_t *chosen;
	uint32_t first, end;
	struct hawk_ranking ranking;
	struct hawk_error *err;
};

/* False where the arrays do not say. Within a share addresses ascend, so that of blocks that are
 * alike the later one is behind. */
static bool is_behind(const struct share *share, uint32_t number)
{
	const struct hawk_ranking *ranking = &share->ranking;
	const struct hawk_block_index *index = &share->heap->index;
	const struct hawk_block *last = ranking->items;
	uint32_t size = index->sizes[number];

	if (ranking->count < ranking->most || !ranking->count || index->part_count ||
	    size == UINT32_MAX)
		return false;
	return size < last->size ||
	       (size == last->size && index->heads && (uint8_t)index->heads[number] >= last->birth);
}

static void rank_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	const struct hawk_heap *heap = share->heap;
	struct hawk_near near = {.target = heap->target};

	for (uint32_t i = hawk_block_next_chosen(share->chosen, share->first, share->end);
	     i < share->end && !share->err;
	     i = hawk_block_next_chosen(share->chosen, i + 1, share->end)) {
		struct hawk_numbered_block item = {.number = i};

		if (is_behind(share, i) || !hawk_block_index_counts(&heap->index, i))
			continue;
		hawk_heap_next_block(heap, &near, i, &item.block);
		share->err = hawk_ranking_offer(&share->ranking, &item);
	}
}

static unsigned cut(struct share *shares, size_t most)
{
	const struct hawk_heap *heap = shares[0].heap;
	unsigned threads = most <= MOST_SHARED ? hawk_parallel_threads() : 1;
	unsigned count = threads < SHARES_MAX ? threads : SHARES_MAX;

	for (unsigned i = 0; i < count; i++) {
		shares[i] = shares[0];
		shares[i].first = (uint32_t)((uint64_t)heap->index.count * i / count);
		shares[i].end = (uint32_t)((uint64_t)heap->index.count * (i + 1) / count);
		hawk_ranking_init(&shares[i].ranking, most, sizeof(struct hawk_numbered_block),
				  hawk_block_order);
	}
	return count;
}

static struct hawk_error *join(struct share *from, struct share *to)
{
	const struct hawk_numbered_block *items = from->ranking.items;
	struct hawk_error *err = to->err ? to->err : from->err;

	for (size_t i = 0; i < from->ranking.count && !err; i++)
		err = hawk_ranking_offer(&to->ranking, &items[i]);
	hawk_ranking_deinit(&from->ranking);
	return err;
}

struct hawk_error *hawk_block_order_first(const struct hawk_heap *heap, const uint64_t *chosen,
					  size_t most, struct hawk_ranking *ret)
{
	struct share shares[SHARES_MAX] = {{.heap = heap, .chosen = chosen}};
	unsigned count = cut(shares, most);

	hawk_parallel_run(count, rank_share, shares);
	for (unsigned i = 1; i < count; i++)
		shares[0].err = join(&shares[i], &shares[0]);
	hawk_ranking_sort(&shares[0].ranking);
	*ret = shares[0].ranking;
	return shares[0].err;
}
