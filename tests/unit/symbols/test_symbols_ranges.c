/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranges that nest, overlap and touch; the cut segments must answer as a plain search would.
 */
#include "test.h"
#include "symbols/ranges.h"

static void expect_id(const struct hawk_ranges *ranges, uint64_t address, int64_t id)
{
	const struct hawk_range *range = hawk_ranges_find(ranges, address);

	if (id < 0) {
		assert_null(range);
		return;
	}
	assert_non_null(range);
	assert_int_equal(range->id, id);
}

TEST(empty_and_reversed_ranges_are_ignored)
{
	struct hawk_ranges ranges = {0};

	assert_true(hawk_ranges_freeze(&ranges));
	expect_id(&ranges, 5, -1);
	assert_true(hawk_ranges_add(&ranges, 5, 5, 0, 0));
	assert_true(hawk_ranges_add(&ranges, 9, 2, 0, 0));
	assert_int_equal(ranges.count, 0);
	hawk_ranges_deinit(&ranges);
}

TEST(the_last_address_can_be_covered)
{
	struct hawk_ranges ranges = {0};

	assert_true(hawk_ranges_add(&ranges, UINT64_MAX - 4, UINT64_MAX, 0, 6));
	assert_true(hawk_ranges_add(&ranges, 0, 3, 0, 5));
	assert_true(hawk_ranges_freeze(&ranges));
	expect_id(&ranges, 0, 5);
	expect_id(&ranges, 3, -1);
	expect_id(&ranges, UINT64_MAX - 1, 6);
	hawk_ranges_deinit(&ranges);
}

enum { RANDOM_RANGES = 40, RANDOM_SPACE = 300, RANDOM_ROUNDS = 500 };

/** The definition: last start, then highest rank, then shortest. */
static int64_t search(const struct hawk_range *all, uint64_t address)
{
	const struct hawk_range *best = NULL;

	for (size_t i = 0; i < RANDOM_RANGES; i++) {
		const struct hawk_range *one = &all[i];

		if (address < one->start || address >= one->end)
			continue;
		if (!best || one->start > best->start ||
		    (one->start == best->start &&
		     (one->rank > best->rank || (one->rank == best->rank && one->end < best->end))))
			best = one;
	}
	return best ? (int64_t)best->id : -1;
}

/** Every address of the segment, or of the gap, has the same answer. */
static void expect_around(const struct hawk_ranges *ranges, const struct hawk_range *all,
			  uint64_t address)
{
	int64_t id = search(all, address);
	struct hawk_range around;

	assert_int_equal(hawk_ranges_around(ranges, address, &around), id >= 0);
	assert_true(around.start <= address && address < around.end);
	if (id >= 0)
		assert_int_equal(around.id, id);
	for (uint64_t at = around.start; at < around.end && at < RANDOM_SPACE + 80; at++)
		assert_int_equal(search(all, at), id);
}

TEST(random_ranges_answer_as_a_plain_search_does)
{
	srandom(4711);
	for (int round = 0; round < RANDOM_ROUNDS; round++) {
		struct hawk_range all[RANDOM_RANGES];
		struct hawk_ranges ranges = {0};

		for (uint32_t i = 0; i < RANDOM_RANGES; i++) {
			uint64_t start = (uint64_t)random() % RANDOM_SPACE;

			all[i] = (struct hawk_range){.start = start,
						     .end = start + (uint64_t)random() % 60,
						     .rank = (uint32_t)random() % 3,
						     .id = i};
			/* Ties would be decided by id. */
			for (uint32_t k = 0; k < i; k++)
				if (all[k].start == all[i].start && all[k].rank == all[i].rank)
					all[i].end = all[i].start;
			assert_true(hawk_ranges_add(&ranges, all[i].start, all[i].end, all[i].rank,
						    all[i].id));
		}
		assert_true(hawk_ranges_freeze(&ranges));
		for (uint64_t address = 0; address < RANDOM_SPACE + 80; address++) {
			expect_id(&ranges, address, search(all, address));
			expect_around(&ranges, all, address);
		}
		hawk_ranges_deinit(&ranges);
	}
}
