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
 * Programs do the same things in the same order: each top remembers which ones came after it. One
 * of these that starts at the same place is tried first, and nothing is searched. A guess is
 * compared like any other top; what it goes by may be stale.
 *
 * Invariant: an entry with a base > 0 stands on the `base` outermost frames of the previous stack
 * as they were when it was made; whoever changes one of those calls hawk_tops_cut() before.
 */
#ifndef HAWK_TOPS_H
#define HAWK_TOPS_H

#include <emmintrin.h>

#include "hawk_unwind.h"

enum {
	HAWK_TOPS_OFFSET_BITS = 16, /**< of a word: see hawk_stack_top.words */
};

/** What a guess goes by: where the stack starts. */
static inline uint16_t hawk_tops_tag(const struct hawk_frame_state *start)
{
	return (uint16_t)(start->pc ^ start->sp >> 4);
}

/** Two bits for each of `tags` that is `tag`. */
static inline uint32_t hawk_tops_match(const uint16_t tags[HAWK_STACK_TOP_NEXT], uint16_t tag)
{
	__m128i all = _mm_shufflelo_epi16(_mm_cvtsi32_si128(tag), 0);
	__m128i same = _mm_cmpeq_epi16(_mm_loadl_epi64((const __m128i *)tags), all);

	return (uint32_t)_mm_movemask_epi8(same) & ((1u << 2 * HAWK_STACK_TOP_NEXT) - 1);
}

/** Whether all but the words of the top at `index` is as at `start`, and there are as many outer
 * frames. */
static inline bool hawk_tops_fits(const struct hawk_stack *stack, uint32_t index,
				  const struct hawk_frame_state *start)
{
	const struct hawk_stack_top *top = &stack->tops[index];

	return stack->top_bases[index] - 1u < stack->count && top->start.pc == start->pc &&
	       top->start.sp == start->sp && (!top->needs_bp || top->start.bp == start->bp);
}

/** A top that came after the last one lately and fits; NULL: none. It is the stack's if its words
 * are all there. */
static inline __attribute__((always_inline)) struct hawk_stack_top *
hawk_tops_guess(struct hawk_stack *stack, const struct hawk_frame_state *start)
{
	uint32_t match, index;

	if (!hawk_walk_is_current(stack))
		return NULL;
	match = hawk_tops_match(stack->top_next.tags, hawk_tops_tag(start));
	if (!match)
		return NULL;
	index = stack->top_next.indices[(uint32_t)__builtin_ctz(match) / 2];
	return hawk_tops_fits(stack, index, start) ? &stack->tops[index] : NULL;
}

static inline bool hawk_tops_is_there(uint64_t end, uint64_t word)
{
	return *(const uint64_t *)(end + (uint64_t)(uint16_t)word * 8) ==
	       word >> HAWK_TOPS_OFFSET_BITS;
}

/** Whether the words of the frames that are not shared are what they were; from the innermost, as
 * hawk_walk_compare(). */
static inline __attribute__((always_inline)) bool
hawk_tops_own_words_hold(const struct hawk_stack_top *top)
{
	const uint64_t *words_end = top->words + top->word_count;
	uint64_t end = top->start.sp - 8;

	for (const uint64_t *word = top->words; word != words_end; word += HAWK_STACK_TOP_STEP)
		if (!hawk_tops_is_there(end, word[0]) || !hawk_tops_is_there(end, word[1]) ||
		    !hawk_tops_is_there(end, word[2]) || !hawk_tops_is_there(end, word[3]))
			return false;
	return true;
}

/** Whether the words of the frames that are shared are what they were. After those of its own. */
static inline bool hawk_tops_shared_words_hold(const struct hawk_stack *stack,
					       const struct hawk_stack_top *top)
{
	return !hawk_walk_compare(stack->words, top->shared_words);
}

/** `top` is the stack's: returns its trace. */
static inline uint32_t hawk_tops_take(struct hawk_stack *stack, struct hawk_stack_top *top)
{
	stack->top_last = top;
	stack->top_next = top->next;
	return top->trace;
}

/** The trace id of the stack that starts at `start`, if its top is known and proven; else 0. */
uint32_t hawk_tops_find(struct hawk_stack *stack, const struct hawk_frame_state *start);

/** The same without guessing: `wrong` is not it (NULL: there was no guess). */
uint32_t hawk_tops_search(struct hawk_stack *stack, const struct hawk_frame_state *start,
			  const struct hawk_stack_top *wrong);

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
