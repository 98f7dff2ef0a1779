/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A thread's open scopes, and those that a stack lies in.
 *
 * A scope belongs to a frame: its position is a stack address inside that frame. It is over at the
 * latest when the thread's stack pointer is above it. So a scope left by a jump (longjmp, an
 * exception without cleanup) never counts, although it was not closed.
 *
 * Invariant: entries at and above `depth` have no label, so that a signal handler may enter and
 * leave scopes at any instruction of this code. Scopes that it leaves behind end by position.
 */
#ifndef HAWK_TRACER_TABLE_SCOPES_H
#define HAWK_TRACER_TABLE_SCOPES_H

#include <stdbool.h>

#include "hawk_trace_table.h"
#include "unwind/unwind.h"

enum {
	HAWK_SCOPES_DEPTH = 64, /**< limit on a thread's open scopes; deeper ones are dropped */
	HAWK_SCOPE_MEMO_ENTRIES = 32,
};
static_assert((int)HAWK_SCOPES_DEPTH < (int)HAWK_TRACE_MARKS_MAX, "and a type");

struct hawk_open_scope {
	uint64_t position; /**< stack address inside the frame that entered it */
	uint64_t object;   /**< address of the program's object, for identity only */
	uint64_t
		frame_end; /**< canonical frame address of the frame that entered it; 0 = unknown */
	uint64_t return_address; /**< of that frame; these two identify it */
	uint64_t key;            /**< identifies this scope and all around it */
	uint64_t start_ns;       /**< 0 = time not counted: the scope is directly within itself */
	uint32_t label;          /**< 0 = not open (yet) */
	uint32_t reserved;
};

/** A marked trace that this thread used lately. */
struct hawk_scope_memo {
	uint64_t key; /**< 0 = empty */
	uint64_t sp;
	uint32_t base;
	uint32_t trace;
};

/** A thread's scopes, in its slot; all zeros at first. */
struct hawk_scopes {
	uint32_t depth;
	uint32_t reserved;
	struct hawk_open_scope open[HAWK_SCOPES_DEPTH]; /**< outermost first */
	struct hawk_scope_memo memo[HAWK_SCOPE_MEMO_ENTRIES];
};

/**
 * Opens a scope in the frame of `caller`. Returns a token other than 0, or 0 without room (counted
 * as dropped). `stack` is the thread's, or NULL; it tells which stack memory is readable. Sets
 * `*key` to the key of the open scopes, 0 = none.
 */
uint32_t hawk_scopes_enter(struct hawk_scopes *scopes, const struct hawk_stack *stack,
			   const struct hawk_frame_state *caller, uint64_t object, const char *tag,
			   size_t length, uint64_t *key);

/** Closes the scope of that object and token and all entered after it. Ignores a scope that is not
 * open. */
void hawk_scopes_leave(struct hawk_scopes *scopes, uint64_t object, uint32_t token, uint64_t *key);

/** Closes all scopes without counting their time. */
void hawk_scopes_clear(struct hawk_scopes *scopes, uint64_t *key);

/**
 * Writes the marks of the scopes that `stack` lies in, innermost first; returns their number. NULL
 * stands for the stack that begins at `sp`, with unknown frames. With `placed`, frames are counted
 * as in the trace.
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
