/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Selects and sorts the sites of a report. Looks up names only for regular expressions.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_LIST_H
#define HAWK_ANALYZER_ANALYSIS_SITE_LIST_H

#include <regex.h>

#include "hawk/analysis/selection.h"
#include "hawk/names/stack.h"

enum hawk_site_sort {
	HAWK_SITE_SORT_SIZE,  /**< inuse_bytes */
	HAWK_SITE_SORT_COUNT, /**< inuse_objects */
	HAWK_SITE_SORT_TOTAL, /**< alloc_bytes */
};

struct hawk_site_filter {
	const char *focus;  /**< keep sites with a frame whose function, file or module matches this
			       extended regular expression; NULL = all */
	const char *ignore; /**< drop sites with such a frame; NULL = none */
	const char *function; /**< as `focus`, function names only */
	const char *module;   /**< as `focus`, module paths only */
	uint64_t min_bytes;   /**< drop sites with fewer live bytes */
};

struct hawk_site_list {
	uint32_t *sites; /**< indices into hawk_heap.sites */
	size_t count;
	uint64_t inuse_bytes; /**< of all listed sites */
};

/** Compiles an extended regular expression; HAWK_ERROR_USAGE for a bad one. */
struct hawk_error *hawk_regex_compile(const char *text, regex_t *ret);

/** Returns HAWK_ERROR_USAGE for a bad regular expression. Call before the work begins. */
struct hawk_error *hawk_site_filter_check(const struct hawk_site_filter *filter);

/** HAWK_ERROR_USAGE for a bad regular expression. `symbols` may be NULL without expressions. */
struct hawk_error *hawk_site_list_create(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_site_filter *filter,
					 struct hawk_site_list *ret);
void hawk_site_list_deinit(struct hawk_site_list *list);

/** Sorts largest first; ties keep the heap's order. */
void hawk_site_list_sort(struct hawk_site_list *list, const struct hawk_heap *heap,
			 enum hawk_site_sort sort);

/** Returns how many sites of the sorted list have a nonzero key. */
size_t hawk_site_list_nonzero(const struct hawk_site_list *list, const struct hawk_heap *heap,
			      enum hawk_site_sort sort);

/** Drops sites without a block among `chosen`, by site (NULL = all live blocks); sorts by the bytes
 * of these blocks, most first. */
void hawk_site_list_choose(struct hawk_site_list *list, const struct hawk_heap *heap,
			   const struct hawk_chosen *chosen);

#endif
