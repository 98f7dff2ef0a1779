/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Joins each look with those before, by site id.
 */
#include "hawk/analysis/rates.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

static int compare_ids(const void *left, const void *right)
{
	const struct hawk_rate_site *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

static bool counts_live(const struct hawk_heap *heap)
{
	return hawk_table_header(heap->table)->compatible_flags & HAWK_TABLE_LIVE_COUNTERS;
}

/** Makes the sites of one look, sorted by id. */
static struct hawk_error *look_at(const struct hawk_heap *heap, struct hawk_rate_site **ret)
{
	struct hawk_rate_site *sites = calloc(heap->site_count + 1, sizeof(*sites));
	const bool live = counts_live(heap);

	if (!sites)
		return &hawk_enomem;
	for (size_t i = 0; i < heap->site_count; i++) {
		const struct hawk_site *site = &heap->sites[i];

		sites[i].id = site->id;
		sites[i].site = (uint32_t)i;
		sites[i].now.objects = live ? site->inuse_objects : site->alloc_objects;
		sites[i].now.bytes = live ? site->inuse_bytes : site->alloc_bytes;
	}
	qsort(sites, heap->site_count, sizeof(*sites), compare_ids);
	*ret = sites;
	return NULL;
}

/** Merges the sites seen before with `count` of this look. */
static struct hawk_error *merge(const struct hawk_rates *rates, const struct hawk_rate_site *look,
				size_t count, struct hawk_rate_site **ret, size_t *ret_count)
{
	struct hawk_rate_site *all = calloc(rates->count + count + 1, sizeof(*all));
	size_t i = 0, j = 0, n = 0;

	if (!all)
		return &hawk_enomem;
	while (i < rates->count || j < count) {
		bool old = i < rates->count && (j == count || rates->sites[i].id <= look[j].id);
		bool new = j < count && (i == rates->count || look[j].id <= rates->sites[i].id);
		struct hawk_rate_site *to = &all[n++];

		if (new)
			*to = look[j++];
		else
			*to = (struct hawk_rate_site){.id = rates->sites[i].id, .site = UINT32_MAX};
		if (old) {
			to->first = rates->sites[i].first;
			to->before = rates->sites[i++].now;
		} else if (!rates->looks) {
			to->first = to->before = to->now;
		}
	}
	*ret = all;
	*ret_count = n;
	return NULL;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/** The table's totals know all frees, even where sites do not. */
static void add_totals(struct hawk_rates *rates, const struct hawk_heap *heap)
{
	const struct hawk_table_totals *totals = &heap->totals;
	struct hawk_rate_site *all = &rates->all;

	all->before = all->now;
	all->now.objects = minus(totals->alloc_objects, totals->free_objects);
	all->now.bytes = minus(totals->alloc_bytes, totals->free_bytes);
	if (!rates->looks)
		all->first = all->before = all->now;
	rates->made.objects = totals->alloc_objects;
	rates->made.bytes = totals->alloc_bytes;
}

struct hawk_error *hawk_rates_add(struct hawk_rates *rates, const struct hawk_heap *heap,
				  uint64_t now_ns)
{
	CLEANUP(free_ptr) struct hawk_rate_site *look = NULL;
	struct hawk_rate_site *all;
	size_t count;
	struct hawk_error *err = look_at(heap, &look);

	if (!err)
		err = merge(rates, look, heap->site_count, &all, &count);
	if (err)
		return err;
	free(rates->sites);
	rates->sites = all;
	rates->count = count;
	rates->live = counts_live(heap);
	add_totals(rates, heap);
	rates->before_ns = rates->looks ? rates->now_ns : now_ns;
	rates->first_ns = rates->looks ? rates->first_ns : now_ns;
	rates->now_ns = now_ns;
	rates->looks++;
	return NULL;
}

/** Most growth first, then most bytes. */
static int compare_growth(const void *left, const void *right)
{
	const struct hawk_rate_rank *a = left, *b = right;

	if (a->growth != b->growth)
		return a->growth > b->growth ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

struct hawk_error *hawk_rates_rank(const struct hawk_rates *rates, size_t most,
				   struct hawk_ranking *ret)
{
	struct hawk_error *err = NULL;

	hawk_ranking_init(ret, most, sizeof(struct hawk_rate_rank), compare_growth);
	for (size_t i = 0; i < rates->count && !err; i++) {
		const struct hawk_rate_site *site = &rates->sites[i];
		struct hawk_rate_rank rank = {
			.growth = (int64_t)(site->now.bytes - site->first.bytes),
			.bytes = site->now.bytes,
			.index = i,
		};

		if (site->site != UINT32_MAX)
			err = hawk_ranking_offer(ret, &rank);
	}
	hawk_ranking_sort(ret);
	return err;
}

double hawk_rates_per_second(const struct hawk_rates *rates, const struct hawk_rate_site *site)
{
	uint64_t ns = rates->now_ns - rates->before_ns;
	int64_t bytes = (int64_t)(site->now.bytes - site->before.bytes);

	return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

void hawk_rates_deinit(struct hawk_rates *rates)
{
	free(rates->sites);
	*rates = (struct hawk_rates){0};
}
