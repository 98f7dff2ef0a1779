/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walking the whole stack with nothing remembered but the caller's list of program counters.
 */
#include "hawk_trace_table.h"
#include "hawk_walk.h"

static uint64_t pc_of(const struct hawk_stack_frame *frame)
{
	return frame->state.pc | (frame->exact ? HAWK_PC_EXACT : 0);
}

/** Fills `pcs` and returns how many. */
static uint32_t walk_by_rules(const struct hawk_frame_state *start, uint64_t *pcs, uint32_t max,
			      uint32_t *flags)
{
	struct hawk_stack_frame frames[2];
	struct hawk_readable_range range = {0};
	uint32_t count = 0, guessed = 0;
	enum hawk_step step;

	frames[0].state = *start;
	frames[0].exact = 0;
	hawk_walk_enter_stack(&range, start->sp);
	do {
		struct hawk_stack_frame *frame = &frames[count & 1];

		pcs[count++] = pc_of(frame);
		step = hawk_walk_step_out(&range, frame, &frames[count & 1]);
		if (frame->guessed && count < max)
			guessed = HAWK_TRACE_GUESSED;
	} while (step == HAWK_STEP_NEXT && count < max);
	*flags = step == HAWK_STEP_OUTERMOST ? 0
		 : step == HAWK_STEP_STUCK   ? HAWK_TRACE_INCOMPLETE
					     : HAWK_TRACE_TRUNCATED;
	*flags |= guessed;
	return count;
}

static struct hawk_walk_hash hash_of(const uint64_t *pcs, uint32_t count, uint32_t generation)
{
	struct hawk_walk_hash hash = hawk_walk_hash_seed(generation);

	while (count-- > 0)
		hash = hawk_walk_hash_mix(hash, pcs[count] & ~HAWK_PC_EXACT,
					  pcs[count] & HAWK_PC_EXACT);
	return hash;
}

void hawk_walk_stateless(const struct hawk_frame_state *start, uint64_t *pcs, uint32_t max,
			 struct hawk_walk_result *ret)
{
	uint32_t flags = HAWK_TRACE_INCOMPLETE;
	struct hawk_walk_hash hash;
	uint32_t count = 0;

	if (max > hawk_unwind_options.depth)
		max = hawk_unwind_options.depth;
	if (max && hawk_rules_table && start->pc - HAWK_PC_MIN < HAWK_PC_END - HAWK_PC_MIN &&
	    !(start->sp & 7)) {
		if (hawk_unwind_options.mode == HAWK_UNWIND_LIBUNWIND)
			count = hawk_libunwind_walk(start, pcs, max, &flags);
		if (!count)
			count = walk_by_rules(start, pcs, max, &flags);
	}
	/* After the walk, which may have found new modules. */
	ret->generation = hawk_modules_generation();
	hash = hash_of(pcs, count, ret->generation);
	ret->hash = count && hash.hash ? hash.hash : 1;
	ret->check = count ? hash.check : 0;
	ret->count = count;
	ret->kept = 0;
	ret->flags = flags;
}
