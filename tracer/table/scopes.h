/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The scopes that a thread has open, and which of them a stack lies in.
 *
 * A scope belongs to a frame: it is known by a position on the stack, an address inside that frame,
 * and is over at the latest when the thread's stack pointer is above it. So a scope left by a jump
 * (longjmp, an exception without cleanup) never counts, although it was not closed.
 *
 * Invariant: entries at and above `depth` have no label, so that a signal handler may enter and
 * leave scopes at any instruction of this; what it leaves behind is ended by position.
 */
#ifndef HAWK_TRACER_TABLE_SCOPES_H
#define HAWK_TRACER_TABLE_SCOPES_H

#include <stdbool.h>

#include "hawk_trace_table.h"
#include "unwind/unwind.h"

enum {
	HAWK_SCOPES_DEPTH = 64, /**< most open scopes of a thread; deeper ones are dropped */
	HAWK_SCOPE_MEMO_ENTRIES = 32,
};
static_assert((int)HAWK_SCOPES_DEPTH < (int)HAWK_TRACE_MARKS_MAX, "and a type");

struct hawk_open_scope {
	uint64_t position; /**< on the stack, inside of the frame that entered it */
	uint64_t object;   /**< address of the program's object, for identity only */
	uint64_t
		frame_end; /**< canonical frame address of the frame that entered it; 0 = unknown */
	uint64_t return_address; /**< of that frame: by these two it is known again */
	uint64_t key;            /**< of this scope and all those around it */
	uint64_t start_ns;       /**< 0 = its time is not counted: it is directly within itself */
	uint32_t label;          /**< 0 = not open (yet) */
	uint32_t reserved;
};

/** A marked trace that this thread has used lately. */
struct hawk_scope_memo {
	uint64_t key; /**< 0 = empty */
	uint64_t sp;
	uint32_t base;
	uint32_t trace;
};

/** A thread's; in its slot, all zeros at first. */
struct hawk_scopes {
	uint32_t depth;
	uint32_t reserved;
	struct hawk_open_scope open[HAWK_SCOPES_DEPTH]; /**< outermost first */
	struct hawk_scope_memo memo[HAWK_SCOPE_MEMO_ENTRIES];
};

/**
 * Opens a scope in the frame of `caller`. Returns a token, not 0, or
 * 0 if there is no room (counted as dropped). `stack`: the thread's, or NULL, for what of it is
 * known to be readable. `*key` becomes the key of what is open, 0 = nothing.
 */
uint32_t hawk_scopes_enter(struct hawk_scopes *scopes, const struct hawk_stack *stack,
			   const struct hawk_frame_state *caller, uint64_t object, const char *tag,
			   size_t length, uint64_t *key);

/** Closes the scope of that object and token and all that were entered after it; ignores one that
 * is not open. */
void hawk_scopes_leave(struct hawk_scopes *scopes, uint64_t object, uint32_t token, uint64_t *key);

/** Closes everything, without a note of the time. */
void hawk_scopes_clear(struct hawk_scopes *scopes, uint64_t *key);

/**
 * The marks of the scopes that `stack` lies in, from the innermost; returns how many. NULL: the
 * stack that begins at `sp`, of which no frames are known. `placed`: frames are counted as the
 * trace has them.
 */
uint32_t hawk_scopes_marks(const struct hawk_scopes *scopes, const struct hawk_stack *stack,
			   uint64_t sp, bool placed, uint64_t *marks);

static inline struct hawk_scope_memo *hawk_scopes_memo(struct hawk_scopes *scopes, uint64_t key,
						       uint32_t base)
{
	uint64_t mix = (key ^ base) * UINT64_C(0x9e3779b97f4a7c15);

	return &scopes->memo[mix >> 59];
}
static_assert(HAWK_SCOPE_MEMO_ENTRIES == 32, "5 bits");

#endif
