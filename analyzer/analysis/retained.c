/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranking sites and blocks by what would be freed with them.
 */
#include "hawk/analysis/retained.h"

#include <stdlib.h>

enum { EXACT_MAX = 100 };

static int compare_sites(const void *left, const void *right)
{
	const struct hawk_retained_site *a = left, *b = right;

	if (a->retained != b->retained)
		return a->retained > b->retained ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static void sort_sites(struct hawk_retained_sites *sites)
{
	if (sites->count)
		qsort(sites->items, sites->count, sizeof(*sites->items), compare_sites);
}

/** Replaces the lower bounds of the first sites. */
static struct hawk_error *find_exact(const struct hawk_graph *graph, const uint64_t *blocks,
				     size_t exact, struct hawk_retained_sites *sites)
{
	uint64_t freed[EXACT_MAX];
	uint32_t numbers[EXACT_MAX] = {0};
	struct hawk_error *err;
	size_t count = 0;

	for (; count < sites->count && count < exact && count < EXACT_MAX; count++)
		numbers[count] = sites->items[count].site;
	err = hawk_site_freed(graph, blocks, numbers, count, freed);
	for (size_t i = 0; !err && i < count; i++) {
		sites->items[i].retained = freed[i];
		sites->items[i].exact = true;
	}
	return err;
}

struct hawk_error *hawk_retained_sites_make(const struct hawk_graph *graph,
					    const struct hawk_selection *selection,
					    const struct hawk_site_list *list,
					    const uint64_t *bounds, size_t exact,
					    struct hawk_retained_sites *ret)
{
	struct hawk_retained_sites sites = {calloc(list->count + 1, sizeof(*sites.items)), 0};
	struct hawk_error *err;

	if (!sites.items)
		return &hawk_enomem;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t site = list->sites[i];
		struct hawk_retained_site *item = &sites.items[sites.count];

		*item = (struct hawk_retained_site){site, false, bounds[site], {0}};
		item->blocks = hawk_chosen_of_site(graph->heap, selection->sites, site);
		sites.count += item->blocks.objects > 0;
	}
	sort_sites(&sites);
	err = find_exact(graph, selection->blocks, exact, &sites);
	if (err) {
		hawk_retained_sites_deinit(&sites);
		return err;
	}
	sort_sites(&sites);
	*ret = sites;
	return NULL;
}

void hawk_retained_sites_deinit(struct hawk_retained_sites *sites)
{
	free(sites->items);
	*sites = (struct hawk_retained_sites){0};
}

/** Most retained first; then by address. */
static int compare_blocks(const void *left, const void *right)
{
	const struct hawk_retained_block *a = left;
	const struct hawk_retained_block *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

/** Blocks by their numbers among dominators; nearly all retain too little to be looked at. */
static struct hawk_error *rank(const struct hawk_dominators *dominators, const uint64_t *chosen,
			       struct hawk_ranking *shown)
{
	const struct hawk_retained_block *last;
	struct hawk_error *err = NULL;
	uint64_t least = 0;

	for (uint32_t i = 1; i <= dominators->count && !err; i++) {
		struct hawk_retained_block item = {dominators->blocks[i], dominators->retained[i]};

		if (item.bytes < least || !hawk_block_is_chosen(chosen, item.block))
			continue;
		err = hawk_ranking_offer(shown, &item);
		last = hawk_ranking_last(shown);
		least = last ? last->bytes : 0;
	}
	return err;
}

struct hawk_error *hawk_retained_blocks_choose(const struct hawk_heap *heap,
					       const struct hawk_dominators *dominators,
					       const struct hawk_selection *selection, size_t most,
					       struct hawk_retained_blocks *ret)
{
	struct hawk_error *err;

	*ret = (struct hawk_retained_blocks){
		.count = selection->sites ? hawk_chosen_sum(heap, selection->sites).objects
					  : heap->index.count,
	};
	hawk_ranking_init(&ret->shown, most, sizeof(struct hawk_retained_block), compare_blocks);
	err = rank(dominators, selection->blocks, &ret->shown);
	hawk_ranking_sort(&ret->shown);
	return err;
}

void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks)
{
	hawk_ranking_deinit(&blocks->shown);
}
