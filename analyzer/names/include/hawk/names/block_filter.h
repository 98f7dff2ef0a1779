/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which blocks a verb is asked about: by site, size, age, type, by functions and modules in their
 * stacks. Stacks are looked at once for each site, types only if asked for.
 */
#ifndef HAWK_ANALYZER_NAMES_BLOCK_FILTER_H
#define HAWK_ANALYZER_NAMES_BLOCK_FILTER_H

#include "hawk/analysis/block_choice.h"
#include "hawk/names/block_type.h"
#include "hawk/base/quantity.h"
#include "hawk/names/site_list.h"
#include "hawk/names/site_prefix.h"

/** What is wanted; pointers NULL = no matter. */
struct hawk_block_wish {
	const struct hawk_site_prefix *site;
	const struct hawk_range *size;        /**< requested bytes */
	const struct hawk_seconds_range *age; /**< seconds */
	const char *type;                     /**< extended regular expression */
	const char *function;                 /**< likewise, any frame */
	const char *module;
};

struct hawk_block_filter;

/** HAWK_ERROR_USAGE for a bad regular expression: to be asked before the work begins. */
struct hawk_error *hawk_block_wish_check(const struct hawk_block_wish *wish);

/** Whether every block is wanted. */
bool hawk_block_wish_is_all(const struct hawk_block_wish *wish);

/**
 * `heap` has its table and sites. Everything given is used until the destroy. HAWK_ERROR_USAGE for
 * a site that the heap does not have, or the first digits of several.
 */
struct hawk_error *hawk_block_filter_create(const struct hawk_heap *heap,
					    struct hawk_symbols *symbols,
					    struct hawk_block_types *types,
					    const struct hawk_block_wish *wish,
					    struct hawk_block_filter **ret);
/** Accepts NULL. */
void hawk_block_filter_destroy(struct hawk_block_filter *filter);

/** Whether `block` is wanted. Reads memory only if a type was asked for. */
bool hawk_block_filter_block(const struct hawk_block_filter *filter,
			     const struct hawk_block *block);

/** The same for choices of blocks. */
struct hawk_choice_wish hawk_block_filter_choice(const struct hawk_block_filter *filter);

#endif
