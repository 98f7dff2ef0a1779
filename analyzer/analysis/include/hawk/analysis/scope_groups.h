/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites folded by the scopes that the program has named: what was allocated and is still held
 * within each, scopes inside of it included. A scope is named by its whole path: "load" within
 * "request" is another one than "load" alone.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SCOPE_GROUPS_H
#define HAWK_ANALYZER_ANALYSIS_SCOPE_GROUPS_H

#include "hawk/analysis/groups.h"
#include "hawk/heap/sites.h"
#include "hawk/base/text.h"

struct hawk_scope_group {
	uint32_t label;   /**< of the table; 0 = outside of every scope */
	uint64_t entries; /**< times entered; 0 of label 0 */
	uint64_t total_ns;
	struct hawk_group_counts counts;
};

/**
 * One group for every scope and for what lies outside of all, `sites` (indices into heap->sites)
 * added up. Those by key of `sort`, largest first, then by time and label. Caller frees.
 */
struct hawk_error *hawk_scope_groups_make(const struct hawk_heap *heap, const uint32_t *sites,
					  size_t site_count, enum hawk_group_sort sort,
					  struct hawk_scope_group **ret, size_t *count);

/** Labels of the path to scope `label`, outermost first; how many, at most `max` (the innermost).
 */
size_t hawk_scope_path(const struct hawk_table *table, uint32_t label, uint32_t *labels,
		       size_t max);

/** "request/load" */
void hawk_scope_append_path(struct hawk_text *text, const struct hawk_table *table, uint32_t label);

enum { HAWK_SCOPE_PATH_MAX = 64 };

#endif
