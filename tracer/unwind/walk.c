/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Bringing a thread's previous stack up to date: verify what is still there, walk what is new.
 *
 * Hot: the same leaf, every word unchanged. Then nothing is written. Otherwise the new frames are
 * gathered in `fresh`, leaf first, until one of them is a frame of the previous stack, and from
 * there on words are compared again; where they differ, walking goes on from the last frame proven.
 *
 * Invariant: whatever is read outside `hawk_stack` belongs to a frame that is proven to exist (all
 * words on the way to it were compared, in order), or lies in the readable range. That a frame
 * exists proves its words readable on the thread's own stack only: the walk may have left the top
 * of a coroutine's for memory that is somebody else's. There each page is asked for again.
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
	ALL_PROVEN = -1, /**< instead of the index of the frame from which to walk on */
};

/** A walk that is not hot. */
struct walk {
	struct hawk_stack *stack;
	struct hawk_readable_range range;
	uint32_t depth;
	uint32_t fresh_count; /**< stack->fresh[fresh_count] is the frame at hand */
	int32_t candidate;    /**< frames[candidate] is the next that may be met; -1 = none */
	uint32_t kept;
	uint32_t flags;
};

static inline bool is_same_frame(const struct hawk_stack_frame *known,
				 const struct hawk_frame_state *state, uint8_t exact)
{
	return known->state.pc == state->pc && known->state.sp == state->sp &&
	       known->exact == exact && (!known->needs_bp || known->state.bp == state->bp);
}

/** Words that belong to frame `index` begin here. */
static uint32_t first_word(const struct hawk_stack *stack, int32_t index)
{
	return index > 0 ? stack->frames[index - 1].words : 0;
}

/** The frame whose step rested on words[mismatch - 1], at or outside of frame `index`. */
static int32_t frame_of_word(const struct hawk_stack *stack, int32_t index, uint32_t mismatch)
{
	while (first_word(stack, index) >= mismatch)
		index--;
	return index;
}

/** Whether the way from frame `index`, whose rbp is `bp`, still leads where it led. */
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

/** The next frame outwards from `index` that begins on a page of its own; NULL: none. */
static const struct hawk_stack_frame *next_on_other_page(const struct hawk_stack *stack,
							 int32_t index)
{
	while (--index >= 0)
		if (stack->frames[index].unproven & HAWK_UNPROVEN_PAGE)
			return &stack->frames[index];
	return NULL;
}

/**
 * Whether all that is read for frame `index`, of HAWK_UNPROVEN_PAGE, is there. `*asked`: a page
 * that is; on return it may be the next one, too: eight bytes across their border tell about two.
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

/** Frames that words alone can prove, from `index` outwards: compared at once. */
struct run {
	int32_t end;      /**< the outermost of them */
	uint64_t bp_slot; /**< where rbp was last read; 0 = it stayed what it was */
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

/** verify() where some frames cannot be proven by words. */
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
 * Frame `index` of the previous stack is a frame of the present one, with `bp` in rbp. Returns the
 * frame from which the present stack goes another way, or ALL_PROVEN.
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
 * Appends the proven frames `from` .. `to` to the fresh ones, as far as the depth allows. Their rbp
 * is filled in: so far nothing depended on it, now something may.
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

/** Whether the previous stack goes on after its outermost frame and there is room for that now. */
static bool has_lost_frames(const struct walk *walk, uint32_t count)
{
	return walk->stack->flags & HAWK_TRACE_TRUNCATED && count < walk->depth;
}

/**
 * Looks whether the frame at hand is one of the previous stack. True: it is, and all outer ones are
 * the present stack's, which is complete with that. False: go on from the frame at hand, which may
 * be further out now.
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
			/* Not needed so far, but a frame that is new may lead here by it. */
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

/** The outermost frame within the depth limit: what lies beyond is nobody's business. */
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
 * A walk may leave a stack that is not the thread's for memory that is somebody else's and may be
 * unmapped: an old stack, even, with frames and an end like any other's. What lies on the page of a
 * frame's return address can be read if that could; a handler's return says nothing of the other
 * stack.
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

/** Hashes the fresh frames, so that what is known of the stack is fetched while they are written.
 */
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

/** Writes `frame` and its words behind the outer ones. */
static void append_frame(struct hawk_stack *stack, uint32_t index,
			 const struct hawk_stack_frame *frame)
{
	const struct hawk_stack_frame *outer = index ? &stack->frames[index - 1] : NULL;
	struct hawk_stack_frame *to = &stack->frames[index];
	uint16_t words = outer ? outer->words : 0;
	bool outer_needs_bp = outer && outer->needs_bp;

	/* Word by word, as they have just been stored: a copy in larger pieces would wait for the
	 * stores to reach the cache. */
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
	/* Compared from the end: the CFA first, which says where the others are; then the pc, which
	 * says that there is an outer frame at all. Words of a step that words cannot prove might
	 * not even be there any more. */
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

/** The previous stack becomes its `kept` outermost frames and the fresh ones. */
static void commit(struct hawk_stack *stack, uint32_t kept, uint32_t fresh_count, uint32_t flags)
{
	hash_fresh(stack, kept, fresh_count);
	if (fresh_count || kept < stack->count)
		hawk_tops_cut(stack, kept);
	/* A handler may interrupt this and never come back: what is counted is always whole. */
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

/** Other modules lie at these addresses now: the same numbers are another stack. */
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

/** Drops what was found before code went away, or what the owner has disowned. */
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

/** Everything but the hot case. `mismatch`: the leaf is the same and this word differs, if not 0.
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
	/* Of the beginning: what has happened since is seen next time. */
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
	/* First the epoch: whoever stores a rule of before looks at the epoch after storing. */
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
