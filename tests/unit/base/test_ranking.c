/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The first items of random streams against sorting all of them, and the order of blocks.
 */
#include "test.h"
#include "hawk/analysis/block_order.h"
#include "hawk/base/ranking.h"
#include "hawk/heap/source.h"
#include "synthetic_heap.h"

enum { STREAMS = 2000, ITEMS_MAX = 300 };

struct item {
	uint32_t key;
	uint32_t name; /* no two are the same */
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left;
	const struct item *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static size_t fill(struct item *items, uint64_t *seed)
{
	size_t count = synthetic_random(seed) % (ITEMS_MAX + 1);
	uint32_t keys = 1u << synthetic_random(seed) % 12;

	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct item){(uint32_t)synthetic_random(seed) % keys, i};
	return count;
}

TEST(keeps_the_first_of_a_stream_in_order)
{
	uint64_t seed = 4;

	for (unsigned i = 0; i < STREAMS; i++) {
		struct item items[ITEMS_MAX];
		size_t count = fill(items, &seed);
		size_t most = synthetic_random(&seed) % (i % 2 ? 20 : 2 * ITEMS_MAX);
		size_t want = most < count ? most : count;
		struct hawk_ranking ranking;

		hawk_ranking_init(&ranking, most, sizeof(struct item), compare_items);
		for (size_t j = 0; j < count; j++)
			assert_null(hawk_ranking_offer(&ranking, &items[j]));
		hawk_ranking_sort(&ranking);
		qsort(items, count, sizeof(*items), compare_items);
		assert_int_equal(ranking.count, want);
		assert_true(ranking.capacity <= most);
		if (want)
			assert_memory_equal(ranking.items, items, want * sizeof(*items));
		hawk_ranking_deinit(&ranking);
	}
}

TEST(takes_no_memory_for_items_that_do_not_come)
{
	struct item item = {1, 2};
	struct hawk_ranking ranking;

	hawk_ranking_init(&ranking, SIZE_MAX, sizeof(item), compare_items);
	assert_null(ranking.items);
	assert_null(hawk_ranking_offer(&ranking, &item));
	assert_int_equal(ranking.count, 1);
	assert_true(ranking.capacity < 1000);
	hawk_ranking_deinit(&ranking);
}

TEST(blocks_come_by_size_then_age_then_address)
{
	static const struct hawk_block blocks[] = {
		{.start = 0x300, .size = 9, .birth = 200}, {.start = 0x200, .size = 8, .birth = 3},
		{.start = 0x500, .size = 8, .birth = 3},   {.start = 0x100, .size = 8, .birth = 4},
		{.start = 0x400, .size = 0, .birth = 0},
	};
	enum { COUNT = COUNT_OF(blocks) };

	for (int i = 0; i < COUNT; i++)
		for (int j = 0; j < COUNT; j++)
			assert_int_equal(hawk_block_order(&blocks[i], &blocks[j]),
					 (i > j) - (i < j));
}
