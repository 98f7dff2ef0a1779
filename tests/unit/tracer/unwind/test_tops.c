/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The memo of stack tops: whatever it answers is the stack that a walk from nothing finds, while
 * tops and the frames below them change at random.
 */
#include "recorder_world.h"

#include "unwind/tops.h"

enum { STEPS = 300000 };

static struct hawk_stack stack_space;
static struct hawk_stack *const stack = &stack_space;
static uint32_t random_state = 1;
static int steps_left;
static uint64_t hits, checks;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

/** An id that tells stacks apart as well as the table would. */
static uint32_t id_of(const struct hawk_walk_result *walk)
{
	return (uint32_t)(walk->hash ^ walk->check) | 1;
}

/** Asks the memo as the recorder does, and a walk from nothing whether it is right. */
static void look(const struct hawk_frame_state *caller)
{
	static uint64_t pcs[HAWK_STACK_FRAMES];
	struct hawk_walk_result truth, walk;
	const struct hawk_stack_top *found = hawk_tops_find(stack, caller);

	hawk_walk_stateless(caller, pcs, HAWK_STACK_FRAMES, &truth);
	checks++;
	if (found) {
		hits++;
		assert_int_equal(found->trace, id_of(&truth));
		return;
	}
	hawk_walk(stack, caller, &walk);
	assert_true(walk.hash == truth.hash && walk.check == truth.check);
	hawk_tops_note(stack, caller, &walk, id_of(&walk));
}

static NOINLINE void leaf(void)
{
	struct hawk_frame_state caller = CALLER();

	look(&caller);
}

static NOINLINE void small(int which)
{
	if (which & 1)
		leaf();
	else
		leaf();
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void with_locals(int which)
{
	volatile char local[40] = {0};

	small(which);
	local[which & 31]++;
}

static NOINLINE void on_rbp(int which)
{
	volatile char *memory = __builtin_alloca(16 + (size_t)(which & 3) * 16);

	memory[0] = 1;
	if (which & 4)
		small(which);
	else
		with_locals(which);
	memory[0]++;
}

static NOINLINE void tops(void)
{
	switch (next_random() % 4) {
	case 0:
		small((int)next_random() & 7);
		break;
	case 1:
		with_locals((int)next_random() & 7);
		break;
	case 2:
		on_rbp((int)next_random() & 7);
		break;
	default:
		leaf();
	}
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void wander(int depth)
{
	volatile char *memory = __builtin_alloca(16 + (next_random() % 3) * 32);
	uint32_t rounds = 1 + next_random() % 60;

	memory[0] = 1;
	while (steps_left > 0 && rounds-- > 0) {
		steps_left--;
		if (depth < 60 && next_random() % 16 == 0)
			wander(depth + 1);
		else
			tops();
	}
	memory[0]++;
}

TEST(every_answer_is_what_a_walk_finds)
{
	steps_left = STEPS;
	while (steps_left > 0)
		wander(0);
	assert_true(hits > checks / 3);
	assert_true(hits < checks);
}

static NOINLINE void chain(int depth, int which)
{
	if (depth)
		chain(depth - 1, which);
	else
		small(which);
	__asm__ volatile("" : : : "memory");
}

/** The same innermost frames at the same places, called from another place far outside of them. */
TEST(the_same_top_over_another_base_is_another_stack)
{
	for (volatile int round = 0; round < 3; round++)
		for (volatile int i = 0; i < 6; i++)
			chain(12, i & 1);
	hits = 0;
	for (volatile int round = 0; round < 3; round++)
		for (volatile int i = 0; i < 6; i++)
			chain(12, i & 1);
	assert_true(hits > 0);
}

static NOINLINE void one_way(void)
{
	small(0);
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void another_way(void)
{
	small(0);
	__asm__ volatile("" : : : "memory");
}

/** One leaf at one place, reached by two ways in turn. */
TEST(ways_that_alternate_are_remembered_side_by_side)
{
	enum { ROUNDS = 20, FIRST_ROUNDS = 3 };

	hits = 0;
	for (volatile int round = 0; round < ROUNDS; round++) {
		one_way();
		another_way();
	}
	assert_true(hits >= 2 * (ROUNDS - FIRST_ROUNDS));
}

static NOINLINE void one_way_from_afar(void)
{
	chain(8, 0);
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void another_way_from_afar(void)
{
	chain(8, 0);
	__asm__ volatile("" : : : "memory");
}

/** Ways that part outside of the frames that belong to an entry at first. */
TEST(tops_are_remembered_with_more_frames_where_bases_alternate)
{
	enum { ROUNDS = 20, FIRST_ROUNDS = 6 };

	hits = 0;
	for (volatile int round = 0; round < ROUNDS; round++) {
		one_way_from_afar();
		another_way_from_afar();
	}
	assert_true(hits >= 2 * (ROUNDS - FIRST_ROUNDS));
}

/* All alike but for their addresses, which the number in a comment keeps. */
#define WAY(number)                                                                                \
	static NOINLINE void way_##number(void)                                                    \
	{                                                                                          \
		small(0);                                                                          \
		__asm__ volatile("# " #number : : : "memory");                                     \
	}
WAY(0)
WAY(1)
WAY(2)
WAY(3)
WAY(4)
WAY(5)
WAY(6)
WAY(7)
WAY(8)
WAY(9)
WAY(10)
WAY(11)
WAY(12)
WAY(13)
WAY(14)
WAY(15)
WAY(16)
WAY(17)
WAY(18)
WAY(19)

/** As in a program that allocates through a function of its own. */
TEST(many_ways_to_one_place_are_told_apart)
{
	static void (*const ways[])(void) = {
		way_0,  way_1,  way_2,  way_3,  way_4,  way_5,  way_6,  way_7,  way_8,  way_9,
		way_10, way_11, way_12, way_13, way_14, way_15, way_16, way_17, way_18, way_19,
	};
	enum { WAYS = sizeof(ways) / sizeof(*ways), ROUNDS = 20, FIRST_ROUNDS = 4 };

	hits = 0;
	for (volatile uint32_t round = 0; round < ROUNDS; round++)
		for (volatile uint32_t i = 0; i < WAYS; i++)
			ways[i]();
	assert_true(hits >= WAYS * (ROUNDS - FIRST_ROUNDS));
}

/** More tops than there is room for: the oldest give way, and nothing that is found is wrong. */
TEST(places_are_taken_again)
{
	enum { DEPTHS = HAWK_STACK_TOPS + 100, FEW = 10, ROUNDS = 10, FIRST_ROUNDS = 3 };

	for (volatile int round = 0; round < 4; round++)
		for (volatile int depth = 0; depth < DEPTHS; depth++)
			chain(depth, 0);
	assert_true(stack->tops_given > HAWK_STACK_TOPS);
	hits = 0;
	for (volatile int round = 0; round < ROUNDS; round++)
		for (volatile int depth = 0; depth < FEW; depth++)
			chain(depth, 1);
	assert_true(hits >= FEW * (ROUNDS - FIRST_ROUNDS));
}

TEST(nothing_is_remembered_beyond_an_unload)
{
	hits = 0;
	for (int i = 0; i < 10; i++) {
		leaf();
		hawk_unwind_invalidate();
	}
	assert_true(hits == 0);
}

TEST(nothing_is_remembered_of_a_stack_that_was_disowned)
{
	hits = 0;
	for (int i = 0; i < 10; i++) {
		with_locals(1);
		stack->count = 0;
	}
	assert_true(hits == 0);
	for (int i = 0; i < 10; i++)
		with_locals(i & 1);
	assert_true(hits > 0);
}
