/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites folded by function, source file or module, with flat and cumulative sums, as profilers do.
 *
 * flat = allocated by the group itself: the site's innermost frame that is not plumbing lies in it.
 * cum = allocated by the group or its callees: any frame lies in it; recursion counts once per
 * stack. The caller supplies the names; strings must live until the groups are destroyed.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_GROUPS_H
#define HAWK_ANALYZER_ANALYSIS_GROUPS_H

#include "hawk/analysis/site_list.h"

enum hawk_group_by {
	HAWK_GROUP_BY_FUNCTION = 1,
	HAWK_GROUP_BY_FILE,
	HAWK_GROUP_BY_MODULE,
};

/** One line of a stack, inlined callees included; innermost first. NULL = unknown. */
struct hawk_group_frame {
	const char *function;
	const char *file;
	const char *module;
	bool plumbing; /**< only passes allocations on (hawk_stack_telling_line()) */
};

struct hawk_group_counts {
	uint64_t sites;
	uint64_t inuse_objects;
	uint64_t inuse_bytes;
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
};

void hawk_group_counts_add(struct hawk_group_counts *to, const struct hawk_group_counts *counts);

/** Returns the field that `sort` sorts by. */
uint64_t hawk_group_counts_key(const struct hawk_group_counts *counts, enum hawk_site_sort sort);

struct hawk_group {
	/**
	 * Function, file or module. NULL = unknown: then `module` says whose code it was; if that
	 * is NULL too, the stack is missing or the code lies outside every module.
	 */
	const char *name;
	const char *module; /**< of a function, or of code without a name; else NULL */
	bool own;           /**< it has a frame that is not plumbing, or only plumbing exists */
	struct hawk_group_counts flat;
	struct hawk_group_counts cum;
};

struct hawk_groups;

struct hawk_error *hawk_groups_create(enum hawk_group_by by, struct hawk_groups **ret);
/** Accepts NULL. */
void hawk_groups_destroy(struct hawk_groups *groups);

/** Adds one stack; `counts->sites` is what it counts as, usually 1. No frames: one nameless group.
 */
struct hawk_error *hawk_groups_add(struct hawk_groups *groups,
				   const struct hawk_group_frame *frames, size_t count,
				   const struct hawk_group_counts *counts);

/** Adds the stacks of all sites of `list`. */
struct hawk_error *hawk_groups_of_sites(const struct hawk_heap *heap, struct hawk_symbols *symbols,
					const struct hawk_site_list *list, enum hawk_group_by by,
					struct hawk_groups **ret);

/**
 * The groups, largest first by `sort` of flat, or of cum if `by_cum`; then by the other one, then
 * by name. Valid until the next call with `groups`.
 */
struct hawk_error *hawk_groups_sorted(struct hawk_groups *groups, enum hawk_site_sort sort,
				      bool by_cum, const struct hawk_group **ret, size_t *count);

#endif
