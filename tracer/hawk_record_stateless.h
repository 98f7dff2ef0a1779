/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recording for nested and gone callers (hawk_threads.h): no per-thread state, counters go straight
 * into the trace's record.
 */
#ifndef HAWK_RECORD_STATELESS_H
#define HAWK_RECORD_STATELESS_H

#include "hawk_record.h"

/** As hawk_record_block(), which calls it. */
void *hawk_record_stateless(const struct hawk_frame_state *caller, struct hawk_new_block block);

/**
 * The table's id for a flat stack, `pcs[0 .. walk->count-1]`: program counters, leaf first,
 * HAWK_PC_EXACT set where due. 0 if there is no room. With collapse= one of every run of equal
 * cycles is left, in place.
 */
uint32_t hawk_flat_intern(uint64_t *pcs, const struct hawk_walk_result *walk);

#endif
