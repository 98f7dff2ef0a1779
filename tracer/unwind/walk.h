/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One step outwards from a frame, by its rule, and reading of the host's stack.
 *
 * The readable range of a stack is the part proven so far: whole, contiguous pages. A system call
 * extends it by a page; a check inside it takes two instructions.
 */
#ifndef HAWK_TRACER_UNWIND_WALK_H
#define HAWK_TRACER_UNWIND_WALK_H

#include "hawk_trace_table.h"
#include "rules.h"
#include "table/syscall.h"
#include "unwind.h"

enum {
	HAWK_WALK_FRAME_BYTES_MAX = 16 << 20, /**< limit on a frame's size */
	HAWK_WALK_DOWN_BYTES_MAX = 64 << 10,  /**< a range grows downwards by at most this */
	HAWK_WALK_NEAR_BYTES = 64 << 10,      /**< a range grows for words this near its start */
	HAWK_WALK_PAGE_BYTES = 4096,

	/** Offsets in the ucontext_t at rsp when a handler returned to rt_sigreturn. */
	HAWK_UCONTEXT_RBP = 120,
	HAWK_UCONTEXT_RSP = 160,
	HAWK_UCONTEXT_RIP = 168,
};

/** Program counters of user space. */
#define HAWK_PC_MIN UINT64_C(4096)
#define HAWK_PC_END (UINT64_C(1) << 47)

struct hawk_readable_range {
	uint64_t start, end;
	uint64_t asked; /**< page that step_frame_pointer() checked during this walk */
};

enum hawk_step {
	HAWK_STEP_NEXT,      /**< there is an outer frame */
	HAWK_STEP_OUTERMOST, /**< this frame is the outermost */
	HAWK_STEP_STUCK,     /**< an outer frame may exist, but its place is unknown */
};

/** Extends the range to `address` (8-aligned), if all pages up to there can be read. */
bool hawk_walk_extend(struct hawk_readable_range *range, uint64_t address);

/** Makes the range fit a stack pointer: keeps it if it is that stack's, else starts a new one. */
void hawk_walk_enter_stack(struct hawk_readable_range *range, uint64_t sp);

/**
 * Keeps the part of the range that later walks may rely on. Memory between a thread's stack pointer
 * and its anchor stays while the thread runs on it (the anchor is its control block; for the first
 * thread, data that the kernel put above its stack). Any other stack, a coroutine's say, may have
 * its neighbours unmapped at any time: it is forgotten and probed again.
 */
void hawk_walk_remember(struct hawk_readable_range *range);

/** Finds the first thread's anchor. Called once. */
void hawk_walk_init(void);

/** Reads 8 bytes at any address. Returns false if unreadable. */
bool hawk_walk_read_anywhere(struct hawk_readable_range *range, uint64_t address, uint64_t *ret);

/** Reads the 8-aligned word at `slot`. Returns false if unreadable. */
static inline bool hawk_walk_read(struct hawk_readable_range *range, uint64_t slot, uint64_t *ret)
{
	if (__builtin_expect(slot - range->start >= range->end - range->start, 0) &&
	    !hawk_walk_extend(range, slot))
		return false;
	*ret = *(const uint64_t *)slot;
	return true;
}

/**
 * Steps by every kind of rule but HAWK_RULE_SP and HAWK_RULE_BP. Like hawk_walk_step(), but expects
 * no slots set yet.
 */
enum hawk_step hawk_walk_step_rare(struct hawk_readable_range *range,
				   struct hawk_stack_frame *frame, struct hawk_stack_frame *next,
				   uint32_t rule);

/**
 * Walks by libunwind from `start` outwards, `max` frames at most, and fills `pcs`, leaf first,
 * HAWK_PC_EXACT set where due. `flags`: enum hawk_trace_flag. Returns their number; 0 if libunwind
 * is unavailable.
 */
uint32_t hawk_libunwind_walk(const struct hawk_frame_state *start, uint64_t *pcs, uint32_t max,
			     uint32_t *flags);

/** Does hawk_walk_step() on paths that are not hot. */
enum hawk_step hawk_walk_step_out(struct hawk_readable_range *range, struct hawk_stack_frame *frame,
				  struct hawk_stack_frame *next);

/** Ends the walk at this frame. */
static inline void hawk_walk_cut(struct hawk_stack_frame *frame)
{
	frame->bp_slot = 0;
	frame->guessed = 0;
	frame->return_offset = frame->cfa_offset = 0;
}

/** Ends the walk at this frame; only walking it again can tell whether that is still so. */
static inline enum hawk_step hawk_walk_stuck(struct hawk_stack_frame *frame)
{
	hawk_walk_cut(frame);
	frame->uses_bp = 1;
	frame->unproven = HAWK_UNPROVEN_STEP;
	return HAWK_STEP_STUCK;
}

/** Returns true for an interrupted program counter in the first page: a call through a null
 * pointer. */
static inline bool hawk_walk_is_null_call(uint64_t pc, bool exact)
{
	return exact && pc < HAWK_PC_MIN;
}

/** Finishes a step from `frame` that led to a `next` with this pc. */
static inline enum hawk_step hawk_walk_arrive(struct hawk_stack_frame *frame,
					      const struct hawk_stack_frame *next)
{
	if (__builtin_expect(next->state.pc - HAWK_PC_MIN < HAWK_PC_END - HAWK_PC_MIN, 1) ||
	    hawk_walk_is_null_call(next->state.pc, next->exact))
		return HAWK_STEP_NEXT;
	return next->state.pc ? hawk_walk_stuck(frame) : HAWK_STEP_OUTERMOST;
}

static inline uint32_t hawk_walk_rule(const struct hawk_stack_frame *frame)
{
	uint32_t rule;

	if (__builtin_expect(hawk_unwind_options.mode == HAWK_UNWIND_FP, 0))
		return HAWK_RULE_NO_CFI;
	rule = hawk_rules_lookup(frame->state.pc, frame->exact);
	return __builtin_expect(rule != 0, 1) ? rule
					      : hawk_rules_make(frame->state.pc, frame->exact);
}

/**
 * Steps from frame->state to next->state and notes in `frame` how. About 20 instructions, one cache
 * line of rules and one of stack. Of the fields from `next->hash` on, sets only `exact`.
 */
static inline __attribute__((always_inline)) enum hawk_step
hawk_walk_step(struct hawk_readable_range *range, struct hawk_stack_frame *frame,
	       struct hawk_stack_frame *next)
{
	uint32_t rule = hawk_walk_rule(frame);
	uint64_t bp_distance = hawk_rule_bp(rule);
	uint64_t cfa;

	frame->bp_slot = 0;
	frame->cfa_offset = 0;
	frame->uses_bp = frame->unproven = frame->guessed = 0;
	next->exact = 0;
	next->state.bp = frame->state.bp;
	if (__builtin_expect(hawk_rule_kind(rule) == HAWK_RULE_SP, 1)) {
		cfa = frame->state.sp + hawk_rule_cfa(rule);
	} else if (hawk_rule_kind(rule) == HAWK_RULE_BP) {
		cfa = frame->state.bp + hawk_rule_signed_cfa(rule);
		frame->uses_bp = 1;
		if (cfa - frame->state.sp - 1 >= HAWK_WALK_FRAME_BYTES_MAX || cfa & 7)
			return hawk_walk_stuck(frame);
	} else {
		return hawk_walk_step_rare(range, frame, next, rule);
	}
	frame->return_offset = (uint32_t)(cfa - frame->state.sp);
	if (!hawk_walk_read(range, cfa - 8, &next->state.pc))
		return hawk_walk_stuck(frame);
	if (bp_distance) {
		frame->bp_slot = cfa - bp_distance;
		if (!hawk_walk_read(range, cfa - bp_distance, &next->state.bp))
			return hawk_walk_stuck(frame);
	}
	next->state.sp = cfa;
	return hawk_walk_arrive(frame, next);
}

static inline uint64_t hawk_walk_page(uint64_t address)
{
	return address & -(uint64_t)HAWK_WALK_PAGE_BYTES;
}

/** Returns the enum hawk_trace_flag of a walk that ended with `last`; HAWK_STEP_NEXT means cut
 * off. */
static inline uint32_t hawk_walk_flags(enum hawk_step last)
{
	return last == HAWK_STEP_OUTERMOST ? 0
	       : last == HAWK_STEP_STUCK   ? HAWK_TRACE_INCOMPLETE
					   : HAWK_TRACE_TRUNCATED;
}

/** Two hashes of a stack, 128 bits together: f(frame) = mix(f(next outer frame), pc). */
struct hawk_walk_hash {
	uint64_t hash, check;
};

static inline struct hawk_walk_hash hawk_walk_hash_seed(uint32_t generation)
{
	return (struct hawk_walk_hash){((uint64_t)generation + 1) * UINT64_C(0xd6e8feb86659fd93),
				       ((uint64_t)generation + 1) * UINT64_C(0xa0761d6478bd642f)};
}

static inline struct hawk_walk_hash hawk_walk_hash_mix(struct hawk_walk_hash outer, uint64_t pc,
						       bool exact)
{
	uint64_t word = pc | (uint64_t)exact << 63;
	unsigned __int128 product =
		(unsigned __int128)(outer.hash ^ word ^ UINT64_C(0x2545f4914f6cdd1d)) *
		UINT64_C(0x9e3779b97f4a7c15);

	return (struct hawk_walk_hash){
		(uint64_t)product ^ (uint64_t)(product >> 64) ^ outer.hash << 1,
		((outer.check << 29 | outer.check >> 35) + word) * UINT64_C(0xe7037ed1a0b428db)};
}

#endif
