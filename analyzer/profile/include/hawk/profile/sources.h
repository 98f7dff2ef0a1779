/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What profiles are made from: sites, loss records, trees of retained memory and of paths. Sums
 * equal those that the verbs print, to the byte.
 */
#ifndef HAWK_ANALYZER_PROFILE_SOURCES_H
#define HAWK_ANALYZER_PROFILE_SOURCES_H

#include "hawk/analysis/leaks.h"
#include "hawk/analysis/site_list.h"
#include "hawk/analysis/site_tree.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"
#include "hawk/profile/profile.h"

/** How stacks are told. */
struct hawk_profile_style {
	bool plumbing; /**< from the allocator's entry on; else from the telling line on */
};

/**
 * Fills `*ret` with the sites of `list`, a sample each: allocated since start (where the heap knows
 * that), and live. Estimates of a sampled heap are put in as they are; unless `filtered`, what they
 * lack to the exact totals is under "(not sampled)".
 */
struct hawk_error *hawk_profile_of_sites(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_site_list *list, bool filtered,
					 const struct hawk_profile_style *style,
					 struct hawk_profile **ret);

/** Fills `*ret` with the records of `leaks` whose kind is in `kinds` (bits 1u << enum
 * hawk_reach_kind), labelled with it. */
struct hawk_error *hawk_profile_of_leaks(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_leaks *leaks, unsigned kinds,
					 const struct hawk_profile_style *style,
					 struct hawk_profile **ret);

#endif
