/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A set of numbers below a limit: a bitmap that uses memory only where a bit was set.
 */
#ifndef HAWK_ANALYZER_BASE_NUMBER_SET_H
#define HAWK_ANALYZER_BASE_NUMBER_SET_H

#include <stdbool.h>

#include "hawk/base/area.h"

struct hawk_number_set {
	uint64_t limit;
	uint64_t count; /**< numbers in it */
	struct hawk_area bits;
};

/** Creates an empty set of numbers below `limit`, at most 2^36. Deinitialize only after success. */
static inline struct hawk_error *hawk_number_set_init(struct hawk_number_set *ret, uint64_t limit)
{
	*ret = (struct hawk_number_set){.limit = limit};
	return hawk_area_create_sparse(&ret->bits, limit / 64 * 8 + 8);
}

/** Accepts a zeroed set and leaves it zeroed. */
static inline void hawk_number_set_deinit(struct hawk_number_set *set)
{
	hawk_area_destroy(&set->bits);
	*set = (struct hawk_number_set){0};
}

/** Returns false for a zeroed set. */
static inline bool hawk_number_set_has(const struct hawk_number_set *set, uint64_t number)
{
	const uint64_t *words = set->bits.bytes;

	return number < set->limit && words[number / 64] >> number % 64 & 1;
}

/** Adds `number`, which must be below the limit and not yet in the set. */
static inline void hawk_number_set_add(struct hawk_number_set *set, uint64_t number)
{
	uint64_t *words = set->bits.bytes;

	words[number / 64] |= UINT64_C(1) << number % 64;
	set->count++;
}

/** Adds all numbers of `other`, which must have the same limit and be disjoint from `set`. */
static inline void hawk_number_set_add_all(struct hawk_number_set *set,
					   const struct hawk_number_set *other)
{
	const uint64_t *from = other->bits.bytes;
	uint64_t *words = set->bits.bytes;

	for (uint64_t i = 0; other->count && i <= set->limit / 64; i++)
		if (from[i])
			words[i] |= from[i];
	set->count += other->count;
}

#endif
