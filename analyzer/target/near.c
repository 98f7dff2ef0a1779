/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Going to another mapping, or to a page of a process. What cannot be read in place is read as
 * ever.
 */
#include "hawk_near.h"

#include "page_cache.h"

static size_t read_page(const void *context, const void *where, uint64_t page, uint8_t *to)
{
	(void)where;
	return hawk_target_read_some(context, page, to, HAWK_PAGE_BYTES);
}

void hawk_near_keep_pages(struct hawk_near *near, size_t bytes)
{
	if (hawk_target_process(near->target)->live && !near->pages)
		near->pages = hawk_page_cache_create(
			&(struct hawk_page_source){read_page, near->target}, bytes, false);
}

void hawk_near_drop_pages(struct hawk_near *near)
{
	hawk_page_cache_destroy(near->pages);
	near->pages = NULL;
}

size_t hawk_near_read_elsewhere(struct hawk_near *near, uint64_t address, void *to, size_t bytes)
{
	const struct hawk_mapping *mapping = NULL;
	const uint8_t *view = NULL;

	if (near->pages)
		return hawk_page_cache_read(near->pages, NULL, address, to, bytes);
	/* No mapping of a process is there as a whole. */
	if (!hawk_target_process(near->target)->live)
		mapping = hawk_target_mapping_at(near->target, address);
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
