/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The small direct-mapped memo of stack tops, in the thread's slot.
 */
#include "hawk_tops.h"

enum {
	OWN_FRAMES = 6, /**< innermost frames that belong to an entry; the others are shared */
};

static uint32_t slot_of(const struct hawk_frame_state *start)
{
	uint64_t mix = (start->pc ^ start->sp << 16) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mix >> 32) % HAWK_STACK_TOPS;
}

/** From the end, the innermost: each word proves that the place of the next one exists. */
static inline bool words_hold(const struct hawk_stack_word *words, uint32_t count)
{
	for (; count >= 4; count -= 4)
		if (*(const uint64_t *)words[count - 1].slot != words[count - 1].value ||
		    *(const uint64_t *)words[count - 2].slot != words[count - 2].value ||
		    *(const uint64_t *)words[count - 3].slot != words[count - 3].value ||
		    *(const uint64_t *)words[count - 4].slot != words[count - 4].value)
			return false;
	while (count-- > 0)
		if (*(const uint64_t *)words[count].slot != words[count].value)
			return false;
	return true;
}

uint32_t hawk_tops_find(const struct hawk_stack *stack, const struct hawk_frame_state *start)
{
	uint32_t slot = slot_of(start);
	const struct hawk_stack_top *top = &stack->tops[slot];
	uint32_t base = stack->top_bases[slot];

	if (!base || top->start.pc != start->pc || top->start.sp != start->sp ||
	    (top->needs_bp && top->start.bp != start->bp))
		return 0;
	if (base > stack->count ||
	    stack->epoch != __atomic_load_n(&hawk_unwind_epoch, __ATOMIC_ACQUIRE) ||
	    stack->generation != hawk_modules_generation())
		return 0;
	if (!words_hold(top->words, top->word_count) ||
	    !words_hold(stack->words, stack->frames[base - 1].words))
		return 0;
	return top->trace;
}

void hawk_tops_note(struct hawk_stack *stack, const struct hawk_frame_state *start,
		    const struct hawk_walk_result *walk, uint32_t trace)
{
	uint32_t slot = slot_of(start);
	struct hawk_stack_top *top = &stack->tops[slot];
	const struct hawk_stack_frame *leaf;
	uint32_t base, first, count;

	if (top->seen != walk->hash) {
		top->seen = walk->hash;
		return;
	}
	if (!trace || walk->flags || stack->count < 2)
		return;
	leaf = &stack->frames[stack->count - 1];
	base = stack->count > OWN_FRAMES ? stack->count - OWN_FRAMES : 1;
	first = stack->frames[base - 1].words;
	count = leaf->words - first;
	if (leaf->unproven || count > HAWK_STACK_TOP_WORDS)
		return;
	/* A handler may jump out of here: an entry with a base is a whole one. */
	stack->top_bases[slot] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	top->start = *start;
	top->trace = trace;
	top->needs_bp = leaf->needs_bp;
	top->word_count = count;
	for (uint32_t i = 0; i < count; i++)
		top->words[i] = stack->words[first + i];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_bases[slot] = (uint16_t)base;
}

void hawk_tops_cut(struct hawk_stack *stack, uint32_t kept)
{
	for (uint32_t i = 0; i < HAWK_STACK_TOPS; i++)
		stack->top_bases[i] = stack->top_bases[i] > kept ? 0 : stack->top_bases[i];
}
