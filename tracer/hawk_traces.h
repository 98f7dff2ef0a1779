/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Distinct stacks and their ids: one hash probe, full comparison on a match, delta-coded records.
 * Lock-free: a new record is written, then entered in the index with one compare-and-swap.
 */
#ifndef HAWK_TRACES_H
#define HAWK_TRACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HAWK_TRACES_WAYS = 8,           /**< stacks in a bucket of the index */
	HAWK_TRACES_TABLES_AT_ONCE = 4, /**< mapped at start-up: 340 KiB, touched as needed */
};

/** Maps the first tables of the index. False: no memory. */
bool hawk_traces_init(void);

/**
 * Frames of a stack as a function, so that both a thread's last stack and a flat list can be looked
 * up without a copy: frame `index` counted from the leaf, HAWK_PC_EXACT set where due.
 */
struct hawk_frames {
	const void *frames;
	uint64_t (*pc)(const struct hawk_frames *self, uint32_t index);
	uint32_t count;
	uint32_t flags;      /**< enum hawk_trace_flag */
	uint32_t generation; /**< of modules */
	uint32_t tail_trace; /**< trace whose outermost `tail_count` frames are the same, 0 = none
				known */
	uint32_t tail_count;
	uint64_t hash; /**< of all the frames and the generation; never 0 */
};

/** The id of the stack, a new one if it was never seen; 0 if there is no room (the caller counts it
 * as dropped). */
uint32_t hawk_traces_intern(const struct hawk_frames *frames);

#endif
