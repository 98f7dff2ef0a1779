/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libunwind's local unwinding through four functions found by name. Its types are spelled out here:
 * building the tracer does not need its headers.
 */
#include "hawk_unwind_libunwind.h"

#include <dlfcn.h>

#include "hawk_trace_table.h"
#include "hawk_unwind_full.h"

enum {
	STEPS_MAX = HAWK_STACK_FRAMES + 64, /**< the stack's frames and the tracer's own */
	UNW_MEMORY = 1,                     /**< UNW_SLT_MEMORY */
};

/** unw_save_loc_t. */
struct save_location {
	int type;
	uint64_t address;
	uint64_t extra;
};

static int (*unw_init_local)(void *cursor, void *context);
static int (*unw_step)(void *cursor);
static int (*unw_get_reg)(void *cursor, int number, uint64_t *value);
static int (*unw_get_save_loc)(void *cursor, int number, struct save_location *location);

bool hawk_unwind_load_libunwind(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&unw_init_local = dlsym(library, "_ULx86_64_init_local");
	*(void **)&unw_step = dlsym(library, "_ULx86_64_step");
	*(void **)&unw_get_reg = dlsym(library, "_ULx86_64_get_reg");
	*(void **)&unw_get_save_loc = dlsym(library, "_ULx86_64_get_save_loc");
	return unw_init_local && unw_step && unw_get_reg && unw_get_save_loc;
}

/** A walk in progress. The piece of scratch holds cursor and context. */
struct cursor {
	struct hawk_scratch *scratch;
	bool exact; /**< the frame at hand was interrupted */
};

static bool read_state(const struct cursor *cursor, struct hawk_frame_state *ret)
{
	void *unw = cursor->scratch->libunwind.cursor;

	return unw_get_reg(unw, HAWK_CFI_RIP, &ret->pc) >= 0 &&
	       unw_get_reg(unw, HAWK_CFI_RSP, &ret->sp) >= 0 &&
	       unw_get_reg(unw, HAWK_CFI_RBP, &ret->bp) >= 0;
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
	int result = unw_step(cursor->scratch->libunwind.cursor);

	if (result < 0 || (result > 0 && !read_state(cursor, ret)))
		return HAWK_STEP_STUCK;
	if (result == 0 || !ret->pc)
		return HAWK_STEP_OUTERMOST;
	cursor->exact = signal;
	return HAWK_STEP_NEXT;
}

static uint64_t slot_of(const struct cursor *cursor, int number)
{
	struct save_location location = {0};

	if (unw_get_save_loc(cursor->scratch->libunwind.cursor, number, &location) < 0 ||
	    location.type != UNW_MEMORY)
		return 0;
	/* Nobody has saved it yet: it is still where the context says. */
	if (location.address - (uint64_t)cursor->scratch < sizeof(*cursor->scratch))
		return 0;
	return location.address;
}

/** Fills a ucontext_t as getcontext() would: general registers begin at byte 40. */
static void fill_context(struct hawk_scratch *scratch)
{
	enum { R12 = 9, RBP = 15, RBX = 16, RSP = 20, RIP = 21 }; /* in words */
	const uint64_t *value = scratch->libunwind.registers;
	uint64_t *context = scratch->libunwind.context;

	for (unsigned i = 0; i < 4; i++)
		context[R12 + i] = value[HAWK_CFI_R12 + i];
	context[RBP] = value[HAWK_CFI_RBP];
	context[RBX] = value[HAWK_CFI_RBX];
	context[RSP] = value[HAWK_CFI_RSP];
	context[RIP] = value[HAWK_CFI_RIP];
}

/** Steps from the tracer's own frame to the one that asked. */
static bool find_start(struct cursor *cursor, const struct hawk_frame_state *start)
{
	struct hawk_frame_state state = {0};

	if (unw_init_local(cursor->scratch->libunwind.cursor, cursor->scratch->libunwind.context) <
	    0)
		return false;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (step(cursor, &state) != HAWK_STEP_NEXT)
			return false;
		if (state.pc == start->pc && state.sp == start->sp)
			return true;
	}
	return false;
}

/** Where walk() puts its frames: one of the two. */
struct sink {
	struct hawk_stack_frame *frames;
	uint64_t *pcs;
};

static void put(const struct sink *sink, uint32_t index, const struct hawk_frame_state *state,
		bool exact)
{
	if (sink->pcs)
		sink->pcs[index] = state->pc | (exact ? HAWK_PC_EXACT : 0);
	else
		sink->frames[index] =
			(struct hawk_stack_frame){.state = *state, .exact = exact, .uses_bp = 1};
}

/** How libunwind came from `frame` to the one at hand. */
static void note_step(const struct cursor *cursor, struct hawk_stack_frame *frame)
{
	uint64_t return_slot = slot_of(cursor, HAWK_CFI_RIP);

	frame->bp_slot = slot_of(cursor, HAWK_CFI_RBP);
	/* The sp that a signal interrupted is a word that nobody names: it is walked again. */
	if (!cursor->exact && return_slot - frame->state.sp < HAWK_WALK_FRAME_BYTES_MAX)
		frame->return_offset = (uint32_t)(return_slot - frame->state.sp + 8);
	else
		frame->unproven = HAWK_UNPROVEN_STEP;
}

static uint32_t walk(struct cursor *cursor, const struct hawk_frame_state *start,
		     const struct sink *sink, uint32_t max, uint32_t *flags)
{
	struct hawk_frame_state state = *start;
	uint32_t count = 0;

	put(sink, count++, &state, false);
	*flags = HAWK_TRACE_INCOMPLETE;
	if (!find_start(cursor, start))
		return count;
	for (;;) {
		enum hawk_step result = step(cursor, &state);

		if (result == HAWK_STEP_OUTERMOST)
			*flags = 0;
		if (result != HAWK_STEP_NEXT)
			return count;
		if (count == max) {
			*flags = HAWK_TRACE_TRUNCATED;
			return count;
		}
		if (sink->frames)
			note_step(cursor, &sink->frames[count - 1]);
		put(sink, count++, &state, cursor->exact);
	}
}

/* Not inlined: this frame is where libunwind begins. */
static __attribute__((noinline)) uint32_t walk_from_here(const struct hawk_frame_state *start,
							 const struct sink *sink, uint32_t max,
							 uint32_t *flags)
{
	struct cursor cursor = {.scratch = hawk_scratch_take()};
	uint32_t count;

	*flags = HAWK_TRACE_INCOMPLETE;
	if (!cursor.scratch)
		return 0;
	HAWK_CAPTURE_REGISTERS(cursor.scratch->libunwind.registers);
	fill_context(cursor.scratch);
	count = walk(&cursor, start, sink, max, flags);
	hawk_scratch_give(cursor.scratch);
	return count;
}

uint32_t hawk_unwind_by_libunwind(struct hawk_stack *stack, uint32_t depth, uint32_t *flags)
{
	struct hawk_frame_state start = stack->fresh[0].state;

	return walk_from_here(&start, &(struct sink){.frames = stack->fresh}, depth, flags);
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
	return walk_from_here(start, &(struct sink){.pcs = pcs}, max, flags);
}
