/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sources of profiles: sites, loss records, trees of retained memory and of paths. Sums equal those
 * that the verbs print, to the byte.
 */
#ifndef HAWK_ANALYZER_PROFILE_SOURCES_H
#define HAWK_ANALYZER_PROFILE_SOURCES_H

#include "hawk/analysis/leaks.h"
#include "hawk/analysis/site_list.h"
#include "hawk/analysis/site_tree.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"
#include "hawk/profile/profile.h"

/** Style of stacks. */
struct hawk_profile_style {
	bool plumbing; /**< from the allocator's entry on; else from the telling line on */
};

/**
 * Fills `*ret` with the sites of `list`, a sample each: allocated since start (where the heap knows
 * that), and live. Estimates of a sampled heap are entered unchanged; unless `filtered`, their
 * difference to the exact totals is under "(not sampled)".
 */
struct hawk_error *hawk_profile_of_sites(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_site_list *list, bool filtered,
					 const struct hawk_profile_style *style,
					 struct hawk_profile **ret);

/** Fills `*ret` with the lost and possibly lost records of `leaks` whose site is `chosen` (by site;
 * NULL = all), labelled with the kind. Possibly lost blocks have their own columns. */
struct hawk_error *hawk_profile_of_leaks(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					 const struct hawk_leaks *leaks, const bool *chosen,
					 const struct hawk_profile_style *style,
					 struct hawk_profile **ret);

/**
 * Fills `*ret` with a tree of retained memory or of paths, whose steps are roots and sites.
 * `columns`: names for blocks and for bytes, static. `groups` are those that the tree was made
 * with.
 */
struct hawk_error *hawk_profile_of_tree(const struct hawk_graph *graph,
					struct hawk_symbols *symbols,
					const struct hawk_tree_roots *groups,
					const struct hawk_site_tree *tree,
					const char *const columns[2], struct hawk_profile **ret);

/**
 * Fills `*ret` with `after` minus `before`, which may be negative, in the columns of `after`.
 * Leaves out addresses, which differ between processes, and lines in rebuilt modules.
 */
struct hawk_error *hawk_profile_difference(const struct hawk_profile *after,
					   const struct hawk_profile *before,
					   struct hawk_profile **ret);

#endif
