/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A binary heap once full: most items of a stream rank behind its top.
 */
#include "hawk/base/ranking.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 64 };

static void *at(const struct hawk_ranking *ranking, size_t number)
{
	return (char *)ranking->items + number * ranking->item_bytes;
}

void hawk_ranking_init(struct hawk_ranking *ranking, size_t most, size_t item_bytes,
		       hawk_ranking_order *compare)
{
	assert(item_bytes <= HAWK_RANKING_ITEM_MAX);
	*ranking = (struct hawk_ranking){
		.most = most,
		.item_bytes = item_bytes,
		.compare = compare,
	};
}

static struct hawk_error *grow(struct hawk_ranking *ranking)
{
	size_t capacity = ranking->capacity ? 2 * ranking->capacity : CAPACITY_FIRST;
	void *items;

	if (capacity > ranking->most)
		capacity = ranking->most;
	items = reallocarray(ranking->items, capacity, ranking->item_bytes);
	if (!items)
		return &hawk_enomem;
	ranking->items = items;
	ranking->capacity = capacity;
	return NULL;
}

/** Puts `item` at `hole` or below; items that rank later move up. */
static void sift_down(struct hawk_ranking *ranking, size_t hole, const void *item)
{
	for (;;) {
		size_t child = 2 * hole + 1;

		if (child >= ranking->count)
			break;
		if (child + 1 < ranking->count &&
		    ranking->compare(at(ranking, child + 1), at(ranking, child)) > 0)
			child++;
		if (ranking->compare(at(ranking, child), item) <= 0)
			break;
		memcpy(at(ranking, hole), at(ranking, child), ranking->item_bytes);
		hole = child;
	}
	memcpy(at(ranking, hole), item, ranking->item_bytes);
}

static void make_heap(struct hawk_ranking *ranking)
{
	char item[HAWK_RANKING_ITEM_MAX];

	for (size_t i = ranking->count / 2; i-- > 0;) {
		memcpy(item, at(ranking, i), ranking->item_bytes);
		sift_down(ranking, i, item);
	}
}

struct hawk_error *hawk_ranking_offer(struct hawk_ranking *ranking, const void *item)
{
	struct hawk_error *err;

	if (ranking->count == ranking->most) {
		if (ranking->most && ranking->compare(item, ranking->items) < 0)
			sift_down(ranking, 0, item);
		return NULL;
	}
	if (ranking->count == ranking->capacity) {
		err = grow(ranking);
		if (err)
			return err;
	}
	memcpy(at(ranking, ranking->count++), item, ranking->item_bytes);
	if (ranking->count == ranking->most)
		make_heap(ranking);
	return NULL;
}

const void *hawk_ranking_last(const struct hawk_ranking *ranking)
{
	return ranking->most && ranking->count == ranking->most ? ranking->items : NULL;
}

void hawk_ranking_sort(struct hawk_ranking *ranking)
{
	if (ranking->count)
		qsort(ranking->items, ranking->count, ranking->item_bytes, ranking->compare);
}

void hawk_ranking_deinit(struct hawk_ranking *ranking)
{
	free(ranking->items);
	*ranking = (struct hawk_ranking){0};
}
