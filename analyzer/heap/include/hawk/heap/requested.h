/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How many bytes the program can have asked for, where only usable sizes are known.
 */
#ifndef HAWK_ANALYZER_HEAP_REQUESTED_H
#define HAWK_ANALYZER_HEAP_REQUESTED_H

#include <stdbool.h>
#include <stdint.h>

/** Bytes, both inclusive: more would have made a larger block, less a smaller one. The same where
 * the size is exact. */
struct hawk_requested {
	uint64_t least, most;
};

static inline bool hawk_requested_has(struct hawk_requested requested, uint64_t bytes)
{
	return bytes >= requested.least && bytes <= requested.most;
}

#endif
