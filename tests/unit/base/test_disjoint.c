/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cutting of overlapping items.
 */
#include "hawk/base/disjoint.h"

#include "hawk/base/array.h"
#include "test.h"

struct item {
	uint64_t start, end;
	char name;
};

TEST(bytes_go_to_the_last_item_that_covers_them)
{
	static const struct item from[] = {{0, 100, 'a'}, {10, 50, 'b'}, {20, 30, 'c'},
					   {40, 60, 'd'}, {40, 45, 'e'}, {200, 201, 'f'}};
	static const struct item expected[] = {{0, 10, 'a'},   {10, 20, 'b'},  {20, 30, 'c'},
					       {30, 40, 'b'},  {40, 45, 'e'},  {45, 60, 'd'},
					       {60, 100, 'a'}, {200, 201, 'f'}};
	size_t count = sizeof(from) / sizeof(*from), capacity = count;
	struct item *items = malloc(sizeof(from));

	memcpy(items, from, sizeof(from));
	assert_true(hawk_disjoint_make(&items, &count, &capacity, sizeof(*items)));
	assert_int_equal(count, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(items[i].start, expected[i].start);
		assert_int_equal(items[i].end, expected[i].end);
		assert_int_equal(items[i].name, expected[i].name);
	}
	free(items);
}
