/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folding of long stacks: no frame is lost, cycles of any length are found, in linear time.
 */
#include "test.h"
#include "names/stack_fold.h"

#include <time.h>

enum { FRAMES_MAX = HAWK_UNWIND_FRAMES_MAX, HEAD = 5, TAIL = 9, MANY = 5000 };

static struct hawk_stack_frame frames[FRAMES_MAX];
static struct hawk_fold_entry *entries;
static size_t entry_count;

static void set(size_t i, uint64_t pc)
{
	frames[i] = (struct hawk_stack_frame){.pc = pc, .sp = 16 * i};
}

/** Folds, and makes sure that all frames are accounted for, in order. */
static void fold(size_t count)
{
	size_t next = 0;

	free(entries);
	assert_null(hawk_stack_fold(frames, count, &entries, &entry_count));
	assert_in_range(entry_count, 1, HAWK_FOLD_ENTRIES_MAX);
	for (size_t i = 0; i < entry_count; i++) {
		const struct hawk_fold_entry *entry = &entries[i];

		assert_int_equal(entry->frame, next);
		next += entry->kind == HAWK_FOLD_FRAME ? 1 : entry->frames;
		if (entry->kind != HAWK_FOLD_REPEAT)
			continue;
		assert_int_equal(entry->frames, (entry->times - 1) * entry->period);
		assert_true(i >= entry->period);
		for (size_t j = 0; j < entry->frames; j++)
			assert_int_equal(
				frames[entry->frame + j].pc,
				frames[entry->frame - entry->period + j % entry->period].pc);
	}
	assert_int_equal(next, count);
}

static size_t count_of(enum hawk_fold_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < entry_count; i++)
		count += entries[i].kind == kind;
	return count;
}

static const struct hawk_fold_entry *find(enum hawk_fold_kind kind)
{
	for (size_t i = 0; i < entry_count; i++)
		if (entries[i].kind == kind)
			return &entries[i];
	return NULL;
}

/** HEAD frames, a cycle of `period` through `count` frames, TAIL frames. */
static size_t make_recursion(size_t period, size_t count)
{
	for (size_t i = 0; i < HEAD; i++)
		set(i, 1000 + i);
	for (size_t i = 0; i < count; i++)
		set(HEAD + i, 2000 + i % period);
	for (size_t i = 0; i < TAIL; i++)
		set(HEAD + count + i, 3000 + i);
	return HEAD + count + TAIL;
}

TEST(a_cycle_of_any_length_is_listed_once)
{
	for (size_t period = 1; period <= HAWK_FOLD_PERIOD_MAX; period++) {
		const struct hawk_fold_entry *repeat;

		fold(make_recursion(period, MANY));
		repeat = find(HAWK_FOLD_REPEAT);
		assert_int_equal(count_of(HAWK_FOLD_REPEAT), 1);
		assert_int_equal(repeat->period, period);
		assert_int_equal(repeat->times, MANY / period);
		assert_int_equal(repeat->frame, HEAD + period);
		assert_int_equal(entry_count, HEAD + period + 1 + MANY % period + TAIL);
	}
}

TEST(a_cycle_that_is_too_long_is_cut_in_the_middle)
{
	const struct hawk_fold_entry *cut;

	fold(make_recursion(HAWK_FOLD_PERIOD_MAX + 1, MANY));
	cut = find(HAWK_FOLD_CUT);
	assert_non_null(cut);
	assert_int_equal(count_of(HAWK_FOLD_REPEAT), 0);
	assert_int_equal(entry_count, HAWK_FOLD_ENTRIES_MAX);
	assert_int_equal(entries[0].frame, 0);
	assert_int_equal(entries[entry_count - 1].frame, HEAD + MANY + TAIL - 1);
}

TEST(two_recursions_are_two)
{
	size_t count = make_recursion(3, MANY);

	for (size_t i = 0; i < MANY; i++)
		set(count + i, 4000 + i % 7);
	fold(count + MANY);
	assert_int_equal(count_of(HAWK_FOLD_REPEAT), 2);
	assert_int_equal(count_of(HAWK_FOLD_CUT), 0);
}

/** An odd frame now and then: the ends are listed, with what repeats in them. */
TEST(an_irregular_recursion_keeps_its_ends)
{
	for (size_t i = 0; i < 20 * MANY; i++)
		set(i, i % 97 == 5 ? 9000 + i : i % 3);
	fold(20 * MANY);
	assert_int_equal(count_of(HAWK_FOLD_CUT), 1);
	assert_true(count_of(HAWK_FOLD_REPEAT) > 2);
	assert_int_equal(entries[entry_count - 1].frame + (entries[entry_count - 1].kind
								   ? entries[entry_count - 1].frames
								   : 1),
			 20 * MANY);
}

TEST(random_stacks_lose_no_frame)
{
	srandom(7);
	for (int round = 0; round < 2000; round++) {
		size_t count = HAWK_FOLD_ENTRIES_MAX + (size_t)random() % 1500;
		unsigned kinds = 1 + (unsigned)random() % 4, step = 1 + (unsigned)random() % 40;

		for (size_t i = 0; i < count; i++)
			set(i, i < step || random() % 60 == 0 ? (uint64_t)random() % kinds
							      : frames[i - step].pc);
		fold(count);
	}
}

TEST(a_short_stack_is_left_alone)
{
	fold(make_recursion(1, HAWK_FOLD_ENTRIES_MAX - HEAD - TAIL));
	assert_int_equal(entry_count, HAWK_FOLD_ENTRIES_MAX);
	assert_int_equal(count_of(HAWK_FOLD_FRAME), HAWK_FOLD_ENTRIES_MAX);
}

static double seconds_of(void (*make)(size_t i))
{
	clock_t start;

	for (size_t i = 0; i < FRAMES_MAX; i++)
		make(i);
	start = clock();
	fold(FRAMES_MAX);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void make_random(size_t i)
{
	set(i, (uint64_t)random() % 3);
}

/** Every period fits nearly, again and again. */
static void make_nearly_regular(size_t i)
{
	set(i, i % 1000 == 999 ? i : 1);
}

TEST(a_million_frames_take_linear_time)
{
	assert_true(seconds_of(make_random) < 3);
	assert_true(seconds_of(make_nearly_regular) < 3);
}
