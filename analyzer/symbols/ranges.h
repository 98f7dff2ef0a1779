/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the function, unit or inlined call that covers an address. Ranges that nest or overlap are
 * cut into disjoint segments once, so that a lookup is one binary search for any file.
 *
 * Among overlapping ranges the one that starts last wins (the innermost if nested); at the same
 * start, the one of the highest rank.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_RANGES_H
#define HAWK_ANALYZER_SYMBOLS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hawk_range {
	uint64_t start, end; /**< end exclusive; empty ranges are ignored */
	uint32_t rank;
	uint32_t id; /**< for the caller */
};

/** Collects ranges, then is frozen into segments. All zeros = empty. */
struct hawk_ranges {
	struct hawk_range *items; /**< once frozen: disjoint, sorted by start */
	size_t count;
	size_t capacity;
};

void hawk_ranges_deinit(struct hawk_ranges *ranges);

/** Adds a range; returns false if memory runs out. */
bool hawk_ranges_add(struct hawk_ranges *ranges, uint64_t start, uint64_t end, uint32_t rank,
		     uint32_t id);

/** Cuts the ranges into segments: at most twice as many, in O(n log n). Returns false if memory
 * runs out. */
bool hawk_ranges_freeze(struct hawk_ranges *ranges);

/** Returns the segment that contains `address`, or NULL. Call after the freeze. */
const struct hawk_range *hawk_ranges_find(const struct hawk_ranges *ranges, uint64_t address);

/** Sets `*ret` to that segment, or returns false and sets it to the gap around `address`. */
bool hawk_ranges_around(const struct hawk_ranges *ranges, uint64_t address, struct hawk_range *ret);

#endif
