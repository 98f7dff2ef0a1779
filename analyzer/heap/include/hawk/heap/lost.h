/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The finding about live blocks whose stacks cannot be read.
 */
#ifndef HAWK_ANALYZER_HEAP_LOST_H
#define HAWK_ANALYZER_HEAP_LOST_H

#include "hawk/heap/heap.h"

/** Adds the finding "stack-lost" if `objects` is not 0. `bytes` exclude nested blocks. */
void hawk_heap_lost_report(const struct hawk_heap *heap, uint64_t objects, uint64_t bytes,
			   struct hawk_findings *findings);

#endif
