/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which memory was ever written to, or still is: pages that hold anything but zeros. They count
 * against the process; the rest is reserved, and takes up no memory.
 */
#ifndef HAWK_ANALYZER_HEAP_TOUCHED_H
#define HAWK_ANALYZER_HEAP_TOUCHED_H

#include "hawk/target/target.h"

/** Adjacent pages. */
struct hawk_touched_run {
	uint64_t start, end;
	uint64_t before; /**< bytes of all runs before this one */
};

/** All touched pages of writable and of anonymous memory. */
struct hawk_touched {
	struct hawk_touched_run *runs;
	size_t count, capacity;
};

/** Reads all that memory. */
struct hawk_error *hawk_touched_make(const struct hawk_target *target, struct hawk_touched *ret);

/** Accepts zeros. */
void hawk_touched_deinit(struct hawk_touched *touched);

/** Returns the touched bytes of [start, end). */
uint64_t hawk_touched_between(const struct hawk_touched *touched, uint64_t start, uint64_t end);

/** Counts the bytes of readable pages in [start, end) that are not all zeros. */
struct hawk_error *hawk_heap_touched(const struct hawk_target *target, uint64_t start, uint64_t end,
				     uint64_t *ret);

#endif
