/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes the heap by site from a table file's live counters alone: the blocks and bytes that each
 * site has allocated and not freed. Has no blocks, so no ages, no overhead, no graph. Internal to
 * heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_COUNTED_H
#define HAWK_ANALYZER_HEAP_COUNTED_H

#include "hawk/heap/heap.h"

/** Fills sites and the sums of blocks and bytes. `heap` has only its table. */
struct hawk_error *hawk_heap_count(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_heap *heap);

#endif
