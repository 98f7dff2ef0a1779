/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The small four-way memo of stack tops, in the thread's slot.
 */
#include "hawk_tops.h"

enum {
	OWN_FRAMES = 6,      /**< innermost frames that belong to an entry; the others are shared */
	OWN_FRAMES_MAX = 15, /**< of an entry that was cut already: fewer are shared */
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

/** Whether the entry `top`, on `base` outer frames, is of the stack that starts at `start`. */
static inline bool holds(const struct hawk_stack *stack, const struct hawk_stack_top *top,
			 uint32_t base, const struct hawk_frame_state *start)
{
	return base <= stack->count && top->start.pc == start->pc && top->start.sp == start->sp &&
	       (!top->needs_bp || top->start.bp == start->bp) &&
	       !hawk_walk_compare(top->words, top->word_count) &&
	       !hawk_walk_compare(stack->words, stack->frames[base - 1].words);
}

uint32_t hawk_tops_find(const struct hawk_stack *stack, const struct hawk_frame_state *start)
{
	uint64_t mixed = mix(start);
	uint32_t first = first_of_set(mixed);

	if (!hawk_walk_is_current(stack))
		return 0;
	for (uint32_t slot = first; slot < first + HAWK_STACK_TOP_WAYS; slot++) {
		const struct hawk_stack_top *top;

		if (stack->top_tags[slot] != tag_of(mixed) || !stack->top_bases[slot])
			continue;
		top = &stack->tops[stack->top_places[slot] - 1u];
		if (holds(stack, top, stack->top_bases[slot], start))
			return top->trace;
	}
	return 0;
}

/** An empty slot of the set, best one whose entry was like this one and was cut; else one that the
 * hash chooses. */
static uint32_t choose_slot(const struct hawk_stack *stack, uint64_t mixed, uint64_t hash)
{
	uint32_t first = first_of_set(mixed);
	uint32_t chosen = first + (uint32_t)(hash >> 32) % HAWK_STACK_TOP_WAYS;

	for (uint32_t slot = first + HAWK_STACK_TOP_WAYS; slot-- > first;) {
		if (stack->top_bases[slot])
			continue;
		chosen = slot;
		if (stack->top_tags[slot] == tag_of(mixed))
			break;
	}
	return chosen;
}

/** How many of the innermost frames belong to the new entry of a slot. */
static uint32_t count_own(const struct hawk_stack *stack, uint32_t slot, uint64_t mixed)
{
	bool was_cut = !stack->top_bases[slot] && stack->top_tags[slot] == tag_of(mixed);
	uint32_t wanted = was_cut ? OWN_FRAMES_MAX : OWN_FRAMES;
	const struct hawk_stack_frame *leaf = &stack->frames[stack->count - 1];
	uint32_t own = stack->count > wanted ? wanted : stack->count - 1;

	while (leaf->words - (leaf - own)->words > HAWK_STACK_TOP_WORDS)
		own--;
	return own;
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

/** False: there is none left. A handler that jumps out of here may take one along. */
static bool give_place(struct hawk_stack *stack, uint32_t slot)
{
	uint32_t place;

	if (stack->tops_used == HAWK_STACK_TOPS)
		return false;
	place = ++stack->tops_used;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_places[slot] = (uint16_t)place;
	return true;
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
	if (leaf->unproven)
		return;
	slot = choose_slot(stack, mixed, walk->hash);
	base = stack->count - count_own(stack, slot, mixed);
	first = stack->frames[base - 1].words;
	count = leaf->words - first;
	if (!stack->top_places[slot] && !give_place(stack, slot))
		return;
	top = &stack->tops[stack->top_places[slot] - 1u];
	/* A handler may jump out of here: an entry with a base is a whole one. */
	stack->top_bases[slot] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_tags[slot] = tag_of(mixed);
	top->start = *start;
	top->trace = trace;
	top->needs_bp = leaf->needs_bp;
	top->word_count = (uint16_t)count;
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
