/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types with the sums of their blocks: a histogram of the heap.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_TYPE_LIST_H
#define HAWK_ANALYZER_ANALYSIS_TYPE_LIST_H

#include "hawk/analysis/selection.h"
#include "hawk/objects/types.h"

enum hawk_type_sort { HAWK_TYPES_BY_SIZE, HAWK_TYPES_BY_COUNT, HAWK_TYPES_BY_RETAINED };

struct hawk_type_sum {
	uint32_t type; /**< number */
	struct hawk_chosen blocks;
	uint64_t retained;     /**< requested bytes, a lower bound; 0 if not asked for */
	uint64_t oldest_units; /**< earliest birth; UINT64_MAX = none is known */
	uint64_t rank;         /**< what the list is sorted by */
};

struct hawk_type_list {
	struct hawk_type_sum *items; /**< those with blocks, in order */
	size_t count;
	struct hawk_chosen all;
	struct hawk_chosen known;   /**< of these: with a type of the program's own */
	struct hawk_chosen guessed; /**< of these: by a guess */
};

/** Adds up the blocks in `chosen` (a bit for each; NULL = all). `retained` has an entry for each
 * type, or is NULL. Needs blocks' headers where ages are known. Deinitialize after success only. */
struct hawk_error *hawk_type_list_make(const struct hawk_types *types, const uint64_t *chosen,
				       const uint64_t *retained, enum hawk_type_sort sort,
				       struct hawk_type_list *ret);

/** Accepts zeros. */
void hawk_type_list_deinit(struct hawk_type_list *list);

#endif
