/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks the structures of all allocators in the process, and the tracer's headers. A heap that was
 * loaded knows only the damage that its blocks met; this looks at free memory, too.
 */
#ifndef HAWK_ANALYZER_HEAP_VERIFY_H
#define HAWK_ANALYZER_HEAP_VERIFY_H

#include "hawk/heap/heap.h"

/** The allocators that are checked: those of the heap, or those below a traced one. */
struct hawk_heap_check {
	const struct hawk_heap *heap;
	struct hawk_heap below;
	bool has_below;
};

/** Finds the allocators of a loaded heap, which must outlive `ret`. Findings say what cannot be
 * checked. End it after success. */
struct hawk_error *hawk_heap_check_begin(const struct hawk_heap *heap,
					 struct hawk_findings *findings,
					 struct hawk_heap_check *ret);

/** Adds all damages to `ret`, which the caller deinitializes, also after an error. */
struct hawk_error *hawk_heap_check_damages(const struct hawk_heap_check *check,
					   struct hawk_damages *ret);

/** Returns the usable bytes of the free block that begins at `pointer`, as the program knew it;
 * 0 = none does. */
uint64_t hawk_heap_check_free_bytes(const struct hawk_heap_check *check, uint64_t pointer);

/** Finds the last live block below `address`, if it ends there but for slack. */
bool hawk_heap_block_below(const struct hawk_heap *heap, uint64_t address, uint64_t *start,
			   uint64_t *bytes);

void hawk_heap_check_end(struct hawk_heap_check *check);

#endif
