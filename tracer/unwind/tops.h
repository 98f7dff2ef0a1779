/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tops of stacks seen before, over outer frames that they share with the thread's previous stack.
 *
 * An interpreter's every allocation changes the stack, but only its innermost frames, and to tops
 * that were there a moment ago. Such a stack is not walked: the words of its own few frames are
 * compared, then those of the shared ones, in order, and if all are what they were the id is exact.
 * The previous stack stays what it is.
 *
 * Invariant: an entry with a base > 0 stands on the `base` outermost frames of the previous stack
 * as they were when it was made; whoever changes one of those calls hawk_tops_cut() before.
 */
#ifndef HAWK_TRACER_UNWIND_TOPS_H
#define HAWK_TRACER_UNWIND_TOPS_H

#include "unwind.h"

/** The top that is, provably, the stack's that starts at `start`; NULL: none is known. */
struct hawk_stack_top *hawk_tops_find(struct hawk_stack *stack,
				      const struct hawk_frame_state *start);

/**
 * After hawk_walk(): `stack` is what starts at `start`, and `trace` is its id. Remembered when it
 * comes to this a second time.
 */
void hawk_tops_note(struct hawk_stack *stack, const struct hawk_frame_state *start,
		    const struct hawk_walk_result *walk, uint32_t trace);

/** Frames from index `kept` on are about to change. */
void hawk_tops_cut(struct hawk_stack *stack, uint32_t kept);

/** Code may have been unmapped, and other code may come to its addresses. */
void hawk_tops_forget_callers(void);

#endif
