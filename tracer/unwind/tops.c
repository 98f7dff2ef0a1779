/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The memo of stack tops, in the thread's slot: slots by hash, eight to a set, that point to
 * places. Places are handed out in order, then reused from the oldest owner, so few tops touch few
 * pages.
 *
 * Many stacks begin at the same pc and sp, wherever a program allocates through its own function.
 * The return address of the first frame distinguishes most of them; its place is remembered by pc.
 * That only chooses the slot: the top's words decide whether it matches.
 */
#include "tops.h"

#include "hawk_trace_table.h"
#include "walk.h"

enum {
	OWN_FRAMES = HAWK_STACK_TOP_WORDS, /**< innermost frames that belong to an entry, if their
					      words fit; the others are shared */
	CALLERS_LOG2 = 10,
	SETS_LOG2 = 7,
	ADDRESS_BITS = 48,
	OFFSET_BITS = 16,        /**< of a word: see hawk_stack_top.words */
	OWN_BYTES_MAX = 1 << 19, /**< largest offset that 16 bits can hold */
};
_Static_assert(HAWK_STACK_TOP_SETS == 1 << SETS_LOG2, "");

static const uint64_t ADDRESS = (UINT64_C(1) << ADDRESS_BITS) - 1;

/** Not the golden ratio: program counters a Fibonacci number apart would collide. */
static const uint64_t FACTOR = UINT64_C(0xd6e8feb86659fd93);

/** Callers of all threads, by hash: a pc, and in the highest 16 bits the words from sp - 8 up to
 * its return address. 0 = empty. The first entry stays: two taking turns would hide each other's
 * tops.
 */
static uint64_t callers[1 << CALLERS_LOG2];

static inline uint32_t caller_of(uint64_t pc)
{
	return (uint32_t)(pc * FACTOR >> (64 - CALLERS_LOG2));
}

/** Returns the return address of the frame at `start`; 0 if its place is unknown or not on the page
 * of sp - 8. That page is surely readable: the frame that we return to ends there. */
static inline uint64_t return_address(const struct hawk_frame_state *start)
{
	uint64_t caller = __atomic_load_n(&callers[caller_of(start->pc)], __ATOMIC_RELAXED);
	uint64_t end = start->sp - 8;
	uint64_t slot = end + (caller >> ADDRESS_BITS) * 8;

	if ((caller ^ start->pc) << (64 - ADDRESS_BITS) || (end ^ slot) >= HAWK_WALK_PAGE_BYTES ||
	    end & 7)
		return 0;
	return *(const uint64_t *)slot;
}

static void note_caller(const struct hawk_frame_state *start, const struct hawk_stack_frame *leaf)
{
	uint64_t words = leaf->return_offset / 8;
	uint64_t *caller = &callers[caller_of(start->pc)];

	if (!leaf->uses_bp && words && words < HAWK_WALK_PAGE_BYTES / 8 &&
	    !__atomic_load_n(caller, __ATOMIC_RELAXED))
		__atomic_store_n(caller, start->pc | words << ADDRESS_BITS, __ATOMIC_RELAXED);
}

void hawk_tops_forget_callers(void)
{
	for (uint32_t i = 0; i < 1 << CALLERS_LOG2; i++)
		__atomic_store_n(&callers[i], 0, __ATOMIC_RELAXED);
}

/** Returns the set's number in the high bits, the tag below. */
static inline uint64_t mix(const struct hawk_frame_state *start)
{
	return (start->pc ^ start->sp << 16 ^ return_address(start) << 7) * FACTOR;
}

static inline uint32_t first_of_set(uint64_t mixed)
{
	return (uint32_t)(mixed >> (64 - SETS_LOG2)) * HAWK_STACK_TOP_WAYS;
}

static inline uint16_t tag_of(uint64_t mixed)
{
	return (uint16_t)(mixed >> (48 - SETS_LOG2));
}

/** Returns true if all of the top at `index` except its words matches `start`, and there are as
 * many outer frames. */
static inline bool fits(const struct hawk_stack *stack, uint32_t index,
			const struct hawk_frame_state *start)
{
	const struct hawk_stack_top *top = &stack->tops[index];

	return stack->top_bases[index] - 1u < stack->count && top->start.pc == start->pc &&
	       top->start.sp == start->sp && (!top->needs_bp || top->start.bp == start->bp);
}

static inline bool is_there(uint64_t end, uint64_t word)
{
	return *(const uint64_t *)(end + (uint64_t)(uint16_t)word * 8) == word >> OFFSET_BITS;
}

/** Returns true if the words are unchanged: first those of the unshared frames, from the innermost
 * as in hawk_walk_compare(), then those of the shared ones. */
static inline bool holds(const struct hawk_stack *stack, const struct hawk_stack_top *top)
{
	const uint64_t *words_end = top->words + top->word_count;
	uint64_t end = top->start.sp - 8;

	for (const uint64_t *word = top->words; word != words_end; word += HAWK_STACK_TOP_STEP)
		if (!is_there(end, word[0]) || !is_there(end, word[1]) || !is_there(end, word[2]) ||
		    !is_there(end, word[3]))
			return false;
	return !hawk_walk_compare(stack->words, top->shared_words);
}

struct hawk_stack_top *hawk_tops_find(struct hawk_stack *stack,
				      const struct hawk_frame_state *start)
{
	const struct hawk_stack_top_slot *slot;
	uint64_t mixed;

	if (!hawk_walk_is_current(stack))
		return NULL;
	mixed = mix(start);
	slot = &stack->top_slots[first_of_set(mixed)];
	for (uint32_t i = 0; i < HAWK_STACK_TOP_WAYS; i++, slot++) {
		struct hawk_stack_top *top;

		if (slot->tag != tag_of(mixed) || !slot->place)
			continue;
		top = &stack->tops[slot->place - 1u];
		if (fits(stack, slot->place - 1u, start) && holds(stack, top))
			return top;
	}
	return NULL;
}

static inline bool is_empty(const struct hawk_stack *stack, const struct hawk_stack_top_slot *slot)
{
	return !slot->place || !stack->top_bases[slot->place - 1u];
}

/** Returns a slot of the set that is empty or has no valid entry; else one chosen by the hash. */
static struct hawk_stack_top_slot *choose_slot(struct hawk_stack *stack, uint64_t mixed,
					       uint64_t hash)
{
	struct hawk_stack_top_slot *set = &stack->top_slots[first_of_set(mixed)];

	for (uint32_t way = 0; way < HAWK_STACK_TOP_WAYS; way++)
		if (is_empty(stack, &set[way]))
			return &set[way];
	return &set[(hash >> 32) % HAWK_STACK_TOP_WAYS];
}

/** Returns how many innermost frames belong to a new entry: those near enough. */
static uint32_t count_own(const struct hawk_stack *stack)
{
	const struct hawk_stack_frame *leaf = &stack->frames[stack->count - 1];
	uint32_t own = stack->count > OWN_FRAMES ? OWN_FRAMES : stack->count - 1;

	while (own && (leaf->words - (leaf - own)->words > HAWK_STACK_TOP_WORDS ||
		       (leaf - own)->state.sp - leaf->state.sp >= OWN_BYTES_MAX))
		own--;
	return own;
}

/** Fills the entry's words from the stack's, innermost first, beginning in the entry's first cache
 * line. Returns false if one of them cannot be encoded. */
static bool take_words(struct hawk_stack_top *top, const struct hawk_stack_word *words,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t above = words[i].slot - (top->start.sp - 8);

		if (above >= OWN_BYTES_MAX || above & 7 || words[i].value > ADDRESS)
			return false;
		top->words[count - 1 - i] = words[i].value << OFFSET_BITS | above / 8;
	}
	for (; count % HAWK_STACK_TOP_STEP; count++)
		top->words[count] = top->words[count - 1];
	top->word_count = (uint8_t)count;
	return true;
}

/** Returns true if the stack was here before, not long ago. */
static bool comes_again(struct hawk_stack *stack, uint64_t hash)
{
	uint64_t *seen = &stack->tops_seen[hash % HAWK_STACK_SEEN_SETS];
	uint16_t tag = (uint16_t)(hash >> 32) | 1;

	for (uint64_t tags = *seen; tags; tags >>= 16)
		if ((uint16_t)tags == tag)
			return true;
	*seen = *seen << 16 | tag;
	return false;
}

/** Gives `slot` its own place. A handler that jumps out of here may leave a place without owner for
 * one round, but never with two owners. */
static void give_place(struct hawk_stack *stack, struct hawk_stack_top_slot *slot)
{
	uint32_t place = stack->tops_given++ % HAWK_STACK_TOPS;
	struct hawk_stack_top_slot *owner = &stack->top_slots[stack->top_owners[place]];

	stack->top_bases[place] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (owner->place == place + 1)
		owner->place = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_owners[place] = (uint16_t)(slot - stack->top_slots);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->place = (uint16_t)(place + 1);
}

void hawk_tops_note(struct hawk_stack *stack, const struct hawk_frame_state *start,
		    const struct hawk_walk_result *walk, uint32_t trace)
{
	struct hawk_stack_top_slot *slot;
	struct hawk_stack_top *top;
	const struct hawk_stack_frame *leaf;
	uint32_t base, first, own;
	uint64_t mixed;

	if (!comes_again(stack, walk->hash) || !trace || walk->flags & HAWK_TRACE_TRUNCATED ||
	    stack->count < 2)
		return;
	leaf = &stack->frames[stack->count - 1];
	own = count_own(stack);
	if (leaf->unproven || !own)
		return;
	note_caller(start, leaf);
	mixed = mix(start);
	slot = choose_slot(stack, mixed, walk->hash);
	base = stack->count - own;
	first = stack->frames[base - 1].words;
	if (!slot->place)
		give_place(stack, slot);
	top = &stack->tops[slot->place - 1u];
	/* A handler may jump out of here, so the base is written last: an entry with a base is
	 * complete. */
	stack->top_bases[slot->place - 1u] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->tag = tag_of(mixed);
	top->start = *start;
	top->trace = trace;
	top->needs_bp = leaf->needs_bp;
	top->shared_words = (uint16_t)first;
	if (!take_words(top, stack->words + first, leaf->words - first))
		return;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* In this order: no base is ever above the maximum. */
	if (base > stack->top_base_max)
		stack->top_base_max = base;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->top_bases[slot->place - 1u] = (uint16_t)base;
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
