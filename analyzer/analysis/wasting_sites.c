/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds up repeated blocks by site, or by the site that holds them.
 */
#include "hawk/analysis/contents.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	const struct hawk_wasting_site *a = left, *b = right;

	if (a->blocks.bytes != b->blocks.bytes)
		return a->blocks.bytes > b->blocks.bytes ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

/* Returns the site of the block, or of the block that alone holds it; UINT32_MAX = none. */
static uint32_t site_of(const struct hawk_heap *heap, const struct hawk_dominators *dominators,
			uint32_t block)
{
	uint32_t holder;

	if (!dominators)
		return hawk_heap_site_at(heap, block);
	holder = dominators->dominators[dominators->numbers[block]];
	return holder ? hawk_heap_site_at(heap, dominators->blocks[holder]) : UINT32_MAX;
}

struct hawk_error *hawk_wasting_sites_make(const struct hawk_heap *heap,
					   const struct hawk_contents *contents,
					   const struct hawk_dominators *dominators,
					   struct hawk_wasting_sites *ret)
{
	struct hawk_wasting_sites sites = {
		.items = calloc(heap->site_count + 1, sizeof(*sites.items))};

	if (!sites.items)
		return &hawk_enomem;
	for (size_t i = 0; i < contents->group_count; i++)
		for (uint64_t j = 1; j < contents->groups[i].count; j++) {
			uint32_t block = contents->groups[i].first[j].block;
			uint32_t site = site_of(heap, dominators, block);

			hawk_chosen_add(
				&sites.items[site < heap->site_count ? site : heap->site_count]
					 .blocks,
				&heap->index, block);
		}
	for (size_t i = 0; i <= heap->site_count; i++) {
		struct hawk_wasting_site item = sites.items[i];

		item.site = i < heap->site_count ? (uint32_t)i : UINT32_MAX;
		if (item.blocks.objects)
			sites.items[sites.count++] = item;
	}
	qsort(sites.items, sites.count, sizeof(*sites.items), compare);
	*ret = sites;
	return NULL;
}

void hawk_wasting_sites_deinit(struct hawk_wasting_sites *sites)
{
	free(sites->items);
	*sites = (struct hawk_wasting_sites){0};
}
