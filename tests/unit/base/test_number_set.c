/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The set of numbers against an array of flags: none, few, many, and all of them.
 */
#include "test.h"
#include "hawk/base/number_set.h"
#include "synthetic_heap.h"

enum { CHUNK = 1 << 16, LIMIT = 5 * CHUNK + 1234 };

/* One number in `per[chunk]`; 0 = none. */
static void fill(struct hawk_number_set *set, uint8_t *flags, const unsigned *per, uint32_t first,
		 uint32_t end, uint64_t *seed)
{
	for (uint32_t i = first; i < end; i++) {
		unsigned one = per[i / CHUNK];

		if (!one || synthetic_random(seed) % one)
			continue;
		hawk_number_set_add(set, i);
		flags[i] = 1;
	}
}

static void expect_flags(const struct hawk_number_set *set, const uint8_t *flags)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < LIMIT; i++) {
		if (hawk_number_set_has(set, i) != flags[i])
			fail_msg("%u", i);
		count += flags[i];
	}
	assert_int_equal(set->count, count);
	assert_false(hawk_number_set_has(set, LIMIT));
	assert_false(hawk_number_set_has(set, UINT64_MAX));
}

TEST(has_what_was_added_and_nothing_else)
{
	static const unsigned pers[][6] = {
		{0, 0, 0, 0, 0, 0},   {1, 1, 1, 1, 1, 1},       {100, 3, 0, 5000, 1, 70},
		{0, 0, 16, 0, 15, 0}, {60000, 0, 17, 14, 2, 1},
	};
	uint64_t seed = 9;

	for (size_t i = 0; i < COUNT_OF(pers); i++)
		for (uint32_t cut = 0; cut <= LIMIT; cut += LIMIT / 3) {
			uint8_t *flags = calloc(LIMIT, 1);
			struct hawk_number_set sets[2];

			for (unsigned j = 0; j < 2; j++)
				assert_null(hawk_number_set_init(&sets[j], LIMIT));
			fill(&sets[0], flags, pers[i], 0, cut, &seed);
			fill(&sets[1], flags, pers[i], cut, LIMIT, &seed);
			hawk_number_set_add_all(&sets[0], &sets[1]);
			expect_flags(&sets[0], flags);
			hawk_number_set_deinit(&sets[0]);
			hawk_number_set_deinit(&sets[1]);
			free(flags);
		}
}

TEST(zeros_have_nothing)
{
	struct hawk_number_set zeros = {0};

	assert_false(hawk_number_set_has(&zeros, 0));
	hawk_number_set_deinit(&zeros);
	assert_null(hawk_number_set_init(&zeros, 0));
	assert_false(hawk_number_set_has(&zeros, 0));
	hawk_number_set_deinit(&zeros);
}
