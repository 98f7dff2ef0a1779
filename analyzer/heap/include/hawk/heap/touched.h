/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which memory was ever written to, or still is: pages that hold anything but zeros.
 */
#ifndef HAWK_ANALYZER_HEAP_TOUCHED_H
#define HAWK_ANALYZER_HEAP_TOUCHED_H

#include "hawk/target/target.h"

/** Counts the bytes of readable pages in [start, end) that are not all zeros. */
struct hawk_error *hawk_heap_touched(const struct hawk_target *target, uint64_t start, uint64_t end,
				     uint64_t *ret);

#endif
