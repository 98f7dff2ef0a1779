/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Brings a thread's previous stack up to date: verifies frames still there, walks new ones.
 *
 * Hot case: the same leaf, every word unchanged; writes nothing. Otherwise gathers new frames in
 * `fresh`, leaf first, until one is a frame of the previous stack. From there on words are compared
 * again; where they differ, walking continues from the last frame proven.
 *
 * Invariant: memory read outside `hawk_stack` belongs to a frame proven to exist (all words on the
 * way to it were compared, in order), or lies in the readable range. A frame's existence proves its
 * words readable only on the thread's own stack: a walk may leave the top of a coroutine's stack
 * for foreign memory. There each page is probed again.
 */
#include "walk.h"

#include "table/traces.h"
#include "tops.h"
#include "unwind_full.h"

uint32_t hawk_unwind_epoch;
uint32_t hawk_unwind_era;
struct hawk_unwind_stats hawk_unwind_stats;

struct hawk_unwind_options hawk_unwind_options = {.depth = HAWK_STACK_FRAMES};

enum {
	ALL_PROVEN = -1, /**< returned instead of the index of the frame to walk on from */
};

/** State of a walk outside the hot case. */
struct walk {
	struct hawk_stack *stack;
	struct hawk_readable_range range;
	uint32_t depth;
	uint32_t fresh_count; /**< stack->fresh[fresh_count] is the current frame */
	int32_t candidate; /**< frames[candidate] is the next old frame that may be met; -1 = none
			    */
	uint32_t kept;
	uint32_t flags;
};

static inline bool is_same_frame(const struct hawk_stack_frame *known,
				 const struct hawk_frame_state *state, uint8_t exact)
{
	return known->state.pc == state->pc && known->state.sp == state->sp &&
	       known->exact == exact && (!known->needs_bp || known->state.bp == state->bp);
}

/** Returns the index of the first word that belongs to frame `index`. */
static uint32_t first_word(const struct hawk_stack *stack, int32_t index)
{
	return index > 0 ? stack->frames[index - 1].words : 0;
}

/** Returns the frame whose step rested on words[mismatch - 1], at or outside frame `index`. */
static int32_t frame_of_word(const struct hawk_stack *stack, int32_t index, uint32_t mismatch)
{
	while (first_word(stack, index) >= mismatch)
		index--;
	return index;
}

/** Returns true if the step from frame `index`, whose rbp is `bp`, still leads to the same
 * frame. */
static bool step_again(struct walk *walk, int32_t index, uint64_t *bp)
{
	const struct hawk_stack *stack = walk->stack;
	struct hawk_stack_frame frame = stack->frames[index];
	struct hawk_stack_frame next;
	enum hawk_step step;

	frame.state.bp = *bp;
	hawk_walk_enter_stack(&walk->range, frame.state.sp);
	step = hawk_walk_step_out(&walk->range, &frame, &next);
	if (index == 0)
		return step == (stack->flags & HAWK_TRACE_INCOMPLETE  ? HAWK_STEP_STUCK
				: stack->flags & HAWK_TRACE_TRUNCATED ? HAWK_STEP_NEXT
								      : HAWK_STEP_OUTERMOST);
	*bp = next.state.bp;
	return step == HAWK_STEP_NEXT && next.state.bp == stack->frames[index - 1].state.bp &&
	       is_same_frame(&stack->frames[index - 1], &next.state, next.exact);
}

static uint64_t return_slot_of(const struct hawk_stack_frame *frame)
{
	return frame->state.sp - 8 + frame->return_offset;
}

/** Returns the next frame outwards from `index` with HAWK_UNPROVEN_PAGE; NULL if none. */
static const struct hawk_stack_frame *next_on_other_page(const struct hawk_stack *stack,
							 int32_t index)
{
	while (--index >= 0)
		if (stack->frames[index].unproven & HAWK_UNPROVEN_PAGE)
			return &stack->frames[index];
	return NULL;
}

/**
 * Returns true if all memory read for frame `index`, of HAWK_UNPROVEN_PAGE, is readable. `*asked`
 * is a readable page. On return it may also be the next one: eight bytes across their border test
 * both.
 */
static bool has_its_pages(const struct hawk_stack *stack, int32_t index, uint64_t *asked)
{
	const struct hawk_stack_frame *frame = &stack->frames[index], *next;
	uint64_t slot = return_slot_of(frame), page = hawk_walk_page(slot), address = slot;
	uint64_t cfa_slot = frame->state.sp - 8 + frame->cfa_offset;

	if (page != *asked) {
		next = next_on_other_page(stack, index);
		*asked = page;
		if (next && hawk_walk_page(return_slot_of(next)) == page + HAWK_WALK_PAGE_BYTES) {
			*asked = page + HAWK_WALK_PAGE_BYTES;
			address = *asked - 4;
		}
		if (!hawk_readable(address))
			return false;
	}
	if (frame->bp_slot && hawk_walk_page(frame->bp_slot) != page &&
	    !hawk_readable(frame->bp_slot))
		return false;
	return !frame->cfa_offset || hawk_walk_page(cfa_slot) == page || hawk_readable(cfa_slot);
}

/** A run of frames that words alone can prove, from `index` outwards: compared at once. */
struct run {
	int32_t end;      /**< the outermost of them */
	uint64_t bp_slot; /**< where rbp was last read; 0 = rbp is unchanged */
};

static struct run run_from(const struct hawk_stack *stack, int32_t index)
{
	struct run run = {.end = index, .bp_slot = stack->frames[index].bp_slot};

	while (run.end > 0 &&
	       !(stack->frames[run.end - 1].unproven & (HAWK_UNPROVEN_STEP | HAWK_UNPROVEN_PAGE))) {
		run.end--;
		if (stack->frames[run.end].bp_slot)
			run.bp_slot = stack->frames[run.end].bp_slot;
	}
	return run;
}

/** Does verify() where words cannot prove some frames. */
static int32_t verify_carefully(struct walk *walk, int32_t index, uint64_t bp)
{
	const struct hawk_stack *stack = walk->stack;
	uint64_t asked = 0;

	while (index >= 0) {
		const struct hawk_stack_frame *frame = &stack->frames[index];
		uint32_t first, mismatch;
		struct run run;

		if (frame->unproven & HAWK_UNPROVEN_STEP) {
			if (!step_again(walk, index, &bp))
				return index;
			index--;
			continue;
		}
		if (frame->unproven & HAWK_UNPROVEN_PAGE && !has_its_pages(stack, index, &asked))
			return index;
		run = run_from(stack, index);
		first = first_word(stack, run.end);
		mismatch = hawk_walk_compare(stack->words + first, frame->words - first);
		if (mismatch)
			return frame_of_word(stack, index, first + mismatch);
		if (run.bp_slot)
			bp = *(const uint64_t *)run.bp_slot;
		index = run.end - 1;
	}
	return ALL_PROVEN;
}

/**
 * Verifies outwards from frame `index` of the previous stack, which is also in the present one,
 * with `bp` in rbp. Returns the frame from which the present stack differs, or ALL_PROVEN.
 */
static int32_t verify(struct walk *walk, int32_t index, uint64_t bp)
{
	const struct hawk_stack *stack = walk->stack;
	uint32_t mismatch;

	if (stack->frames[index].unproven)
		return verify_carefully(walk, index, bp);
	mismatch = hawk_walk_compare(stack->words, stack->frames[index].words);
	return mismatch ? frame_of_word(stack, index, mismatch) : ALL_PROVEN;
}

/**
 * Appends the proven frames `from` .. `to` to the fresh ones, as far as the depth allows. Fills in
 * their rbp: nothing depended on it so far, but now something may.
 */
static void copy_proven(struct walk *walk, int32_t from, int32_t to)
{
	const struct hawk_stack *stack = walk->stack;
	struct hawk_stack_frame *fresh = walk->stack->fresh;
	uint64_t bp = fresh[walk->fresh_count].state.bp;

	for (int32_t i = from;; i--) {
		const struct hawk_stack_frame *frame = &stack->frames[i];

		fresh[walk->fresh_count] = *frame;
		fresh[walk->fresh_count].state.bp = bp;
		fresh[walk->fresh_count].unproven = frame->unproven & HAWK_UNPROVEN_STEP;
		if (i == to || walk->fresh_count + 1 == walk->depth)
			return;
		if (frame->unproven & HAWK_UNPROVEN_STEP)
			bp = stack->frames[i - 1].state.bp;
		else if (frame->bp_slot)
			bp = *(const uint64_t *)frame->bp_slot;
		walk->fresh_count++;
	}
}

/** Returns true if the previous stack continues after its outermost frame and there is room for
 * that now. */
static bool has_lost_frames(const struct walk *walk, uint32_t count)
{
	return walk->stack->flags & HAWK_TRACE_TRUNCATED && count < walk->depth;
}

/**
 * Compares the current frame with the previous stack. Returns true if it is one of its frames and
 * all outer ones are in the present stack, which completes it. Returns false to go on from the
 * current frame, which may be further out now.
 */
static bool merge(struct walk *walk, uint32_t mismatch)
{
	const struct hawk_stack *stack = walk->stack;
	const struct hawk_stack_frame *frame = &stack->fresh[walk->fresh_count];
	int32_t index = walk->candidate;
	int32_t end;

	while (index >= 0 && stack->frames[index].state.sp < frame->state.sp)
		index--;
	walk->candidate = index;
	if (index < 0 || !is_same_frame(&stack->frames[index], &frame->state, frame->exact))
		return false;
	end = mismatch ? frame_of_word(stack, index, mismatch)
		       : verify(walk, index, frame->state.bp);
	if (end == ALL_PROVEN) {
		uint32_t count = walk->fresh_count + (uint32_t)index + 1;

		if (count <= walk->depth && !has_lost_frames(walk, count)) {
			walk->kept = (uint32_t)index + 1;
			walk->flags = stack->flags;
			/* Not needed so far, but a new frame may lead here by it. */
			walk->stack->frames[index].state.bp = frame->state.bp;
			return true;
		}
		end = 0;
	}
	copy_proven(walk, index, end);
	hawk_walk_enter_stack(&walk->range, stack->fresh[walk->fresh_count].state.sp);
	walk->candidate = end - 1;
	return false;
}

/** Cuts the stack at `frame`, the outermost within the depth limit: outer frames are ignored. */
static void cut_off(struct hawk_stack_frame *frame)
{
	hawk_walk_cut(frame);
	frame->uses_bp = frame->unproven = 0;
}

/** Gathers frames until the stack is known. `mismatch`: see hawk_walk(). */
static void gather(struct walk *walk, uint32_t mismatch)
{
	struct hawk_stack *stack = walk->stack;
	struct hawk_stack_frame beyond;

	for (;; mismatch = 0) {
		struct hawk_stack_frame *frame, *next;
		enum hawk_step step;

		if (walk->candidate >= 0 && merge(walk, mismatch))
			return;
		frame = &stack->fresh[walk->fresh_count];
		next = walk->fresh_count + 1 < walk->depth ? frame + 1 : &beyond;
		step = hawk_walk_step(&walk->range, frame, next);
		walk->fresh_count++;
		if (step == HAWK_STEP_NEXT && next != &beyond) {
			if (next->exact) /* beyond a signal sp may be lower again */
				walk->candidate = (int32_t)stack->count - 1;
			continue;
		}
		walk->kept = 0;
		walk->flags = hawk_walk_flags(step);
		if (step == HAWK_STEP_NEXT)
			cut_off(frame);
		return;
	}
}

/**
 * Marks frames whose pages must be probed. A walk may leave a stack that is not the thread's for
 * foreign memory that may be unmapped, even an old stack with frames and an end. Words on the page
 * of a frame's return address are readable if that address is. A handler's return proves nothing
 * about the other stack.
 */
static void mark_pages(const struct walk *walk)
{
	uint32_t count = walk->kept + walk->fresh_count;

	if (!walk->fresh_count)
		return;
	for (uint32_t index = walk->kept; index < count; index++) {
		struct hawk_stack_frame *frame =
			&walk->stack->fresh[walk->fresh_count - 1 - (index - walk->kept)];
		uint64_t base = frame->state.sp - 8;

		if (frame->unproven & HAWK_UNPROVEN_STEP)
			continue;
		if (frame->exact ||
		    (frame->bp_slot && hawk_walk_page(frame->bp_slot) != hawk_walk_page(base)) ||
		    hawk_walk_page(base + frame->return_offset) != hawk_walk_page(base) ||
		    hawk_walk_page(base + frame->cfa_offset) != hawk_walk_page(base))
			frame->unproven |= HAWK_UNPROVEN_PAGE;
	}
}

static void append_word(struct hawk_stack *stack, uint16_t *count, uint64_t slot, uint64_t value)
{
	stack->words[(*count)++] = (struct hawk_stack_word){slot, value};
}

/** Hashes the fresh frames and prefetches the stack's known id while they are written. */
static void hash_fresh(struct hawk_stack *stack, uint32_t kept, uint32_t fresh_count)
{
	struct hawk_walk_hash hash = hawk_walk_hash_seed(stack->generation);

	if (kept)
		hash = (struct hawk_walk_hash){stack->frames[kept - 1].hash,
					       stack->frames[kept - 1].check};
	for (uint32_t i = fresh_count; i-- > 0;) {
		struct hawk_stack_frame *frame = &stack->fresh[i];

		hash = hawk_walk_hash_mix(hash, frame->state.pc, frame->exact);
		frame->hash = hash.hash;
		frame->check = hash.check;
	}
	hawk_known_prefetch(hash.hash);
}

/** Writes `frame` and its words after the outer ones. */
static void append_frame(struct hawk_stack *stack, uint32_t index,
			 const struct hawk_stack_frame *frame)
{
	const struct hawk_stack_frame *outer = index ? &stack->frames[index - 1] : NULL;
	struct hawk_stack_frame *to = &stack->frames[index];
	uint16_t words = outer ? outer->words : 0;
	bool outer_needs_bp = outer && outer->needs_bp;

	/* Word by word, as they were just stored: a copy in larger pieces would wait for the stores
	 * to reach the cache. */
	to->state = frame->state;
	to->hash = frame->hash;
	to->check = frame->check;
	to->bp_slot = frame->bp_slot;
	to->return_offset = frame->return_offset;
	to->cfa_offset = frame->cfa_offset;
	to->exact = frame->exact;
	to->uses_bp = frame->uses_bp;
	to->needs_bp = frame->uses_bp | (!frame->bp_slot & outer_needs_bp);
	to->guessed = frame->guessed & HAWK_GUESSED_STEP;
	if (outer && outer->guessed)
		to->guessed |= HAWK_GUESSED_OUTER;
	to->unproven = frame->unproven;
	if (frame->unproven || (outer && outer->unproven))
		to->unproven |= HAWK_UNPROVEN_OUTER;
	/* Comparison goes from the end: first the CFA, which locates the others; then the pc, which
	 * proves an outer frame. Words of a step that words cannot prove may no longer be
	 * readable. */
	if (!(frame->unproven & HAWK_UNPROVEN_STEP)) {
		uint64_t base = frame->state.sp - 8;

		if (outer_needs_bp && frame->bp_slot)
			append_word(stack, &words, frame->bp_slot, outer->state.bp);
		if (frame->return_offset)
			append_word(stack, &words, base + frame->return_offset,
				    outer ? outer->state.pc : 0);
		if (frame->cfa_offset)
			append_word(stack, &words, base + frame->cfa_offset,
				    outer ? outer->state.sp : 0);
	}
	to->words = words;
}

/** Replaces the previous stack by its `kept` outermost frames and the fresh ones. */
static void commit(struct hawk_stack *stack, uint32_t kept, uint32_t fresh_count, uint32_t flags)
{
	hash_fresh(stack, kept, fresh_count);
	if (fresh_count || kept < stack->count)
		hawk_tops_cut(stack, kept);
	/* A handler may interrupt this and never return: all frames within `count` are always
	 * complete. */
	__atomic_store_n(&stack->count, kept, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->flags = flags & ~(uint32_t)HAWK_TRACE_GUESSED;
	for (uint32_t i = 0; i < fresh_count; i++)
		append_frame(stack, kept + i, &stack->fresh[fresh_count - 1 - i]);
	if (kept + fresh_count && stack->frames[kept + fresh_count - 1].guessed)
		stack->flags |= HAWK_TRACE_GUESSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&stack->count, kept + fresh_count, __ATOMIC_RELAXED);
}

/** Hashes the frames anew: other modules lie at these addresses now, so equal numbers mean another
 * stack. */
static void rehash(struct hawk_stack *stack, uint32_t generation)
{
	struct hawk_walk_hash hash = hawk_walk_hash_seed(generation);

	stack->generation = generation;
	hawk_tops_cut(stack, 0);
	for (uint32_t i = 0; i < stack->count; i++) {
		struct hawk_stack_frame *frame = &stack->frames[i];

		hash = hawk_walk_hash_mix(hash, frame->state.pc, frame->exact);
		frame->hash = hash.hash;
		frame->check = hash.check;
	}
}

static inline void fill_result(const struct hawk_stack *stack, uint32_t kept,
			       struct hawk_walk_result *ret)
{
	const struct hawk_stack_frame *leaf;

	ret->hash = 1;
	ret->check = 0;
	if (stack->count) {
		leaf = &stack->frames[stack->count - 1];
		ret->hash = leaf->hash ? leaf->hash : 1;
		ret->check = leaf->check;
	}
	ret->count = stack->count;
	ret->kept = kept;
	ret->flags = stack->flags;
	ret->generation = stack->generation;
}

static bool is_usable(const struct hawk_frame_state *start)
{
	return hawk_rules_table && start->pc - HAWK_PC_MIN < HAWK_PC_END - HAWK_PC_MIN &&
	       !(start->sp & 7);
}

/** Drops frames found before code was unmapped, or disowned by the owner. */
static void prepare(struct hawk_stack *stack)
{
	uint32_t epoch = __atomic_load_n(&hawk_unwind_epoch, __ATOMIC_ACQUIRE);

	if (stack->count && stack->epoch == epoch)
		return;
	hawk_tops_cut(stack, 0);
	stack->count = 0;
	stack->epoch = epoch;
	stack->generation = hawk_modules_generation();
	stack->readable_start = stack->readable_end = 0;
}

/** Walks in all but the hot case. `mismatch`, if not 0, names the differing word of a stack with
 * the same leaf.
 */
static __attribute__((noinline)) bool walk_slowly(struct hawk_stack *stack,
						  const struct hawk_frame_state *start,
						  uint32_t mismatch, struct hawk_walk_result *ret)
{
	uint32_t depth = hawk_unwind_options.depth, count = stack->count, generation;
	uint32_t era = __atomic_load_n(&hawk_unwind_era, __ATOMIC_ACQUIRE);
	struct walk walk = {.stack = stack};

	prepare(stack);
	walk.depth = depth - 1 < HAWK_STACK_FRAMES ? depth : HAWK_STACK_FRAMES;
	walk.range = (struct hawk_readable_range){.start = stack->readable_start,
						  .end = stack->readable_end};
	walk.candidate = (int32_t)stack->count - 1;
	stack->fresh[0].state = *start;
	stack->fresh[0].exact = 0;
	if (!is_usable(start)) {
		walk.flags = HAWK_TRACE_INCOMPLETE;
	} else {
		hawk_walk_enter_stack(&walk.range, start->sp);
		gather(&walk, mismatch);
	}
	hawk_walk_remember(&walk.range);
	if (walk.range.start == walk.range.end)
		mark_pages(&walk);
	stack->readable_start = walk.range.start;
	stack->readable_end = walk.range.end;
	commit(stack, walk.kept, walk.fresh_count, walk.flags);
	/* Making rules may have found new modules. */
	generation = hawk_modules_generation();
	if (stack->generation != generation) {
		rehash(stack, generation);
		walk.kept = 0;
	}
	/* The era at the beginning: later changes are seen next time. */
	stack->era = era;
	fill_result(stack, walk.kept, ret);
	return walk.kept && walk.kept == stack->count && walk.kept == count;
}

bool hawk_walk(struct hawk_stack *stack, const struct hawk_frame_state *start,
	       struct hawk_walk_result *ret)
{
	uint32_t mismatch = 0;

	if (stack->count && hawk_walk_is_current(stack)) {
		const struct hawk_stack_frame *leaf = &stack->frames[stack->count - 1];

		if (is_same_frame(leaf, start, 0) && !leaf->unproven) {
			mismatch = hawk_walk_compare(stack->words, leaf->words);
			if (!mismatch) {
				fill_result(stack, stack->count, ret);
				return true;
			}
		}
	}
	return walk_slowly(stack, start, mismatch, ret);
}

bool hawk_unwind_init(void)
{
	const uint64_t bytes = HAWK_RULES_BYTES + HAWK_SCRATCH_BYTES;
	char *memory = hawk_unwind_options.map ? hawk_unwind_options.map(bytes)
					       : hawk_map(0, bytes, false);

	if (!memory)
		return false;
	hawk_scratch_init(memory + HAWK_RULES_BYTES);
	hawk_rules_init(memory);
	hawk_walk_init();
	return true;
}

void hawk_unwind_invalidate(void)
{
	/* First the epoch: a thread that stores an older rule checks the epoch after storing. */
	__atomic_fetch_add(&hawk_unwind_epoch, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&hawk_unwind_era, 1, __ATOMIC_SEQ_CST);
	if (hawk_rules_table)
		hawk_rules_flush();
	hawk_tops_forget_callers();
}

void hawk_unwind_note_generation(void)
{
	__atomic_fetch_add(&hawk_unwind_era, 1, __ATOMIC_SEQ_CST);
}
