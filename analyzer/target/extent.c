/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds contiguous memory in the list of mappings.
 */
#include "hawk/target/extent.h"

#include <stdlib.h>

static bool touches_next(const struct hawk_mapping *mappings, size_t count, size_t i)
{
	return i + 1 < count && mappings[i].end == mappings[i + 1].start;
}

static bool is_whole(const struct hawk_mapping *mapping)
{
	return mapping->present_bytes >= mapping->end - mapping->start;
}

static struct hawk_extent own_extent(const struct hawk_mapping *mapping)
{
	return (struct hawk_extent){
		.end = mapping->end,
		.present_end =
			is_whole(mapping) ? mapping->end : mapping->start + mapping->present_bytes,
	};
}

struct hawk_error *hawk_extents_create(const struct hawk_target *target, struct hawk_extent **ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	struct hawk_extent *extents;

	*ret = NULL;
	if (!count)
		return NULL;
	extents = calloc(count, sizeof(*extents));
	if (!extents)
		return &hawk_enomem;
	for (size_t i = count; i-- > 0;) {
		extents[i] = own_extent(&mappings[i]);
		if (!touches_next(mappings, count, i))
			continue;
		extents[i].end = extents[i + 1].end;
		if (is_whole(&mappings[i]))
			extents[i].present_end = extents[i + 1].present_end;
	}
	*ret = extents;
	return NULL;
}

/* Finds a mapping's index with hawk_target_mapping_at(); its neighbours follow in the list. */
static bool find_mapping(const struct hawk_target *target, uint64_t address,
			 const struct hawk_mapping **mappings, size_t *count, size_t *index)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, address);

	*mappings = hawk_target_mappings(target, count);
	if (!mapping)
		return false;
	*index = (size_t)(mapping - *mappings);
	return *index < *count;
}

bool hawk_extent_at(const struct hawk_target *target, uint64_t address, struct hawk_extent *ret)
{
	const struct hawk_mapping *mappings;
	size_t count;
	size_t i;

	if (!find_mapping(target, address, &mappings, &count, &i))
		return false;
	*ret = own_extent(&mappings[i]);
	for (bool whole = is_whole(&mappings[i]); touches_next(mappings, count, i);) {
		struct hawk_extent next = own_extent(&mappings[++i]);

		ret->end = next.end;
		if (whole)
			ret->present_end = next.present_end;
		whole = whole && is_whole(&mappings[i]);
	}
	return true;
}

uint64_t hawk_extent_start(const struct hawk_target *target, uint64_t address)
{
	const struct hawk_mapping *mappings;
	size_t count;
	size_t i;

	if (!find_mapping(target, address, &mappings, &count, &i))
		return address;
	while (i > 0 && touches_next(mappings, count, i - 1))
		i--;
	return mappings[i].start;
}
