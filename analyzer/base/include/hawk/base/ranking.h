/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeps the first items of a stream in some order, using memory for those only.
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

/** A qsort() comparison. If no two items compare equal, the result does not depend on the stream's
 * order. */
typedef int hawk_ranking_order(const void *left, const void *right);

struct hawk_ranking {
	void *items; /**< owned; when full, a heap with the last item on top until sorted */
	size_t count;
	size_t most;
	size_t capacity;
	size_t item_bytes;
	hawk_ranking_order *compare;
};

/** Keeps at most `most` items (may be 0); allocates as they arrive. */
void hawk_ranking_init(struct hawk_ranking *ranking, size_t most, size_t item_bytes,
		       hawk_ranking_order *compare);

/** Copies `item` if it ranks among the first so far. O(log most), nearly always O(1). */
struct hawk_error *hawk_ranking_offer(struct hawk_ranking *ranking, const void *item);

/**
 * Returns the item that a new one must precede to be kept; NULL = any is kept. Not after sorting.
 */
const void *hawk_ranking_last(const struct hawk_ranking *ranking);

/** Sorts the items; offer nothing afterwards. */
void hawk_ranking_sort(struct hawk_ranking *ranking);

/** Accepts a zeroed ranking. */
void hawk_ranking_deinit(struct hawk_ranking *ranking);

#endif
