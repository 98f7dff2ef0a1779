/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A set of numbers below a limit, added in ascending order, then asked. It takes two bytes for each
 * number where they are few, and a bit for every number there could be where they are many: each
 * chunk of 65,536 is a sorted list or a bitmap, whichever is smaller (as in Roaring bitmaps,
 * Chambi, Lemire et al. 2016).
 */
#ifndef HAWK_NUMBER_SET_H
#define HAWK_NUMBER_SET_H

#include <stdbool.h>

#include "hawk_area.h"

enum {
	HAWK_NUMBER_CHUNK_LOG2 = 16,
	HAWK_NUMBER_BITMAP_UNITS = (1 << HAWK_NUMBER_CHUNK_LOG2) / 16,
};

struct hawk_number_set {
	uint64_t limit;
	uint64_t count;   /**< numbers in it */
	uint16_t *units;  /**< chunk after chunk; one of HAWK_NUMBER_BITMAP_UNITS is a bitmap */
	uint32_t *chunks; /**< chunk c is units[chunks[c]] .. units[chunks[c + 1] - 1] */
	uint64_t chunk;   /**< the last one that was added to */
	struct hawk_area units_area;
	struct hawk_area chunks_area;
};

/** Of numbers below `limit`, at most 2^36. To be deinitialized after success only. */
struct hawk_error *hawk_number_set_init(struct hawk_number_set *ret, uint64_t limit);

/** Accepts zeros, and leaves them behind. */
void hawk_number_set_deinit(struct hawk_number_set *set);

/** `number` must be above all that are in it, and below the limit. */
void hawk_number_set_add(struct hawk_number_set *set, uint64_t number);

/** All numbers of `other`, which must be above those of `set`, and below its limit. */
void hawk_number_set_add_all(struct hawk_number_set *set, const struct hawk_number_set *other);

/** False for a set of zeros. */
static inline bool hawk_number_set_has(const struct hawk_number_set *set, uint64_t number)
{
	uint32_t low = (uint32_t)number & ((1u << HAWK_NUMBER_CHUNK_LOG2) - 1);
	uint64_t chunk = number >> HAWK_NUMBER_CHUNK_LOG2;
	const uint16_t *units;
	uint32_t left;

	if (!set->count || number >= set->limit || chunk > set->chunk)
		return false;
	units = set->units + set->chunks[chunk];
	left = set->chunks[chunk + 1] - set->chunks[chunk];
	if (left == HAWK_NUMBER_BITMAP_UNITS)
		return units[low / 16] >> low % 16 & 1;
	while (left > 1) {
		uint32_t half = left / 2;

		units = units[half] <= low ? units + half : units;
		left -= half;
	}
	return left && *units == low;
}

#endif
