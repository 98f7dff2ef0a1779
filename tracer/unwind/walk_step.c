/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rare steps: aligned frames, signal frames, code without call frame information. Also grows a
 * stack's readable range, and walks whole stacks into the caller's list of program counters without
 * remembering anything.
 */
#include "walk.h"

#include <sys/auxv.h>

#include "outside.h"
#include "unwind_full.h"

enum {
	ANCHOR_BYTES_MAX = 256 << 10, /**< from the outermost frame to the anchor */
};

/**
 * Anchor of the first thread. Its control block lies among the mappings, not above its stack; the
 * data that the kernel put at the top of that stack does.
 */
static uint64_t first_thread_block;
static uint64_t first_thread_anchor;

static bool probe(uint64_t page)
{
	hawk_unwind_count(&hawk_unwind_stats.probes);
	return hawk_readable(page);
}

static bool extend_down(struct hawk_readable_range *range, uint64_t address)
{
	if (range->start - address > HAWK_WALK_DOWN_BYTES_MAX)
		return false;
	while (range->start > address) {
		if (!probe(range->start - HAWK_WALK_PAGE_BYTES))
			return false;
		range->start -= HAWK_WALK_PAGE_BYTES;
	}
	return true;
}

bool hawk_walk_extend(struct hawk_readable_range *range, uint64_t address)
{
	if (address & 7)
		return false;
	if (address < range->start)
		return extend_down(range, address);
	if (address >= range->end && address - range->end >= HAWK_WALK_FRAME_BYTES_MAX)
		return false;
	/* The stack pointer left an overflowed stack: the frame reaches into it. */
	if (range->start == range->end && hawk_walk_page(address) != range->end) {
		if (probe(range->end))
			range->end += HAWK_WALK_PAGE_BYTES;
		else
			range->start = range->end = hawk_walk_page(address);
	}
	while (range->end <= address) {
		if (!probe(range->end))
			return false;
		range->end += HAWK_WALK_PAGE_BYTES;
	}
	return true;
}

void hawk_walk_enter_stack(struct hawk_readable_range *range, uint64_t sp)
{
	if (sp >= range->start && sp < range->end)
		return;
	if (sp < range->start && range->start < range->end && extend_down(range, sp))
		return;
	range->start = range->end = hawk_walk_page(sp);
}

static uint64_t thread_block(void)
{
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer & -UINT64_C(8);
}

void hawk_walk_init(void)
{
	first_thread_block = thread_block();
	first_thread_anchor = getauxval(AT_RANDOM) & -UINT64_C(8);
}

static uint64_t anchor_of_thread(void)
{
	uint64_t block = thread_block();

	return block == first_thread_block ? first_thread_anchor : block;
}

static bool reaches(struct hawk_readable_range *range, uint64_t anchor)
{
	if (anchor < range->start || range->start == range->end)
		return false;
	if (anchor >= range->end && anchor - range->end >= ANCHOR_BYTES_MAX)
		return false;
	return hawk_walk_extend(range, anchor);
}

void hawk_walk_remember(struct hawk_readable_range *range)
{
	if (!reaches(range, anchor_of_thread()))
		range->start = range->end = 0;
}

bool hawk_walk_read_anywhere(struct hawk_readable_range *range, uint64_t address, uint64_t *ret)
{
	bool inside = address >= range->start && range->end - range->start >= 8 &&
		      address - range->start <= range->end - range->start - 8;

	/* The frame lies on the stack's next pages; its other words will be read too. */
	if (!inside && address - range->start < HAWK_WALK_NEAR_BYTES && !(address & 7) &&
	    hawk_walk_read(range, address, ret))
		return true;
	if (!inside && (address > UINT64_MAX - 8 || !hawk_readable(address)))
		return false;
	__builtin_memcpy(ret, (const void *)address, 8);
	return true;
}

/** Encodes a slot's offset, see struct hawk_stack_frame. */
static uint32_t offset_of(const struct hawk_stack_frame *frame, uint64_t slot)
{
	return (uint32_t)(slot - frame->state.sp + 8);
}

/** Steps over a frame with large arrays. */
static enum hawk_step step_far(struct hawk_readable_range *range, struct hawk_stack_frame *frame,
			       struct hawk_stack_frame *next, uint32_t rule)
{
	uint64_t cfa = frame->state.sp + hawk_rule_far_cfa(rule);
	uint64_t bp_distance = hawk_rule_far_bp(rule);

	if (!rule || !hawk_walk_read(range, cfa - 8, &next->state.pc) ||
	    (bp_distance && !hawk_walk_read(range, cfa - bp_distance, &next->state.bp)))
		return hawk_walk_stuck(frame);
	frame->return_offset = offset_of(frame, cfa - 8);
	frame->bp_slot = bp_distance ? cfa - bp_distance : 0;
	next->state.sp = cfa;
	return hawk_walk_arrive(frame, next);
}

/** Steps by CFA = *(rbp + N). The step also depends on that word. */
static enum hawk_step step_dereferenced(struct hawk_readable_range *range,
					struct hawk_stack_frame *frame,
					struct hawk_stack_frame *next, uint32_t rule)
{
	uint64_t cfa_slot = frame->state.bp + hawk_rule_signed_cfa(rule);
	uint64_t bp_slot = frame->state.bp + hawk_rule_signed_bp(rule);
	uint64_t cfa;

	if (cfa_slot & 7 || cfa_slot - frame->state.sp >= HAWK_WALK_FRAME_BYTES_MAX ||
	    !hawk_walk_read(range, cfa_slot, &cfa))
		return hawk_walk_stuck(frame);
	if (cfa - frame->state.sp - 1 >= HAWK_WALK_FRAME_BYTES_MAX || cfa & 7 ||
	    bp_slot - frame->state.sp >= HAWK_WALK_FRAME_BYTES_MAX)
		return hawk_walk_stuck(frame);
	if (!hawk_walk_read(range, cfa - 8, &next->state.pc) ||
	    !hawk_walk_read(range, bp_slot, &next->state.bp))
		return hawk_walk_stuck(frame);
	frame->uses_bp = 1;
	frame->cfa_offset = offset_of(frame, cfa_slot);
	frame->return_offset = offset_of(frame, cfa - 8);
	frame->bp_slot = bp_slot;
	next->state.sp = cfa;
	return hawk_walk_arrive(frame, next);
}

/** Steps over a signal frame: the kernel's ucontext holds the interrupted state, perhaps on another
 * stack. */
static enum hawk_step step_signal(struct hawk_readable_range *range, struct hawk_stack_frame *frame,
				  struct hawk_stack_frame *next)
{
	uint64_t context = frame->state.sp;

	if (!hawk_walk_read(range, context + HAWK_UCONTEXT_RIP, &next->state.pc) ||
	    !hawk_walk_read(range, context + HAWK_UCONTEXT_RSP, &next->state.sp) ||
	    !hawk_walk_read(range, context + HAWK_UCONTEXT_RBP, &next->state.bp) ||
	    next->state.sp & 7)
		return hawk_walk_stuck(frame);
	frame->return_offset = offset_of(frame, context + HAWK_UCONTEXT_RIP);
	frame->cfa_offset = offset_of(frame, context + HAWK_UCONTEXT_RSP);
	frame->bp_slot = context + HAWK_UCONTEXT_RBP;
	next->exact = 1;
	hawk_walk_enter_stack(range, next->state.sp);
	return hawk_walk_arrive(frame, next);
}

/** Like step_signal(), but the words are near rbp and the caller's pc is a return address. */
static enum hawk_step step_saved(struct hawk_readable_range *range, struct hawk_stack_frame *frame,
				 struct hawk_stack_frame *next, uint32_t rule)
{
	uint64_t bp = frame->state.bp, sp = frame->state.sp;
	uint64_t pc_slot = bp + hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RIP);
	uint64_t sp_slot = bp + hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RSP);
	uint64_t bp_slot = bp + hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RBP);

	if (bp & 7 || pc_slot - sp >= HAWK_WALK_FRAME_BYTES_MAX ||
	    sp_slot - sp >= HAWK_WALK_FRAME_BYTES_MAX ||
	    bp_slot - sp >= HAWK_WALK_FRAME_BYTES_MAX ||
	    !hawk_walk_read(range, pc_slot, &next->state.pc) ||
	    !hawk_walk_read(range, sp_slot, &next->state.sp) ||
	    !hawk_walk_read(range, bp_slot, &next->state.bp) || next->state.sp & 7)
		return hawk_walk_stuck(frame);
	frame->uses_bp = 1;
	frame->return_offset = offset_of(frame, pc_slot);
	frame->cfa_offset = offset_of(frame, sp_slot);
	frame->bp_slot = bp_slot;
	hawk_walk_enter_stack(range, next->state.sp);
	return hawk_walk_arrive(frame, next);
}

/**
 * Returns true if `address` is still readable. rbp may be any number, and the range may be
 * outdated, so probes again, once per page and walk.
 */
static bool is_still_readable(struct hawk_readable_range *range, uint64_t address)
{
	if (hawk_walk_page(address) == range->asked)
		return true;
	if (!probe(address))
		return false;
	range->asked = hawk_walk_page(address);
	return true;
}

/** Returns true if rbp leads beyond the thread's anchor: frames lie below it, so the register was
 * used for other things. */
static bool leaves_thread(uint64_t sp, uint64_t bp)
{
	uint64_t anchor = anchor_of_thread();

	return sp < anchor && bp >= anchor;
}

/** Steps from a call through a null pointer: nothing ran there, so the return address is still on
 * top. */
static enum hawk_step step_null_call(struct hawk_readable_range *range,
				     struct hawk_stack_frame *frame, struct hawk_stack_frame *next)
{
	uint64_t sp = frame->state.sp;

	if (!hawk_walk_read(range, sp, &next->state.pc) ||
	    !hawk_rules_is_return_address(next->state.pc))
		return hawk_walk_stuck(frame);
	frame->return_offset = offset_of(frame, sp);
	next->state.sp = sp + 8;
	return hawk_walk_arrive(frame, next);
}

/** Ends at a frame whose caller is unknowable: the frame alone proves that, with rbp if that was
 * tried. */
static enum hawk_step step_lost(struct hawk_stack_frame *frame, bool uses_bp)
{
	hawk_walk_cut(frame);
	frame->uses_bp = uses_bp;
	return HAWK_STEP_STUCK;
}

/** Reads the frame at rbp. Returns false if there is none. */
static bool read_frame_at_bp(struct hawk_readable_range *range,
			     const struct hawk_stack_frame *frame, struct hawk_frame_state *caller)
{
	uint64_t bp = frame->state.bp;

	if (bp & 7 || bp - frame->state.sp >= HAWK_WALK_FRAME_BYTES_MAX ||
	    leaves_thread(frame->state.sp, bp) || !is_still_readable(range, bp) ||
	    !is_still_readable(range, bp + 8) || !hawk_walk_read(range, bp + 8, &caller->pc) ||
	    !hawk_walk_read(range, bp, &caller->bp))
		return false;
	/* With unwind=fp, rbp is followed even from functions that may use it for anything. */
	return hawk_unwind_options.mode != HAWK_UNWIND_FP ||
	       caller->pc - HAWK_PC_MIN >= HAWK_PC_END || hawk_rules_is_return_address(caller->pc);
}

/** Steps by rbp, in just-in-time compiled code or with unwind=fp. */
static enum hawk_step step_frame_pointer(struct hawk_readable_range *range,
					 struct hawk_stack_frame *frame,
					 struct hawk_stack_frame *next)
{
	uint64_t bp = frame->state.bp;
	bool led_on = read_frame_at_bp(range, frame, &next->state);

	if (hawk_unwind_options.mode == HAWK_UNWIND_CFI &&
	    !hawk_outside_is_trusted(frame->state.pc))
		hawk_outside_note(frame->state.pc,
				  led_on && hawk_rules_is_return_address(next->state.pc));
	/* Not tried again while rbp is unchanged: a way that opens later is not worth the cost. */
	if (!led_on)
		return step_lost(frame, true);
	frame->uses_bp = 1;
	frame->guessed = hawk_unwind_options.mode == HAWK_UNWIND_CFI ? HAWK_GUESSED_STEP : 0;
	frame->return_offset = offset_of(frame, bp + 8);
	frame->bp_slot = bp;
	next->state.sp = bp + 16;
	return hawk_walk_arrive(frame, next);
}

/** Steps by the full stepper, which finds registers by walking up from here: words alone prove
 * nothing. */
static enum hawk_step step_complex(struct hawk_readable_range *range,
				   struct hawk_stack_frame *frame, struct hawk_stack_frame *next)
{
	enum hawk_step step = hawk_unwind_full(frame, next);

	hawk_unwind_count(&hawk_unwind_stats.complex_rules);
	if (step == HAWK_STEP_STUCK)
		return hawk_walk_stuck(frame);
	hawk_walk_enter_stack(range, next->state.sp);
	frame->uses_bp = 1;
	frame->unproven = HAWK_UNPROVEN_STEP;
	return step;
}

enum hawk_step hawk_walk_step_rare(struct hawk_readable_range *range,
				   struct hawk_stack_frame *frame, struct hawk_stack_frame *next,
				   uint32_t rule)
{
	frame->return_offset = 0;
	switch (hawk_rule_kind(rule)) {
	case HAWK_RULE_SP_FAR:
		return step_far(range, frame, next, rule);
	case HAWK_RULE_BP_DEREF:
		return step_dereferenced(range, frame, next, rule);
	case HAWK_RULE_SIGNAL:
		return step_signal(range, frame, next);
	case HAWK_RULE_OUTERMOST:
		return rule & HAWK_RULE_LOST ? step_lost(frame, false) : HAWK_STEP_OUTERMOST;
	case HAWK_RULE_NO_CFI:
		if (hawk_walk_is_null_call(frame->state.pc, frame->exact))
			return step_null_call(range, frame, next);
		return step_frame_pointer(range, frame, next);
	case HAWK_RULE_COMPLEX:
		return rule & HAWK_RULE_SAVED ? step_saved(range, frame, next, rule)
					      : step_complex(range, frame, next);
	default:
		return hawk_walk_stuck(frame);
	}
}

enum hawk_step hawk_walk_step_out(struct hawk_readable_range *range, struct hawk_stack_frame *frame,
				  struct hawk_stack_frame *next)
{
	return hawk_walk_step(range, frame, next);
}

static uint64_t pc_of(const struct hawk_stack_frame *frame)
{
	return frame->state.pc | (frame->exact ? HAWK_PC_EXACT : 0);
}

/** Fills `pcs` and returns their number. */
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
	*flags = hawk_walk_flags(step) | guessed;
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
