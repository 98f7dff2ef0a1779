/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The first of a stream of items by an order, in memory for these alone, however long the stream
 * is.
 *
 *     hawk_ranking_init(&ranking, 10, sizeof(struct item), compare_items);
 *     for each item: err = hawk_ranking_offer(&ranking, &item);
 *     hawk_ranking_sort(&ranking);                   // ranking.items, the first one first
 *     hawk_ranking_deinit(&ranking);
 */
#ifndef HAWK_ANALYZER_BASE_RANKING_H
#define HAWK_ANALYZER_BASE_RANKING_H

#include <stddef.h>

#include "hawk/base/error.h"

enum { HAWK_RANKING_ITEM_MAX = 32 }; /**< bytes of an item */

/** As of qsort(). What comes out is the same for every order of the stream if no two items are
 * equal. */
typedef int hawk_ranking_order(const void *left, const void *right);

struct hawk_ranking {
	void *items; /**< owned; while items are offered a heap with the last one on top, if full */
	size_t count;
	size_t most;
	size_t capacity;
	size_t item_bytes;
	hawk_ranking_order *compare;
};

/** Of at most `most` items, which may be none; memory is taken as they come. */
void hawk_ranking_init(struct hawk_ranking *ranking, size_t most, size_t item_bytes,
		       hawk_ranking_order *compare);

/** Copies `item` if it is one of the first so far. O(log most), and nearly always O(1). */
struct hawk_error *hawk_ranking_offer(struct hawk_ranking *ranking, const void *item);

/** The item that the next one must come before, while items are offered; NULL = it need not. */
const void *hawk_ranking_last(const struct hawk_ranking *ranking);

/** Puts the items into their order; nothing is to be offered then. */
void hawk_ranking_sort(struct hawk_ranking *ranking);

/** Accepts a ranking of zeros. */
void hawk_ranking_deinit(struct hawk_ranking *ranking);

#endif
