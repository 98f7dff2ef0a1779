/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Notes of memory that is kept out of cores.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/arena.h"

static unsigned noted(const struct hawk_table_header *header, uint64_t start, uint64_t end)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HAWK_TABLE_UNDUMPED; i++)
		count += header->undumped[i].start == start && header->undumped[i].end == end;
	return count;
}

static void a_range_is_noted_once(void **state)
{
	struct hawk_table_header header = {0};

	(void)state;
	hawk_undumped_add(&header, 0x1000, 0x9000);
	hawk_undumped_add(&header, 0x1000, 0x9000);
	hawk_undumped_add(&header, 0x2000, 0x3000);
	hawk_undumped_add(&header, 0x8000, 0xa000);
	assert_int_equal(noted(&header, 0x1000, 0x9000), 1);
	assert_int_equal(noted(&header, 0x2000, 0x3000), 0);
	assert_int_equal(noted(&header, 0x8000, 0xa000), 1);
	assert_int_equal(noted(&header, 0, 0), HAWK_TABLE_UNDUMPED - 2);
	assert_int_equal(header.undumped_lost, 0);
}

static void what_is_dumped_again_is_taken_back(void **state)
{
	struct hawk_table_header header = {0};

	(void)state;
	hawk_undumped_add(&header, 0x1000, 0x3000);
	hawk_undumped_add(&header, 0x5000, 0x9000);
	hawk_undumped_remove(&header, 0x1000, 0x8000); /* of the second only a part */
	assert_int_equal(noted(&header, 0x1000, 0x3000), 0);
	assert_int_equal(noted(&header, 0x5000, 0x9000), 1);
	hawk_undumped_add(&header, 0xa000, 0xb000);
	assert_int_equal(header.undumped[0].start, 0xa000);
}

static void ranges_without_room_are_counted(void **state)
{
	struct hawk_table_header header = {0};

	(void)state;
	for (uint64_t i = 1; i <= HAWK_TABLE_UNDUMPED + 3; i++)
		hawk_undumped_add(&header, i << 16, (i << 16) + 0x1000);
	assert_int_equal(header.undumped_lost, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_noted_once),
		cmocka_unit_test(what_is_dumped_again_is_taken_back),
		cmocka_unit_test(ranges_without_room_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
