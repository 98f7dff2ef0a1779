/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A stack as libunwind sees it, in the own walker's terms.
 */
#include "hawk_unwind_libunwind.h"

#include "hawk_libunwind.h"
#include "hawk_trace_table.h"
#include "hawk_unwind_full.h"

enum {
	STEPS_MAX = HAWK_STACK_FRAMES + 64, /**< the stack's frames and the tracer's own */
};

bool hawk_unwind_load_libunwind(void)
{
	return hawk_libunwind_load();
}

/** A walk in progress. */
struct cursor {
	struct hawk_libunwind *unw;
	const struct hawk_frame_state *start;
	struct hawk_readable_range *range; /**< of the stack at hand */
	/** Where the frames go: one of the two. */
	struct hawk_stack_frame *frames;
	uint64_t *pcs;
	uint32_t max;
	uint32_t count;
	uint32_t flags;
	bool exact; /**< the frame at hand was interrupted */
};

static bool read_state(const struct cursor *cursor, struct hawk_frame_state *ret)
{
	return hawk_libunwind_get(cursor->unw, HAWK_CFI_RIP, &ret->pc) &&
	       hawk_libunwind_get(cursor->unw, HAWK_CFI_RSP, &ret->sp) &&
	       hawk_libunwind_get(cursor->unw, HAWK_CFI_RBP, &ret->bp);
}

/** unw_is_signal_frame() means this frame in some versions and the next in others. */
static bool is_signal_frame(uint64_t pc, bool exact)
{
	uint32_t rule = hawk_rules_lookup(pc, exact);

	if (!rule)
		rule = hawk_rules_make(pc, exact);
	return hawk_rule_kind(rule) == HAWK_RULE_SIGNAL;
}

/** Steps and fills `ret`, which holds the frame at hand if it has been one of ours. */
static enum hawk_step step(struct cursor *cursor, struct hawk_frame_state *ret)
{
	bool signal = ret->pc && is_signal_frame(ret->pc, cursor->exact);
	int result = hawk_libunwind_step(cursor->unw);

	if (result < 0 || (result > 0 && !read_state(cursor, ret)))
		return HAWK_STEP_STUCK;
	if (result == 0 || !ret->pc)
		return HAWK_STEP_OUTERMOST;
	cursor->exact = signal;
	return HAWK_STEP_NEXT;
}

/** Steps from the tracer's own frame to the one that asked. */
static bool find_start(struct cursor *cursor)
{
	struct hawk_frame_state state = {0};

	if (!hawk_libunwind_start(cursor->unw))
		return false;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (step(cursor, &state) != HAWK_STEP_NEXT)
			return false;
		if (state.pc == cursor->start->pc && state.sp == cursor->start->sp)
			return true;
	}
	return false;
}

static void put(struct cursor *cursor, const struct hawk_frame_state *state)
{
	if (cursor->pcs)
		cursor->pcs[cursor->count] = state->pc | (cursor->exact ? HAWK_PC_EXACT : 0);
	else
		cursor->frames[cursor->count] = (struct hawk_stack_frame){
			.state = *state, .exact = cursor->exact, .uses_bp = 1};
	cursor->count++;
}

/** Whether words can prove a frame that was found from these. */
static bool are_on_stack(struct cursor *cursor, const struct hawk_stack_frame *frame,
			 uint64_t return_slot, uint64_t bp_slot)
{
	uint64_t word;

	return return_slot - frame->state.sp < HAWK_WALK_FRAME_BYTES_MAX &&
	       hawk_walk_read(cursor->range, return_slot, &word) &&
	       (!bp_slot || (bp_slot - frame->state.sp < HAWK_WALK_FRAME_BYTES_MAX &&
			     hawk_walk_read(cursor->range, bp_slot, &word)));
}

/** How libunwind came from `frame` to the one at hand. */
static void note_step(struct cursor *cursor, struct hawk_stack_frame *frame)
{
	uint64_t return_slot = hawk_libunwind_slot(cursor->unw, HAWK_CFI_RIP);
	uint64_t bp_slot = hawk_libunwind_slot(cursor->unw, HAWK_CFI_RBP);

	/* Saved further in: this frame has left it as it was. */
	if (bp_slot < frame->state.sp)
		bp_slot = 0;
	/* The sp that a signal interrupted is a word that nobody names: it is walked again. */
	if (cursor->exact || !are_on_stack(cursor, frame, return_slot, bp_slot)) {
		frame->unproven = HAWK_UNPROVEN_STEP;
		return;
	}
	frame->bp_slot = bp_slot;
	frame->return_offset = (uint32_t)(return_slot - frame->state.sp + 8);
}

/** An end that is a return address of 0 may be one by chance. */
static void note_end(struct cursor *cursor)
{
	uint64_t return_slot = hawk_libunwind_slot(cursor->unw, HAWK_CFI_RIP), word;
	struct hawk_stack_frame *frame;

	if (!cursor->frames || !return_slot)
		return;
	frame = &cursor->frames[cursor->count - 1];
	if (are_on_stack(cursor, frame, return_slot, 0) &&
	    hawk_walk_read(cursor->range, return_slot, &word) && !word)
		frame->return_offset = (uint32_t)(return_slot - frame->state.sp + 8);
}

static void walk(struct hawk_libunwind *unw, void *data)
{
	struct cursor *cursor = data;
	struct hawk_frame_state state = *cursor->start;

	cursor->unw = unw;
	cursor->flags = HAWK_TRACE_INCOMPLETE;
	if (!find_start(cursor)) {
		put(cursor, &state);
		return;
	}
	cursor->exact = false;
	for (;;) {
		enum hawk_step result;

		put(cursor, &state);
		result = step(cursor, &state);
		if (result == HAWK_STEP_OUTERMOST) {
			cursor->flags = 0;
			note_end(cursor);
		}
		if (result != HAWK_STEP_NEXT)
			return;
		if (cursor->count == cursor->max) {
			cursor->flags = HAWK_TRACE_TRUNCATED;
			return;
		}
		if (!cursor->frames)
			continue;
		note_step(cursor, &cursor->frames[cursor->count - 1]);
		hawk_walk_enter_stack(cursor->range, state.sp);
	}
}

/* Not inlined: this frame is where libunwind begins. */
static __attribute__((noinline)) void walk_from_here(struct cursor *cursor)
{
	uint64_t registers[HAWK_CFI_REGISTERS] = {0};

	HAWK_CAPTURE_REGISTERS(registers);
	hawk_libunwind_run(registers, walk, cursor);
}

uint32_t hawk_unwind_by_libunwind(struct hawk_stack *stack, struct hawk_readable_range *range,
				  uint32_t depth, uint32_t *flags)
{
	struct hawk_frame_state start = stack->fresh[0].state;
	struct cursor cursor = {
		.start = &start, .range = range, .frames = stack->fresh, .max = depth};

	walk_from_here(&cursor);
	*flags = cursor.flags;
	return cursor.count;
}

bool hawk_unwind_libunwind_same(const struct hawk_stack_frame *frame,
				const struct hawk_stack_frame *fresh)
{
	return frame->state.pc == fresh->state.pc && frame->state.sp == fresh->state.sp &&
	       frame->state.bp == fresh->state.bp && frame->exact == fresh->exact &&
	       frame->return_offset == fresh->return_offset && frame->bp_slot == fresh->bp_slot;
}

uint32_t hawk_unwind_pcs_by_libunwind(const struct hawk_frame_state *start, uint64_t *pcs,
				      uint32_t max, uint32_t *flags)
{
	struct cursor cursor = {.start = start, .pcs = pcs, .max = max};

	walk_from_here(&cursor);
	*flags = cursor.flags;
	return cursor.count;
}
