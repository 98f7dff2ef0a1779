/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The hash table of a profile's strings, frames, locations, steps and samples. At most half full.
 */
#include "parts.h"

#include <stdlib.h>

enum { FIRST_SIZE = 1024 };

struct hawk_profile_slot {
	uint32_t number; /**< 0 = free */
	uint32_t hash;
};

static bool grow(struct hawk_profile_index *index)
{
	struct hawk_profile_index bigger = {
		.size = index->size ? 2 * index->size : FIRST_SIZE,
		.used = index->used,
	};

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < index->size; i++) {
		size_t at = index->slots[i].hash & (bigger.size - 1);

		if (!index->slots[i].number)
			continue;
		while (bigger.slots[at].number)
			at = (at + 1) & (bigger.size - 1);
		bigger.slots[at] = index->slots[i];
	}
	free(index->slots);
	*index = bigger;
	return true;
}

uint32_t hawk_profile_index_find(const struct hawk_profile *profile,
				 struct hawk_profile_index *index, uint64_t hash,
				 hawk_profile_same *same, const void *key, uint32_t **slot)
{
	uint32_t half = (uint32_t)(hash >> 32);
	size_t at;

	*slot = NULL;
	if (2 * index->used >= index->size && !grow(index))
		return 0;
	for (at = half & (index->size - 1); index->slots[at].number;
	     at = (at + 1) & (index->size - 1))
		if (index->slots[at].hash == half && same(profile, index->slots[at].number, key))
			return index->slots[at].number;
	index->slots[at].hash = half;
	index->used++;
	*slot = &index->slots[at].number;
	return 0;
}

void hawk_profile_index_deinit(struct hawk_profile_index *index)
{
	free(index->slots);
	*index = (struct hawk_profile_index){0};
}
