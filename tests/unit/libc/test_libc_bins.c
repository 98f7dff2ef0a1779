/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * glibc's lists of free memory, found by their shape.
 */
#include "test.h"
#include "hawk/libc/bins.h"
#include "synthetic_world.h"

enum { BINS = 127, BEFORE = 12, DATA_WORDS = 1024, FIRST = 101 };

#define DATA UINT64_C(0x7f0000010000)

static uint64_t data[DATA_WORDS];
static struct hawk_span span; /* that was found last */

/* Data of a C library with an arena whose bins are empty from the word `first` on. */
static void make_bins(unsigned first)
{
	for (unsigned i = 0; i < DATA_WORDS; i++)
		data[i] = UINT64_C(0x1111111100000007) * i;
	for (unsigned i = 0; i < 2 * BINS; i++)
		data[first + i] = DATA + 8 * (first + i / 2 * 2) - 16;
}

static bool find(struct world *world)
{
	struct hawk_words words;
	bool found;

	synthetic_core_add_memory(world->core, DATA, data, DATA_WORDS * sizeof(data[0]));
	world_open(world);
	hawk_words_init(&words, world->target);
	found = hawk_bins_next(&words, DATA, DATA + DATA_WORDS * sizeof(data[0]), &span);
	if (found) {
		struct hawk_span more;

		assert_false(hawk_bins_next(&words, span.end, DATA + DATA_WORDS * sizeof(data[0]),
					    &more));
	}
	hawk_words_deinit(&words);
	return found;
}

/* The arena's `next`, behind 254 links and 16 bytes of bits. */
enum { NEXT = FIRST + 2 * BINS + 2 };

static void expect_start(struct world *world, unsigned before)
{
	assert_true(find(world));
	assert_int_equal(span.start, DATA + 8 * (FIRST - before));
}

WORLD_TEST(what_lies_before_an_arena_without_fast_bins_is_not_its_own)
{
	make_bins(FIRST);
	data[NEXT] = DATA + 8 * (FIRST - 3);
	expect_start(world, 2);
}

WORLD_TEST(arenas_without_fast_bins_may_be_many)
{
	make_bins(FIRST);
	data[NEXT] = DATA + 8 * (FIRST - 3 + 50);
	data[NEXT + 50] = DATA + 8 * (FIRST - 3 + 60);
	data[NEXT + 60] = DATA + 8 * (FIRST - 3);
	expect_start(world, 2);
}

WORLD_TEST(a_ring_of_arenas_that_does_not_close_says_nothing)
{
	make_bins(FIRST);
	data[NEXT] = DATA + 8 * (FIRST - 3 + 50);
	data[NEXT + 50] = DATA + 8 * (FIRST - 3 + 50);
	expect_start(world, BEFORE);
}

static void expect_found(struct world *world)
{
	assert_true(find(world));
	assert_int_equal(span.start, DATA + 8 * (FIRST - BEFORE));
	assert_int_equal(span.end, DATA + 8 * (FIRST + 2 * BINS));
}

WORLD_TEST(bins_are_found_with_what_lies_before_them)
{
	make_bins(FIRST);
	for (unsigned i = 0; i < 2 * 120; i++) /* these are not empty */
		data[FIRST + i] = 0x555555550000 + 160 * i;
	expect_found(world);
}

WORLD_TEST(a_bin_that_was_overwritten_does_not_hide_the_others)
{
	make_bins(FIRST);
	data[FIRST + 4] = 0x4141414141414141;
	data[FIRST + 81] = 1;
	expect_found(world);
}

WORLD_TEST(rings_of_another_number_are_no_bins)
{
	make_bins(FIRST);
	for (unsigned i = 0; i < 6; i++) /* 124 of them */
		data[FIRST + i] = 3;
	assert_false(find(world));
}

WORLD_TEST(pointers_that_lead_anywhere_are_no_bins)
{
	make_bins(FIRST);
	for (unsigned i = 0; i < 2 * 124; i++)
		data[FIRST + i] = 0x555555550000 + 160 * i;
	assert_false(find(world));
}

WORLD_TEST(bins_whose_beginning_is_not_there_are_none)
{
	make_bins(0);
	for (unsigned i = 0; i < 2 * 100; i++) /* the last ones of an arena at the data's start */
		data[i] = DATA + 8 * (i / 2 * 2) - 16;
	for (unsigned i = 2 * 100; i < DATA_WORDS; i++)
		data[i] = 5;
	assert_false(find(world));
}

WORLD_TEST(bins_do_not_begin_within_others)
{
	make_bins(0);
	for (unsigned i = 2 * BINS; i < DATA_WORDS; i++)
		data[i] = 5;
	for (unsigned i = 0; i < 4 * BINS - 4; i++) /* every other one is empty */
		data[i] = i / 2 % 2 ? 0x555555550000 : DATA + 8 * (i / 2 * 2) - 16;
	assert_true(find(world));
	assert_int_equal(span.end, DATA + 8 * (2 * BINS));
}
