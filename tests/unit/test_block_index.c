/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block index: which block contains an address, against trying all blocks, from dense small
 * blocks to ones that cover many chunks; what it refuses.
 */
#include "test.h"
#include "synthetic_graph.h"

static const uint64_t CHUNK = UINT64_C(1) << HAWK_CHUNK_LOG2;

static void make(struct hawk_block_index *index, const struct hawk_block *blocks, size_t count)
{
	check(hawk_block_index_init(index, 0));
	check(hawk_block_index_add(index, blocks, count));
	assert_null(hawk_block_index_finish(index));
	assert_int_equal(index->count, count);
}

/* Only the last block that begins at or below `address` can contain it. */
static uint32_t want(const struct hawk_block *blocks, uint32_t count, uint64_t address)
{
	uint32_t low = 0;
	uint32_t high = count;
	uint32_t edge;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (blocks[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return HAWK_BLOCK_NOWHERE;
	edge = graph_oracle_edge(&blocks[low - 1], 1, address);
	return edge == HAWK_BLOCK_NOWHERE ? edge : edge + 2 * (low - 1);
}

static void expect_at(const struct hawk_block_index *index, const struct hawk_block *blocks,
		      uint64_t address)
{
	uint32_t edge = want(blocks, index->count, address);
	bool interior;
	uint32_t block = hawk_block_index_find(index, address, &interior);

	if (edge == HAWK_BLOCK_NOWHERE) {
		assert_int_equal(block, HAWK_BLOCK_NOWHERE);
		return;
	}
	assert_int_equal(block, edge >> 1);
	assert_int_equal(interior, edge & 1);
}

/* Around both ends of every block, and anywhere. */
static void expect_everywhere(const struct hawk_block *blocks, uint32_t count, uint64_t *seed)
{
	struct hawk_block_index index;
	uint64_t first = blocks[0].start;
	uint64_t span = blocks[count - 1].start + blocks[count - 1].size - first + 1;

	make(&index, blocks, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t end = blocks[i].start + blocks[i].size;

		assert_int_equal(hawk_block_start(&index, i), blocks[i].start);
		assert_int_equal(hawk_block_size(&index, i), blocks[i].size);
		assert_int_equal(index.traces[i], blocks[i].trace);
		assert_int_equal(hawk_block_index_first(&index, blocks[i].start), i);
		assert_int_equal(hawk_block_index_first(&index, blocks[i].start + 1), i + 1);
		for (int64_t near = -17; near <= 17; near++) {
			expect_at(&index, blocks, blocks[i].start + (uint64_t)near);
			expect_at(&index, blocks, end + (uint64_t)near);
		}
		if (blocks[i].size)
			expect_at(&index, blocks,
				  blocks[i].start + synthetic_random(seed) % blocks[i].size);
		expect_at(&index, blocks, first + synthetic_random(seed) % span);
		expect_at(&index, blocks, synthetic_random(seed) >> synthetic_random(seed) % 64);
	}
	hawk_block_index_deinit(&index);
}

/* Sizes below 1 << `bits`, most of them much smaller. */
static void expect_random_blocks(uint32_t count, unsigned bits, uint64_t *seed)
{
	struct hawk_block *blocks = calloc(count, sizeof(*blocks));
	uint64_t at = SYNTHETIC_HEAP;

	assert_non_null(blocks);
	for (uint32_t i = 0; i < count; i++) {
		unsigned size_bits = (unsigned)(synthetic_random(seed) % (bits + 1));
		uint64_t gap = synthetic_random(seed) % 3 ? 0 : synthetic_random(seed) % 100;

		at = ((at + 15) & ~UINT64_C(15)) + 16 * gap + 16;
		blocks[i] = (struct hawk_block){
			.start = at,
			.size = synthetic_random(seed) & ((UINT64_C(1) << size_bits) - 1),
			.trace = (uint32_t)synthetic_random(seed),
		};
		at += blocks[i].size;
	}
	expect_everywhere(blocks, count, seed);
	free(blocks);
}

TEST(the_block_of_an_address_is_found_among_random_blocks)
{
	uint64_t seed = 1;

	for (unsigned i = 0; i < 60; i++) {
		expect_random_blocks(1 + i % 7, 5, &seed);
		expect_random_blocks(2000, 4 + i % 12, &seed);
	}
}

TEST(blocks_may_cover_chunks_and_more_than_32_bits)
{
	uint64_t seed = 2;

	for (unsigned i = 0; i < 20; i++) {
		expect_random_blocks(100, 24, &seed);
		expect_random_blocks(10, 35, &seed);
	}
}

TEST(large_blocks_end_where_chunks_end)
{
	uint64_t at = SYNTHETIC_HEAP & -CHUNK;
	uint64_t seed = 3;
	const struct hawk_block blocks[] = {
		{.start = at + 16, .size = CHUNK - 32},
		{.start = at + CHUNK, .size = CHUNK - 16},
		{.start = at + 2 * CHUNK, .size = 3 * CHUNK},
		{.start = at + 5 * CHUNK + 16, .size = CHUNK - 16},
		{.start = at + 6 * CHUNK + 16, .size = 2 * CHUNK},
		{.start = at + 8 * CHUNK + 32, .size = 0},
		{.start = at + 8 * CHUNK + 48, .size = UINT32_MAX},
		{.start = at + 2000 * CHUNK, .size = UINT64_C(1) << 40},
	};

	expect_everywhere(blocks, sizeof(blocks) / sizeof(blocks[0]), &seed);
}

TEST(an_empty_index_contains_nothing)
{
	struct hawk_block_index index;
	bool interior;

	make(&index, NULL, 0);
	assert_int_equal(hawk_block_index_find(&index, 0, &interior), HAWK_BLOCK_NOWHERE);
	assert_int_equal(hawk_block_index_find(&index, UINT64_MAX, &interior), HAWK_BLOCK_NOWHERE);
	assert_int_equal(hawk_block_index_first(&index, 0), 0);
	hawk_block_index_deinit(&index);
}

TEST(more_chunks_than_can_be_numbered_are_refused)
{
	struct hawk_block_index index;
	struct hawk_error *err = NULL;

	check(hawk_block_index_init(&index, 0));
	index.chunk_max = 5;
	for (unsigned i = 0; i < 6 && !err; i++) {
		struct hawk_block block = {.start = SYNTHETIC_HEAP + i * CHUNK, .size = 16};

		err = hawk_block_index_add(&index, &block, 1);
		assert_int_equal(index.count, i);
	}
	if (!err) /* the last one is held back */
		err = hawk_block_index_finish(&index);
	assert_non_null(err);
	assert_int_equal(index.count, 5);
	assert_int_equal(hawk_error_code(err), HAWK_ERROR_UNSUPPORTED);
	hawk_error_destroy(err);
	hawk_block_index_deinit(&index);
}

TEST(addresses_above_47_bits_are_refused)
{
	const struct hawk_block block = {.start = (UINT64_C(1) << 47) - 16, .size = 17};
	struct hawk_block_index index;
	struct hawk_error *err;

	check(hawk_block_index_init(&index, 0));
	err = hawk_block_index_add(&index, &block, 1);
	if (!err)
		err = hawk_block_index_finish(&index);
	assert_non_null(err);
	assert_int_equal(hawk_error_code(err), HAWK_ERROR_UNSUPPORTED);
	hawk_error_destroy(err);
	hawk_block_index_deinit(&index);
}

/* Of the carved block below: the trace of what contains an address, 0 if nothing does. */
static void expect_carved_traces(const struct hawk_block_index *index, uint64_t at)
{
	static const struct {
		uint64_t offset;
		uint32_t trace;
	} wanted[] = {
		{16, 1},
		{47, 1},
		{48, 0},
		{64, 2},
		{103, 2},
		{104, 0},
		{112, 0},
		{128, 3},
		{143, 3},
		{144, 0},
		{160, 4},
		{191, 4},
		{192, 3},
		{327, 3},
		{328, 0},
		{336, 1},
		{1 << 20, 1},
		{(5 << 20) - 17, 1},
		{(5 << 20) - 16, 0},
		{5 << 20, 5},
		{(5 << 20) + 112, 1},
		{(1 << 23) + 15, 1},
		{(1 << 23) + 16, 0},
		{1 << 24, 6},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool interior;
		uint32_t block = hawk_block_index_find(index, at + wanted[i].offset, &interior);

		assert_int_equal(block == HAWK_BLOCK_NOWHERE ? 0 : index->traces[block],
				 wanted[i].trace);
	}
}

TEST(a_carved_block_is_what_its_pieces_leave_of_it)
{
	const uint64_t at = SYNTHETIC_HEAP;
	const struct hawk_block blocks[] = {
		{.start = at + 16, .size = 1 << 23, .trace = 1},
		{.start = at + 64, .size = 40, .trace = 2, .depth = 1},
		{.start = at + 128,
		 .size = 200,
		 .trace = 3,
		 .depth = 1}, /* a pool's memory again */
		{.start = at + 160, .size = 32, .trace = 4, .depth = 2},
		{.start = at + (5 << 20), .size = 100, .trace = 5, .depth = 1},
		{.start = at + (1 << 24), .size = 8, .trace = 6},
	};

	for (size_t split = 0; split <= sizeof(blocks) / sizeof(blocks[0]); split++) {
		struct hawk_block_index index;
		uint64_t counted = 0, bytes = 0;
		size_t all = sizeof(blocks) / sizeof(blocks[0]);

		check(hawk_block_index_init(&index, 0));
		check(hawk_block_index_add(&index, blocks, split));
		check(hawk_block_index_add(&index, blocks + split, all - split));
		check(hawk_block_index_finish(&index));
		expect_carved_traces(&index, at);
		for (uint32_t i = 0; i < index.count; i++) {
			counted += hawk_block_index_counts(&index, i);
			bytes += hawk_block_size(&index, i);
		}
		assert_int_equal(counted, all);
		/* All but four headers and padding behind two pieces. */
		assert_int_equal(bytes, (1 << 23) + 8 - 4 * 16 - 8 - 8 - 12);
		hawk_block_index_deinit(&index);
	}
}

TEST(small_blocks_cost_15_bytes_each)
{
	enum { COUNT = 1000000 };
	struct hawk_block_index index;

	check(hawk_block_index_init(&index, 0));
	for (uint32_t i = 0; i < COUNT; i++) {
		struct hawk_block block = {.start = SYNTHETIC_HEAP + 112 * (uint64_t)i + 16,
					   .size = 75};

		check(hawk_block_index_add(&index, &block, 1));
	}
	assert_null(hawk_block_index_finish(&index));
	assert_true(hawk_block_index_memory_bytes(&index) < 15 * (uint64_t)COUNT);
	hawk_block_index_deinit(&index);
}
