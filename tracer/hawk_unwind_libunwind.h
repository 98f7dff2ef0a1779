/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walking by libunwind, for comparison: option unwind=libunwind. It is loaded, never linked, since
 * it exports _Unwind_* and would take over the host's exceptions.
 *
 * Each walk that is not hot starts over, from the tracer's own frame. Words that libunwind read for
 * a CFA are not known, so the verified reuse rests on return addresses and rbp alone, and only on
 * those that lie where the thread's stack has been proven readable.
 */
#ifndef HAWK_UNWIND_LIBUNWIND_H
#define HAWK_UNWIND_LIBUNWIND_H

#include "hawk_unwind.h"
#include "hawk_walk.h"

/**
 * Fills stack->fresh[] from the state in stack->fresh[0] outwards, `depth` frames at most, and
 * returns how many; 0: libunwind cannot be had. `range` follows the stack; `flags`: enum
 * hawk_trace_flag.
 */
uint32_t hawk_unwind_by_libunwind(struct hawk_stack *stack, struct hawk_readable_range *range,
				  uint32_t depth, uint32_t *flags);

/** Whether a fresh frame is the same as one of the previous stack, with the same outer ones. */
bool hawk_unwind_libunwind_same(const struct hawk_stack_frame *frame,
				const struct hawk_stack_frame *fresh);

/** Fills `pcs`, leaf first, HAWK_PC_EXACT set where due; 0: libunwind cannot be had. */
uint32_t hawk_unwind_pcs_by_libunwind(const struct hawk_frame_state *start, uint64_t *pcs,
				      uint32_t max, uint32_t *flags);

#endif
