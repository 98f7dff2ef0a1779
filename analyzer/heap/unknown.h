/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks made before a heap is called empty.
 */
#ifndef HAWK_ANALYZER_HEAP_UNKNOWN_H
#define HAWK_ANALYZER_HEAP_UNKNOWN_H

#include "hawk/heap/heap.h"

/** Returns the reason why no heap was found. `findings` are those of opening the target and of the
 * search; may be NULL. */
enum hawk_heap_unknown hawk_heap_unknown_why(const struct hawk_target *target,
					     const struct hawk_findings *findings);

/** Returns true if writable memory that may hold blocks is missing. */
bool hawk_heap_lacks_memory(const struct hawk_target *target, const struct hawk_findings *findings);

#endif
