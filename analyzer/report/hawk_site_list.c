/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Choosing and ordering sites.
 */
#include "hawk_site_list.h"

#include <regex.h>
#include <stdlib.h>

#include "hawk_cleanup.h"

/** The compiled expressions of a filter; those that were not given match nothing. */
struct matcher {
	const struct hawk_site_filter *filter;
	regex_t focus, ignore, function, module;
	unsigned compiled; /**< bits in the order above */
};

enum { FOCUS = 1, IGNORE = 2, FUNCTION = 4, MODULE = 8 };

static void free_matcher(struct matcher *matcher)
{
	if (matcher->compiled & FOCUS)
		regfree(&matcher->focus);
	if (matcher->compiled & IGNORE)
		regfree(&matcher->ignore);
	if (matcher->compiled & FUNCTION)
		regfree(&matcher->function);
	if (matcher->compiled & MODULE)
		regfree(&matcher->module);
}

static struct hawk_error *compile(struct matcher *matcher, regex_t *regex, unsigned bit,
				  const char *text)
{
	char reason[256];
	int code;

	if (!text)
		return NULL;
	code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, regex, reason, sizeof(reason));
		return hawk_error_create(HAWK_ERROR_USAGE, "bad regular expression '%s': %s", text,
					 reason);
	}
	matcher->compiled |= bit;
	return NULL;
}

static struct hawk_error *compile_all(struct matcher *matcher)
{
	const struct hawk_site_filter *filter = matcher->filter;
	struct hawk_error *err = compile(matcher, &matcher->focus, FOCUS, filter->focus);

	if (!err)
		err = compile(matcher, &matcher->ignore, IGNORE, filter->ignore);
	if (!err)
		err = compile(matcher, &matcher->function, FUNCTION, filter->function);
	if (!err)
		err = compile(matcher, &matcher->module, MODULE, filter->module);
	return err;
}

struct hawk_error *hawk_site_filter_check(const struct hawk_site_filter *filter)
{
	struct matcher matcher = {.filter = filter};
	struct hawk_error *err = compile_all(&matcher);

	free_matcher(&matcher);
	return err;
}

static bool matches(const regex_t *regex, const char *text)
{
	return text && !regexec(regex, text, 0, NULL, 0);
}

static bool any_part_matches(const regex_t *regex, const struct hawk_stack_line *line)
{
	return matches(regex, line->name.function) || matches(regex, line->name.file) ||
	       matches(regex, line->module.path);
}

/** Which of the compiled expressions match a line of `stack`. */
static unsigned matching(const struct matcher *matcher, const struct hawk_stack *stack)
{
	unsigned found = 0;

	for (size_t i = 0; i < stack->count; i++) {
		const struct hawk_stack_line *line = &stack->lines[i];
		unsigned open = matcher->compiled & ~found;

		if ((open & FOCUS) && any_part_matches(&matcher->focus, line))
			found |= FOCUS;
		if ((open & IGNORE) && any_part_matches(&matcher->ignore, line))
			found |= IGNORE;
		if ((open & FUNCTION) && line->kind == HAWK_LINE_FUNCTION &&
		    matches(&matcher->function, line->name.function))
			found |= FUNCTION;
		if ((open & MODULE) && matches(&matcher->module, line->module.path))
			found |= MODULE;
	}
	if ((matcher->compiled & FOCUS) && matches(&matcher->focus, stack->type))
		found |= FOCUS;
	if ((matcher->compiled & IGNORE) && matches(&matcher->ignore, stack->type))
		found |= IGNORE;
	return found;
}

static struct hawk_error *select_sites(const struct matcher *matcher, const struct hawk_heap *heap,
				       struct hawk_symbols *symbols, struct hawk_stack *stack,
				       struct hawk_site_list *list)
{
	unsigned wanted = matcher->compiled & ~(unsigned)IGNORE;

	for (size_t i = 0; i < heap->site_count; i++) {
		const struct hawk_site *site = &heap->sites[i];

		/* The estimates of all others stand for it. */
		if (site->id == HAWK_SITE_NOT_SAMPLED ||
		    site->inuse_bytes < matcher->filter->min_bytes)
			continue;
		if (matcher->compiled) {
			struct hawk_error *err =
				hawk_stack_of_trace(symbols, heap->table, site->trace, stack);

			if (err)
				return err;
			if (matching(matcher, stack) != wanted)
				continue;
		}
		list->sites[list->count++] = (uint32_t)i;
		list->inuse_objects += site->inuse_objects;
		list->inuse_bytes += site->inuse_bytes;
		list->alloc_objects += site->alloc_objects;
		list->alloc_bytes += site->alloc_bytes;
	}
	return NULL;
}

struct hawk_error *hawk_site_list_create(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_site_filter *filter,
					 struct hawk_site_list *ret)
{
	CLEANUP(free_ptr)
	uint32_t *sites = calloc(heap->site_count + 1, sizeof(*sites));
	struct matcher matcher = {.filter = filter};
	struct hawk_site_list list = {.sites = sites};
	struct hawk_stack stack;
	struct hawk_error *err;

	if (!sites)
		return &hawk_enomem;
	hawk_stack_init(&stack);
	err = compile_all(&matcher);
	if (!err)
		err = select_sites(&matcher, heap, symbols, &stack, &list);
	hawk_stack_deinit(&stack);
	free_matcher(&matcher);
	if (err)
		return err;
	sites = NULL; // `list` owns it now
	*ret = list;
	return NULL;
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
