/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Growing arrays of structs one item at a time, and binary search in them.
 */
#ifndef HAWK_ANALYZER_BASE_ARRAY_H
#define HAWK_ANALYZER_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/**
 * Makes room for one more item behind `count`. `array` is the address of the pointer to the items,
 * which changes when they move. Returns false, with nothing changed, if memory runs out.
 */
static inline bool hawk_array_reserve(void *array, size_t count, size_t *capacity,
				      size_t item_bytes)
{
	size_t more = *capacity ? 2 * *capacity : 16;
	void *items;

	if (count < *capacity)
		return true;
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, more, item_bytes);
	if (!items)
		return false;
	memcpy(array, &items, sizeof(items));
	*capacity = more;
	return true;
}

/**
 * Returns the index of the first item whose 64-bit member at `offset` is above `value`, or `count`.
 * The items are sorted by that member.
 */
static inline size_t hawk_array_first_above(const void *items, size_t count, size_t item_bytes,
					    size_t offset, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t member;

		memcpy(&member, (const char *)items + middle * item_bytes + offset, sizeof(member));
		if (member <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
