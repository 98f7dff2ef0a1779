/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A flat stack: a list of program counters, leaf first, HAWK_PC_EXACT set where due. It is what
 * nested calls walk, and what collapse= works on; its memory is a piece of scratch.
 */
#ifndef HAWK_FLAT_H
#define HAWK_FLAT_H

#include "hawk_unwind.h"

/**
 * The table's id for the stack `pcs[0 .. walk->count-1]`, 0 if there is no room. With collapse= one
 * of every run of equal cycles is left, in place.
 */
uint32_t hawk_flat_intern(uint64_t *pcs, const struct hawk_walk_result *walk);

#endif
