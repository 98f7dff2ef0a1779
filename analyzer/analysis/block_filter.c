/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filters: one byte per site, and one per type.
 */
#include "hawk/analysis/block_filter.h"

#include <stdlib.h>
#include <string.h>

struct hawk_block_filter {
	const struct hawk_heap *heap;
	const struct hawk_types *types;
	struct hawk_block_query query;
	uint8_t *sites;        /**< by index: wanted; NULL = all */
	uint8_t *wanted_types; /**< by number */
	struct hawk_selector selector;
};

static struct hawk_site_filter site_filter(const struct hawk_block_query *query)
{
	return (struct hawk_site_filter){.function = query->function, .module = query->module};
}

struct hawk_error *hawk_block_query_check(const struct hawk_block_query *query)
{
	struct hawk_site_filter sites = site_filter(query);
	struct hawk_error *err = hawk_site_filter_check(&sites);
	regex_t type;

	if (err || !query->type)
		return err;
	err = hawk_regex_compile(query->type, &type);
	if (!err)
		regfree(&type);
	return err;
}

bool hawk_block_query_is_all(const struct hawk_block_query *query)
{
	return !query->site && !query->size && !query->age && !query->type && !query->function &&
	       !query->module;
}

/** Returns false if no block of that trace is wanted, whatever its other properties. */
static bool trace_passes(const void *context, uint32_t trace)
{
	const struct hawk_block_filter *filter = context;
	const struct hawk_site *site = hawk_heap_site(filter->heap, trace);

	return site && filter->sites[site - filter->heap->sites];
}

static struct hawk_error *choose_sites(struct hawk_block_filter *filter,
				       struct hawk_symbols *symbols)
{
	const struct hawk_block_query *query = &filter->query;
	const struct hawk_heap *heap = filter->heap;
	struct hawk_site_filter wanted = site_filter(query);
	struct hawk_site_list list = {0};
	struct hawk_error *err = NULL;
	uint32_t only = 0;

	if (!query->site && !query->function && !query->module)
		return NULL;
	filter->sites = calloc(heap->site_count + 1, 1);
	if (!filter->sites)
		return &hawk_enomem;
	filter->selector.trace = trace_passes;
	if (query->function || query->module)
		err = hawk_site_list_create(heap, symbols, &wanted, &list);
	else
		memset(filter->sites, 1, heap->site_count);
	for (size_t i = 0; i < list.count; i++)
		filter->sites[list.sites[i]] = 1;
	hawk_site_list_deinit(&list);
	if (!err && query->site)
		err = hawk_site_prefix_find(heap, query->site, &only);
	for (uint32_t i = 0; !err && query->site && i < heap->site_count; i++)
		filter->sites[i] &= i == only;
	return err;
}

static bool type_passes(const void *context, uint32_t block)
{
	const struct hawk_block_filter *filter = context;

	return filter->wanted_types[hawk_types_of(filter->types, block)];
}

/* Size classes are no types. */
static bool is_wanted(const struct hawk_type *type, const regex_t *wanted)
{
	return type->origin < HAWK_TYPE_INTERNAL && !regexec(wanted, type->name, 0, NULL, 0);
}

static struct hawk_error *choose_types(struct hawk_block_filter *filter)
{
	struct hawk_error *err;
	regex_t wanted;

	if (!filter->query.type)
		return NULL;
	filter->wanted_types = calloc(filter->types->count, 1);
	if (!filter->wanted_types)
		return &hawk_enomem;
	err = hawk_regex_compile(filter->query.type, &wanted);
	if (err)
		return err;
	for (uint32_t i = 0; i < filter->types->count; i++)
		filter->wanted_types[i] = is_wanted(hawk_types_at(filter->types, i), &wanted);
	regfree(&wanted);
	filter->selector.type = type_passes;
	return NULL;
}

static void prepare_selector(struct hawk_block_filter *filter)
{
	const struct hawk_block_query *query = &filter->query;
	struct hawk_selector *selector = &filter->selector;

	selector->context = filter;
	selector->size_low = query->size ? query->size->low : 0;
	selector->size_high = query->size ? query->size->high : UINT64_MAX;
	selector->births_matter = query->age != NULL;
	for (unsigned birth = 0; birth < HAWK_BIRTHS; birth++) {
		double age = hawk_heap_age_seconds(filter->heap, hawk_birth_decode((uint8_t)birth));

		selector->births[birth] =
			!query->age || (age >= query->age->low && age <= query->age->high);
	}
}

struct hawk_error *hawk_block_filter_create(const struct hawk_heap *heap,
					    struct hawk_symbols *symbols,
					    const struct hawk_types *types,
					    const struct hawk_block_query *query,
					    struct hawk_block_filter **ret)
{
	struct hawk_block_filter *filter = calloc(1, sizeof(*filter));
	struct hawk_error *err = NULL;

	if (!filter)
		return &hawk_enomem;
	filter->heap = heap;
	filter->types = types;
	filter->query = *query;
	prepare_selector(filter);
	err = choose_types(filter);
	if (!err)
		err = choose_sites(filter, symbols);
	if (err) {
		hawk_block_filter_destroy(filter);
		return err;
	}
	*ret = filter;
	return NULL;
}

void hawk_block_filter_destroy(struct hawk_block_filter *filter)
{
	if (!filter)
		return;
	free(filter->wanted_types);
	free(filter->sites);
	free(filter);
}

const struct hawk_selector *hawk_block_filter_selector(const struct hawk_block_filter *filter)
{
	return filter ? &filter->selector : NULL;
}
