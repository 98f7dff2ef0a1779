/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Areas keep what is in them when they grow or are trimmed; parallel parts run once each.
 */
#include <stdatomic.h>

#include "test.h"
#include "hawk/base/area.h"
#include "hawk/base/parallel.h"

TEST(an_area_keeps_its_bytes_when_it_grows)
{
	struct hawk_area area;
	uint64_t size = 1;

	assert_null(hawk_area_create(&area, size));
	for (unsigned step = 1; step < 26; step++) {
		unsigned char *bytes = area.bytes;

		assert_true(area.size >= size);
		assert_int_equal(bytes[size - 1], 0);
		bytes[size - 1] = (unsigned char)step;
		for (unsigned before = 0; before < step; before++)
			assert_int_equal(bytes[(UINT64_C(1) << before) - 1], before + 1);
		size *= 2;
		assert_null(hawk_area_grow(&area, size));
	}
	hawk_area_destroy(&area);
	assert_null(area.bytes);
}

TEST(an_area_can_be_trimmed_and_grow_again)
{
	struct hawk_area area;
	unsigned char *bytes;

	assert_null(hawk_area_create(&area, 5 << 20));
	bytes = area.bytes;
	bytes[10000] = 1;
	bytes[20000] = 2;
	hawk_area_trim(&area, 10001);
	assert_true(area.size >= 10001 && area.size < 20000);
	assert_null(hawk_area_grow(&area, 5 << 20));
	bytes = area.bytes;
	assert_int_equal(bytes[10000], 1);
	assert_int_equal(bytes[20000], 0);
	hawk_area_destroy(&area);
}

TEST(a_wish_that_is_too_large_still_gives_an_area)
{
	struct hawk_area area;
	struct hawk_error *err;

	assert_null(hawk_area_create(&area, UINT64_MAX));
	err = hawk_area_grow(&area, UINT64_MAX);
	assert_ptr_equal(err, &hawk_enomem);
	hawk_area_destroy(&area);
	hawk_area_destroy(&area);
}

static void count_part(void *context, unsigned part)
{
	_Atomic unsigned *counts = context;

	atomic_fetch_add(&counts[part], 1);
}

TEST(every_part_runs_once)
{
	for (unsigned parts = 0; parts <= HAWK_PARALLEL_MAX; parts += 8) {
		_Atomic unsigned counts[HAWK_PARALLEL_MAX] = {0};

		hawk_parallel_run(parts, count_part, counts);
		for (unsigned i = 0; i < HAWK_PARALLEL_MAX; i++)
			assert_int_equal(counts[i], i < parts);
	}
	assert_in_range(hawk_parallel_processors(), 1, HAWK_PARALLEL_MAX);
}
