/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Choosing and ordering sites.
 */
#include "hawk/analysis/site_list.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

/** Upper limit on the product of the counts in a regular expression, {N} and {M,N}: regcomp()
 * copies what they repeat. */
enum { REPEATS_MAX = 1000 };

enum { FOCUS, IGNORE, FUNCTION, MODULE, EXPRESSIONS };

/** The compiled expressions of a filter; those that were not given match nothing. */
struct matcher {
	const struct hawk_site_filter *filter;
	regex_t expressions[EXPRESSIONS];
	unsigned compiled; /**< bits 1 << FOCUS ... */
};

static void free_matcher(struct matcher *matcher)
{
	for (unsigned i = 0; i < EXPRESSIONS; i++)
		if (matcher->compiled >> i & 1)
			regfree(&matcher->expressions[i]);
}

/** Returns the larger number of "{N}" or "{M,N}" behind its brace, at least 1. */
static unsigned long read_count(const char *text)
{
	char *rest;
	unsigned long lower = strtoul(text, &rest, 10);
	unsigned long upper = *rest == ',' ? strtoul(rest + 1, NULL, 10) : 0;
	unsigned long count = upper > lower ? upper : lower;

	return count ? count : 1;
}

/** Returns why the expression could take the C library forever, or NULL. */
static const char *find_excess(const char *text)
{
	unsigned long product = 1;

	for (; *text; text++) {
		if (*text == '{')
			product *= read_count(text + 1);
		if (product > REPEATS_MAX)
			return "its counts multiply to more than 1000";
		if (*text == '\\' && text[1] >= '1' && text[1] <= '9')
			return "back-references are not supported";
		text += *text == '\\' && text[1];
	}
	return NULL;
}

struct hawk_error *hawk_regex_compile(const char *text, regex_t *ret)
{
	const char *excess = find_excess(text);
	char reason[256];
	int code;

	if (excess)
		return hawk_error_create(HAWK_ERROR_USAGE, "bad regular expression '%s': %s", text,
					 excess);
	code = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);

	if (!code)
		return NULL;
	regerror(code, ret, reason, sizeof(reason));
	return hawk_error_create(HAWK_ERROR_USAGE, "bad regular expression '%s': %s", text, reason);
}

static struct hawk_error *compile_all(struct matcher *matcher)
{
	const struct hawk_site_filter *filter = matcher->filter;
	const char *const texts[EXPRESSIONS] = {
		[FOCUS] = filter->focus,
		[IGNORE] = filter->ignore,
		[FUNCTION] = filter->function,
		[MODULE] = filter->module,
	};

	for (unsigned i = 0; i < EXPRESSIONS; i++) {
		struct hawk_error *err =
			texts[i] ? hawk_regex_compile(texts[i], &matcher->expressions[i]) : NULL;

		if (err)
			return err;
		matcher->compiled |= (unsigned)(texts[i] != NULL) << i;
	}
	return NULL;
}

struct hawk_error *hawk_site_filter_check(const struct hawk_site_filter *filter)
{
	struct matcher matcher = {.filter = filter};
	struct hawk_error *err = compile_all(&matcher);

	free_matcher(&matcher);
	return err;
}

static bool matches(const struct matcher *matcher, unsigned which, const char *text)
{
	return text && !regexec(&matcher->expressions[which], text, 0, NULL, 0);
}

static bool line_matches(const struct matcher *matcher, unsigned which,
			 const struct hawk_stack_line *line)
{
	if (which == FUNCTION)
		return line->kind != HAWK_LINE_SCOPE &&
		       matches(matcher, which, line->name.function);
	if (which == MODULE)
		return matches(matcher, which, line->module.path);
	return matches(matcher, which, line->name.function) ||
	       matches(matcher, which, line->name.file) ||
	       matches(matcher, which, line->module.path);
}

static bool stack_matches(const struct matcher *matcher, unsigned which,
			  const struct hawk_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		if (line_matches(matcher, which, &stack->lines[i]))
			return true;
	return which <= IGNORE && matches(matcher, which, stack->type);
}

/** Returns true if all given expressions match `stack`, except the one to ignore. */
static bool is_wanted(const struct matcher *matcher, const struct hawk_stack *stack)
{
	for (unsigned i = 0; i < EXPRESSIONS; i++)
		if (matcher->compiled >> i & 1 && stack_matches(matcher, i, stack) == (i == IGNORE))
			return false;
	return true;
}

static void select_sites(const struct matcher *matcher, const struct hawk_heap *heap,
			 struct hawk_symbols *symbols, struct hawk_stack *stack,
			 struct hawk_site_list *list)
{
	for (size_t i = 0; i < heap->site_count; i++) {
		const struct hawk_site *site = &heap->sites[i];

		/* The estimates of all others stand for it. */
		if (site->id == HAWK_SITE_NOT_SAMPLED ||
		    site->inuse_bytes < matcher->filter->min_bytes)
			continue;
		if (matcher->compiled) {
			hawk_stack_of_blocks(symbols, heap, site->trace, stack);
			if (!is_wanted(matcher, stack))
				continue;
		}
		list->sites[list->count++] = (uint32_t)i;
		list->inuse_bytes += site->inuse_bytes;
	}
}

struct hawk_error *hawk_site_list_create(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_site_filter *filter,
					 struct hawk_site_list *ret)
{
	struct hawk_site_list list = {.sites = calloc(heap->site_count + 1, sizeof(*list.sites))};
	struct matcher matcher = {.filter = filter};
	struct hawk_stack stack = {0};
	struct hawk_error *err = list.sites ? compile_all(&matcher) : &hawk_enomem;

	if (!err)
		select_sites(&matcher, heap, symbols, &stack, &list);
	hawk_stack_deinit(&stack);
	free_matcher(&matcher);
	if (err)
		hawk_site_list_deinit(&list);
	else
		*ret = list;
	return err;
}

void hawk_site_list_deinit(struct hawk_site_list *list)
{
	free(list->sites);
	*list = (struct hawk_site_list){0};
}

struct order {
	const struct hawk_site *sites;
	enum hawk_site_sort sort;
};

static uint64_t sort_key(const struct hawk_site *site, enum hawk_site_sort sort)
{
	switch (sort) {
	case HAWK_SITE_SORT_COUNT:
		return site->inuse_objects;
	case HAWK_SITE_SORT_TOTAL:
		return site->alloc_bytes;
	case HAWK_SITE_SORT_SIZE:
		break;
	}
	return site->inuse_bytes;
}

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t key_a = sort_key(&order->sites[a], order->sort);
	uint64_t key_b = sort_key(&order->sites[b], order->sort);

	if (key_a != key_b)
		return key_a > key_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

void hawk_site_list_sort(struct hawk_site_list *list, const struct hawk_heap *heap,
			 enum hawk_site_sort sort)
{
	struct order order = {heap->sites, sort};

	qsort_r(list->sites, list->count, sizeof(*list->sites), compare_sites, &order);
}

size_t hawk_site_list_nonzero(const struct hawk_site_list *list, const struct hawk_heap *heap,
			      enum hawk_site_sort sort)
{
	size_t count = 0;

	while (count < list->count && sort_key(&heap->sites[list->sites[count]], sort))
		count++;
	return count;
}

static int compare_chosen(const void *left, const void *right, void *context)
{
	const struct hawk_chosen *chosen = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (chosen[a].bytes != chosen[b].bytes)
		return chosen[a].bytes > chosen[b].bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void keep_live(struct hawk_site_list *list, const struct hawk_heap *heap,
		      const struct hawk_chosen *chosen)
{
	size_t live = 0;

	for (size_t i = 0; i < list->count; i++)
		if (hawk_chosen_of_site(heap, chosen, list->sites[i]).objects)
			list->sites[live++] = list->sites[i];
	list->count = live;
}

void hawk_site_list_choose(struct hawk_site_list *list, const struct hawk_heap *heap,
			   const struct hawk_chosen *chosen)
{
	keep_live(list, heap, chosen);
	if (!chosen)
		hawk_site_list_sort(list, heap, HAWK_SITE_SORT_SIZE);
	else if (list->count)
		qsort_r(list->sites, list->count, sizeof(*list->sites), compare_chosen,
			(void *)chosen);
}
