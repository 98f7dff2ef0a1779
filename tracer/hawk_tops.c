/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The small four-way memo of stack tops, in the thread's slot.
 */
#include "hawk_tops.h"

enum {
	OWN_FRAMES = 6, /**< innermost frames that belong to an entry; the others are shared */
};

/** The set's number in the high bits, the tag below. */
static inline uint64_t mix(const struct hawk_frame_state *start)
{
	return (start->pc ^ start->sp << 16) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint32_t first_of_set(uint64_t mixed)
{
	return (uint32_t)(mixed >> 59) * HAWK_STACK_TOP_WAYS;
}
_Static_assert(HAWK_STACK_TOP_SETS == 32, "5 bits");

static inline uint32_t tag_of(uint64_t mixed)
{
	return (uint32_t)(mixed >> 27);
}

static inline bool holds(const struct hawk_stack *stack, uint32_t slot,
			 const struct hawk_frame_state *start)
{
	const struct hawk_stack_top *top = &stack->tops[slot];
	uint32_t base = stack->top_bases[slot];

	return base && base <= stack->count && top->start.pc == start->pc &&
	       top->start.sp == start->sp && (!top->needs_bp || top->start.bp == start->bp) &&
	       !hawk_walk_compare(top->words, top->word_count) &&
	       !hawk_walk_compare(stack->words, stack->frames[base - 1].words);
}

uint32_t hawk_tops_find(const struct hawk_stack *stack, const struct hawk_frame_state *start)
{
	uint64_t mixed = mix(start);
	uint32_t first = first_of_set(mixed);

	if (!hawk_walk_is_current(stack))
		return 0;
	for (uint32_t slot = first; slot < first + HAWK_STACK_TOP_WAYS; slot++)
		if (stack->top_tags[slot] == tag_of(mixed) && holds(stack, slot, start))
			return stack->tops[slot].trace;
	return 0;
}

/** An empty slot of the set, else one that the hash chooses. */
static uint32_t choose_slot(const struct hawk_stack *stack, uint32_t first, uint64_t hash)
{
	for (uint32_t slot = first; slot < first + HAWK_STACK_TOP_WAYS; slot++)
		if (!stack->top_bases[slot])
			return slot;
	return first + (uint32_t)(hash >> 32) % HAWK_STACK_TOP_WAYS;
}

/** Whether the stack was here before, not long ago. */
static bool comes_again(struct hawk_stack *stack, uint64_t hash)
{
	uint32_t *seen = &stack->tops_seen[hash % HAWK_STACK_TOPS_SEEN];
	uint32_t tag = (uint32_t)(hash >> 32);
	bool again = *seen == tag;

	*seen = tag;
	return again;
}

void hawk_tops_note(struct hawk_stack *stack, const struct hawk_frame_state *start,
		    const struct hawk_walk_result *walk, uint32_t trace)
{
	uint64_t mixed = mix(start);
	struct hawk_stack_top *top;
	const struct hawk_stack_frame *leaf;
	uint32_t base, first, count, slot;

	if (!comes_again(stack, walk->hash) || !trace || walk->flags || stack->count < 2)
		return;
	leaf = &stack->frames[stack->count - 1];
	base = stack->count > OWN_FRAMES ? stack->count - OWN_FRAMES : 1;
	first = stack->frames[base - 1].words;
	count = leaf->words - first;
	if (leaf->unproven || count > HAWK_STACK_TOP_WORDS)
		return;
	slot = choose_slot(stack, first_of_set(mixed), walk->hash);
	top = &stack->tops[slot];
	/* A handler may jump out of here: an entry with a base is a whole one. */
	stack->top_bases[slot] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_tags[slot] = tag_of(mixed);
	top->start = *start;
	top->trace = trace;
	top->needs_bp = leaf->needs_bp;
	top->word_count = count;
	for (uint32_t i = 0; i < count; i++)
		top->words[i] = stack->words[first + i];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* In this order: a base that is there is never above the maximum. */
	if (base > stack->top_base_max)
		stack->top_base_max = base;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_bases[slot] = (uint16_t)base;
}

void hawk_tops_cut(struct hawk_stack *stack, uint32_t kept)
{
	if (stack->top_base_max <= kept)
		return;
	for (uint32_t i = 0; i < HAWK_STACK_TOPS; i++)
		stack->top_bases[i] = stack->top_bases[i] > kept ? 0 : stack->top_bases[i];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_base_max = kept;
}
