/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Going to another mapping. What cannot be read in place is read as ever.
 */
#include "hawk_near.h"

size_t hawk_near_read_elsewhere(struct hawk_near *near, uint64_t address, void *to, size_t bytes)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(near->target, address);
	const uint8_t *view = NULL;

	if (mapping && mapping->present_bytes)
		view = hawk_target_view(near->target, mapping->start,
					(size_t)mapping->present_bytes);
	if (view) {
		near->bytes = view;
		near->start = mapping->start;
		near->end = mapping->start + mapping->present_bytes;
	}
	return hawk_target_read_some(near->target, address, to, bytes);
}
