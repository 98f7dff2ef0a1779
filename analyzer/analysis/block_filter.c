/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filters: cheap tests first, one byte per site, the type last. All threads share a cache of type
 * words; each entry is one number.
 */
#include "hawk/analysis/block_filter.h"

#include <stdlib.h>
#include <string.h>

enum { MEMO = 4096 };

struct hawk_block_filter {
	const struct hawk_heap *heap;
	struct hawk_block_types *types;
	struct hawk_block_query query;
	uint8_t *sites; /**< by index: wanted; NULL = all */
	struct hawk_selector selector;
	regex_t type;        /**< compiled if `query.type`; any thread may ask */
	uint64_t memo[MEMO]; /**< words with their meanings; shared by all threads */
};

/** Meaning of a word, with a flag for arrays. The word is a multiple of 8. */
enum meaning {
	UNKNOWN = 0,
	NO_TYPE = 1,
	NOT_WANTED = 2,
	WANTED = 3,
	IN_ARRAY = 4,
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

static bool is_wanted(const struct hawk_block_filter *filter, const char *name)
{
	return !regexec(&filter->type, name, 0, NULL, 0);
}

/* `array`: IN_ARRAY or 0. */
static unsigned meaning_of(struct hawk_block_filter *filter, uint64_t word, unsigned array)
{
	uint64_t *memo = &filter->memo[(word / 8 + word / 8 / MEMO) % MEMO];
	uint64_t there = __atomic_load_n(memo, __ATOMIC_RELAXED);
	unsigned meaning;
	const char *name;

	if (!word)
		return NO_TYPE;
	if ((there & ~(uint64_t)WANTED) == (word | array))
		return there & WANTED;
	name = array ? hawk_block_type_of_array(filter->types, word)
		     : hawk_block_type_of_vtable(filter->types, word);
	meaning = !name ? NO_TYPE : is_wanted(filter, name) ? WANTED : NOT_WANTED;
	__atomic_store_n(memo, word | array | meaning, __ATOMIC_RELAXED);
	return meaning;
}

static bool type_passes(const void *context, struct hawk_near *near, const struct hawk_block *block)
{
	struct hawk_block_filter *filter = (struct hawk_block_filter *)context; // for its memo
	const char *name = hawk_block_type_name(filter->types, block->trace);
	struct hawk_type_words words;
	unsigned meaning;

	if (name)
		return is_wanted(filter, name);
	words = hawk_type_words_at(hawk_block_types_modules(filter->types), near, block->start,
				   block->size);
	meaning = meaning_of(filter, words.first, 0);
	if (meaning == NO_TYPE && block->kind == HAWK_KIND_NEW_ARRAY)
		meaning = meaning_of(filter, words.second, IN_ARRAY);
	return meaning == WANTED;
}

static struct hawk_error *prepare_types(struct hawk_block_filter *filter)
{
	struct hawk_error *err;

	if (!filter->query.type)
		return NULL;
	err = hawk_regex_compile(filter->query.type, &filter->type);
	if (err)
		filter->query.type = NULL;
	else
		filter->selector.type = type_passes;
	return err;
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
					    struct hawk_block_types *types,
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
	err = prepare_types(filter);
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
	if (filter->query.type)
		regfree(&filter->type);
	free(filter->sites);
	free(filter);
}

const struct hawk_selector *hawk_block_filter_selector(const struct hawk_block_filter *filter)
{
	return filter ? &filter->selector : NULL;
}
