/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sorting the pointers to a block by site and offset, and counting runs of equal ones.
 */
#include "hawk/analysis/refs.h"

#include <stdlib.h>

enum { OFFSETS_MAX = 16 /**< a site with more offsets is an array: one group */ };

static int compare_sources(const void *left, const void *right, void *context)
{
	const struct hawk_graph *graph = context;
	const struct hawk_referrer *a = left;
	const struct hawk_referrer *b = right;
	uint32_t site_a = hawk_heap_site_at(graph->heap, a->source);
	uint32_t site_b = hawk_heap_site_at(graph->heap, b->source);

	if (site_a != site_b)
		return site_a < site_b ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

static int compare_groups(const void *left, const void *right)
{
	const struct hawk_refs_group *a = left;
	const struct hawk_refs_group *b = right;

	if (a->pointers != b->pointers)
		return a->pointers > b->pointers ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/** Returns true if the pointers from `start` on with the same site have too many offsets. */
static bool is_array(const struct hawk_graph *graph, const struct hawk_referrer *items,
		     size_t count)
{
	uint32_t site = hawk_heap_site_at(graph->heap, items[0].source);
	size_t offsets = 1;

	for (size_t i = 1; i < count && hawk_heap_site_at(graph->heap, items[i].source) == site;
	     i++)
		offsets += items[i].offset != items[i - 1].offset;
	return offsets > OFFSETS_MAX;
}

static void add_to_group(struct hawk_refs_group *group, const struct hawk_referrer *item)
{
	group->pointers++;
	group->interior += item->interior;
	if (item->source < group->example)
		group->example = item->source;
}

/** The items are in the order of compare_sources(). Returns the number of groups. */
static size_t make_groups(const struct hawk_graph *graph, const struct hawk_referrer *items,
			  size_t count, struct hawk_refs_group *groups)
{
	size_t used = 0;
	bool array = false;

	for (size_t i = 0; i < count; i++) {
		uint32_t site = hawk_heap_site_at(graph->heap, items[i].source);
		bool same_site = used && groups[used - 1].site == site;

		if (!same_site)
			array = is_array(graph, items + i, count - i);
		if (!same_site || (!array && groups[used - 1].offset != items[i].offset)) {
			groups[used++] = (struct hawk_refs_group){
				.site = site,
				.offset = array ? HAWK_SITE_ANYWHERE : items[i].offset,
				.example = HAWK_BLOCK_NOWHERE,
			};
		}
		add_to_group(&groups[used - 1], &items[i]);
	}
	return used;
}

/** Keeps the pointers from blocks that were asked for. */
static void keep_chosen(const uint64_t *chosen, struct hawk_refs *refs)
{
	size_t kept = refs->root_count;

	for (size_t i = refs->root_count; i < refs->list.count; i++)
		if (hawk_block_is_chosen(chosen, refs->list.items[i].source))
			refs->list.items[kept++] = refs->list.items[i];
	refs->list.count = kept;
}

struct hawk_error *hawk_refs_find(const struct hawk_graph *graph, const uint64_t *chosen,
				  uint64_t address, struct hawk_refs *ret)
{
	struct hawk_error *err;
	struct hawk_referrer *items;
	size_t count;

	*ret = (struct hawk_refs){.address = address};
	err = hawk_heap_find_block(graph->heap, address, &ret->block);
	if (!err)
		err = hawk_referrers_find(graph, ret->block, &ret->list);
	if (err)
		return err;
	while (ret->root_count < ret->list.count && ret->list.items[ret->root_count].root)
		ret->root_count++;
	keep_chosen(chosen, ret);
	ret->groups = calloc(ret->list.count + 1, sizeof(*ret->groups));
	if (!ret->groups)
		return &hawk_enomem;
	count = ret->list.count - ret->root_count;
	if (!count)
		return NULL;
	items = ret->list.items + ret->root_count;
	qsort_r(items, count, sizeof(*items), compare_sources, (void *)graph);
	ret->group_count = make_groups(graph, items, count, ret->groups);
	qsort(ret->groups, ret->group_count, sizeof(*ret->groups), compare_groups);
	return NULL;
}

void hawk_refs_deinit(struct hawk_refs *refs)
{
	hawk_referrers_deinit(&refs->list);
	free(refs->groups);
	*refs = (struct hawk_refs){0};
}
