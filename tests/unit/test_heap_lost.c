/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Live blocks whose stacks cannot be read: of traces that the table has not, and of those in it
 * that are of no site; and what is carved out of them.
 */
#include "test.h"
#include "hawk/heap/lost.h"

enum { KNOWN = 1, UNREADABLE = 2, TRACES = 3, BEYOND = 7, LOST_SITE = 5 };

static void count(const struct hawk_block *blocks, size_t all, uint64_t objects, uint64_t bytes)
{
	static uint32_t site_of_trace[TRACES] = {0, 1, LOST_SITE};
	const struct hawk_heap heap = {
		.site_of_trace = site_of_trace, .trace_count = TRACES, .lost_site = LOST_SITE};

	/* However many come at once. */
	for (size_t each = 1; each <= all; each++) {
		struct hawk_heap_lost lost = {.heap = &heap};

		for (size_t i = 0; i < all; i += each)
			hawk_heap_lost_take(&lost, &blocks[i], all - i < each ? all - i : each);
		assert_int_equal(lost.objects, objects);
		assert_int_equal(lost.bytes, bytes);
	}
}

TEST(traces_of_no_table_and_of_no_site_are_lost)
{
	const struct hawk_block blocks[] = {
		{.size = 10, .trace = KNOWN},
		{.size = 100, .trace = UNREADABLE},
		{.size = 1000, .trace = BEYOND},
	};

	count(blocks, 3, 2, 1100);
}

TEST(what_is_carved_out_of_a_block_is_its_own_no_longer)
{
	const struct hawk_block blocks[] = {
		{.size = 1000, .trace = BEYOND},
		{.size = 100, .trace = KNOWN, .depth = 1},
		{.size = 10, .trace = UNREADABLE, .depth = 2}, /* out of a known one */
		{.size = 200, .trace = UNREADABLE, .depth = 1},
		{.size = 20, .trace = KNOWN, .depth = 2},
		{.size = 5000, .trace = KNOWN},
		{.size = 300, .trace = KNOWN, .depth = 1},
	};
	const uint64_t headers = HAWK_HEADER_BYTES;

	count(blocks, 7, 3, (1000 - 100 - 200 - 2 * headers) + 10 + (200 - 20 - headers));
}
