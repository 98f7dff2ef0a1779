/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tops of stacks seen before, over outer frames that they share with the thread's previous stack.
 *
 * Every allocation of an interpreter changes the stack, but only its innermost frames, and to tops
 * seen a moment ago. Such a stack is not walked: the words of its own few frames are compared, then
 * those of the shared ones, in order. If all are unchanged, the id is exact. The previous stack is
 * kept.
 *
 * Invariant: an entry with a base > 0 stands on the `base` outermost frames of the previous stack
 * as they were when it was made; code that changes one of those calls hawk_tops_cut() first.
 */
#ifndef HAWK_TRACER_UNWIND_TOPS_H
#define HAWK_TRACER_UNWIND_TOPS_H

#include "unwind.h"

/** Returns the top that provably matches the stack at `start`; NULL if none is known. */
struct hawk_stack_top *hawk_tops_find(struct hawk_stack *stack,
				      const struct hawk_frame_state *start);

/**
 * Notes the stack at `start`, with id `trace`. Call after hawk_walk(). A top is remembered when
 * noted a second time.
 */
void hawk_tops_note(struct hawk_stack *stack, const struct hawk_frame_state *start,
		    const struct hawk_walk_result *walk, uint32_t trace);

/** Drops tops that share frames from index `kept` on, which are about to change. */
void hawk_tops_cut(struct hawk_stack *stack, uint32_t kept);

/** Forgets all callers: code may have been unmapped, and other code may take its addresses. */
void hawk_tops_forget_callers(void);

#endif
