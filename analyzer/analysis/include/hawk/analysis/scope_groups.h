/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites folded by the program's named scopes: memory allocated in each and still held, nested
 * scopes included. A scope's whole path identifies it: "load" within "request" differs from "load"
 * alone.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SCOPE_GROUPS_H
#define HAWK_ANALYZER_ANALYSIS_SCOPE_GROUPS_H

#include "hawk/analysis/site_list.h"
#include "hawk/heap/heap.h"
#include "hawk/base/text.h"

struct hawk_scope_group {
	uint32_t label;   /**< of the table; 0 = outside every scope */
	uint64_t entries; /**< times entered; 0 for label 0 */
	uint64_t total_ns;
	uint64_t sites;
	uint64_t inuse_objects, inuse_bytes;
	uint64_t alloc_objects, alloc_bytes;
};

/**
 * Makes one group per scope and one for all outside, summing `sites` (indices into heap->sites).
 * Sorted by `sort`, largest first, then by time and label. Caller frees.
 */
struct hawk_error *hawk_scope_groups_make(const struct hawk_heap *heap, const uint32_t *sites,
					  size_t site_count, enum hawk_site_sort sort,
					  struct hawk_scope_group **ret, size_t *count);

/**
 * Fills `labels` with the path to scope `label`, outermost first, and returns their count. Keeps
 * the innermost `max`.
 */
size_t hawk_scope_path(const struct hawk_table *table, uint32_t label, uint32_t *labels,
		       size_t max);

/** Appends "request/load". */
void hawk_scope_append_path(struct hawk_text *text, const struct hawk_table *table, uint32_t label);

enum { HAWK_SCOPE_PATH_MAX = 64 };

#endif
