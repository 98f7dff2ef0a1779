/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filters the blocks of a query by site, size, age, type, and by functions and modules in their
 * stacks. Checks stacks once per site, types only on request.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_BLOCK_FILTER_H
#define HAWK_ANALYZER_ANALYSIS_BLOCK_FILTER_H

#include "hawk/analysis/selection.h"
#include "hawk/objects/types.h"
#include "hawk/base/quantity.h"
#include "hawk/analysis/site_list.h"
#include "hawk/names/site_prefix.h"

/** The filters; NULL = not filtered. */
struct hawk_block_query {
	const struct hawk_site_prefix *site;
	const struct hawk_range *size;        /**< requested bytes */
	const struct hawk_seconds_range *age; /**< seconds */
	const char *type;                     /**< extended regular expression */
	const char *function;                 /**< likewise, any frame */
	const char *module;
};

struct hawk_block_filter;

/** Returns HAWK_ERROR_USAGE for a bad regular expression. Call before the work begins. */
struct hawk_error *hawk_block_query_check(const struct hawk_block_query *query);

/** Returns true if no filter is set. */
bool hawk_block_query_is_all(const struct hawk_block_query *query);

/**
 * `heap` needs its table and sites; `types` may be NULL if the query has no type. All arguments
 * must outlive the filter. HAWK_ERROR_USAGE for an unknown or ambiguous site.
 */
struct hawk_error *hawk_block_filter_create(const struct hawk_heap *heap,
					    struct hawk_symbols *symbols,
					    const struct hawk_types *types,
					    const struct hawk_block_query *query,
					    struct hawk_block_filter **ret);
/** Accepts NULL. */
void hawk_block_filter_destroy(struct hawk_block_filter *filter);

/** Returns the filter in the form that choices of blocks take; NULL for NULL. */
const struct hawk_selector *hawk_block_filter_selector(const struct hawk_block_filter *filter);

#endif
