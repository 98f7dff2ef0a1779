/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap by site from live counters alone, of a table file: how many blocks and bytes each site
 * has allocated and not freed. No blocks, so no ages, no overhead, no graph. Internal to analysis/.
 */
#ifndef HAWK_ANALYZER_HEAP_COUNTED_H
#define HAWK_ANALYZER_HEAP_COUNTED_H

#include "hawk/heap/heap.h"

/** `heap` has its table and nothing else. Fills sites and the sums of blocks and bytes. */
struct hawk_error *hawk_heap_count(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_heap *heap);

#endif
