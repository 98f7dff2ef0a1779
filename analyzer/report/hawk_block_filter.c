/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filters: cheap tests first, one byte for each site, the type last.
 */
#include "hawk_block_filter.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

struct hawk_block_filter {
	const struct hawk_heap *heap;
	struct hawk_block_types *types;
	struct hawk_block_wish wish;
	uint8_t *sites; /**< by index: wanted; NULL = all */
	struct hawk_choice_test test;
	regex_t type;
	bool type_compiled;
};

static struct hawk_error *compile(const char *text, regex_t *regex)
{
	char reason[256];
	int code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

	if (!code)
		return NULL;
	regerror(code, regex, reason, sizeof(reason));
	return hawk_error_create(HAWK_ERROR_USAGE, "bad regular expression '%s': %s", text, reason);
}

static struct hawk_site_filter site_filter(const struct hawk_block_wish *wish)
{
	return (struct hawk_site_filter){.function = wish->function, .module = wish->module};
}

struct hawk_error *hawk_block_wish_check(const struct hawk_block_wish *wish)
{
	struct hawk_site_filter sites = site_filter(wish);
	struct hawk_error *err = hawk_site_filter_check(&sites);
	regex_t type;

	if (err || !wish->type)
		return err;
	err = compile(wish->type, &type);
	if (!err)
		regfree(&type);
	return err;
}

bool hawk_block_wish_is_all(const struct hawk_block_wish *wish)
{
	return !wish->site && !wish->size && !wish->age && !wish->type && !wish->function &&
	       !wish->module;
}

static struct hawk_error *choose_site(struct hawk_block_filter *filter)
{
	uint32_t site;
	struct hawk_error *err = hawk_site_prefix_find(filter->heap, filter->wish.site, &site);
	uint8_t chosen;

	if (err)
		return err;
	chosen = filter->sites[site];
	memset(filter->sites, 0, filter->heap->site_count);
	filter->sites[site] = chosen;
	return NULL;
}

static struct hawk_error *choose_stacks(struct hawk_block_filter *filter,
					struct hawk_symbols *symbols)
{
	struct hawk_site_filter wanted = site_filter(&filter->wish);
	struct hawk_site_list list;
	struct hawk_error *err = hawk_site_list_create(filter->heap, symbols, &wanted, &list);

	if (err)
		return err;
	for (size_t i = 0; i < list.count; i++)
		filter->sites[list.sites[i]] = 1;
	hawk_site_list_deinit(&list);
	return NULL;
}

static struct hawk_error *choose_sites(struct hawk_block_filter *filter,
				       struct hawk_symbols *symbols)
{
	const struct hawk_block_wish *wish = &filter->wish;
	struct hawk_error *err = NULL;

	if (!wish->site && !wish->function && !wish->module)
		return NULL;
	filter->sites = calloc(filter->heap->site_count + 1, 1);
	if (!filter->sites)
		return &hawk_enomem;
	if (wish->function || wish->module)
		err = choose_stacks(filter, symbols);
	else
		memset(filter->sites, 1, filter->heap->site_count);
	return err || !wish->site ? err : choose_site(filter);
}

static void prepare_test(struct hawk_block_filter *filter)
{
	const struct hawk_block_wish *wish = &filter->wish;
	struct hawk_choice_test *test = &filter->test;

	test->size_low = wish->size ? wish->size->low : 0;
	test->size_high = wish->size ? wish->size->high : UINT64_MAX;
	test->births_matter = wish->age != NULL;
	test->decides = !wish->type;
	for (unsigned birth = 0; birth < HAWK_BIRTHS; birth++) {
		double age = filter->heap->table
				     ? hawk_heap_age_seconds(filter->heap,
							     hawk_birth_decode((uint8_t)birth))
				     : 0;

		test->births[birth] =
			!wish->age || (age >= wish->age->low && age <= wish->age->high);
	}
}

struct hawk_error *hawk_block_filter_create(const struct hawk_heap *heap,
					    struct hawk_symbols *symbols,
					    struct hawk_block_types *types,
					    const struct hawk_block_wish *wish,
					    struct hawk_block_filter **ret)
{
	struct hawk_block_filter *filter = calloc(1, sizeof(*filter));
	struct hawk_error *err = NULL;

	if (!filter)
		return &hawk_enomem;
	filter->heap = heap;
	filter->types = types;
	filter->wish = *wish;
	prepare_test(filter);
	if (wish->type) {
		err = compile(wish->type, &filter->type);
		filter->type_compiled = !err;
	}
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
	if (filter->type_compiled)
		regfree(&filter->type);
	free(filter->sites);
	free(filter);
}

bool hawk_block_filter_trace(const struct hawk_block_filter *filter, uint32_t trace)
{
	const struct hawk_site *site;

	if (!filter->sites)
		return true;
	site = hawk_heap_site(filter->heap, trace);
	return site && filter->sites[site - filter->heap->sites];
}

static struct hawk_error *type_matches(const struct hawk_block_filter *filter,
				       const struct hawk_block *block, bool *ret)
{
	const char *name;
	struct hawk_error *err = hawk_block_type(filter->types, block, &name);

	*ret = !err && name && !regexec(&filter->type, name, 0, NULL, 0);
	return err;
}

struct hawk_error *hawk_block_filter_block(const struct hawk_block_filter *filter,
					   const struct hawk_block *block, bool *ret)
{
	const struct hawk_choice_test *test = &filter->test;

	*ret = false;
	if (block->size < test->size_low || block->size > test->size_high ||
	    !test->births[block->birth])
		return NULL;
	if (!hawk_block_filter_trace(filter, block->trace))
		return NULL;
	*ret = true;
	return filter->wish.type ? type_matches(filter, block, ret) : NULL;
}

static struct hawk_error *passes(const void *context, const struct hawk_block *block, bool *ret)
{
	return hawk_block_filter_block(context, block, ret);
}

static bool trace_passes(const void *context, uint32_t trace)
{
	return hawk_block_filter_trace(context, trace);
}

struct hawk_choice_wish hawk_block_filter_choice(const struct hawk_block_filter *filter)
{
	return (struct hawk_choice_wish){
		.filter = passes,
		.trace = filter && filter->sites ? trace_passes : NULL,
		.context = filter,
		.test = filter ? &filter->test : NULL,
	};
}
