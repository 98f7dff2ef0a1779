/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block index: finds the block of an address, against trying all blocks, from dense small
 * blocks to ones that cover many chunks. Refuses what it cannot index. Sweeps on several threads
 * give the same index to the byte, with any memory at the borders of shares.
 */
#include "test.h"
#include "hawk/heap/block_index.h"
#include "sweep_world.h"
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
	bool end = edge != HAWK_BLOCK_NOWHERE && edge & 1 &&
		   address == blocks[edge >> 1].start + blocks[edge >> 1].size;

	assert_int_equal(hawk_block_index_edge(index, address),
			 end && !index->apart ? HAWK_BLOCK_NOWHERE : edge);
	if (end)
		edge = HAWK_BLOCK_NOWHERE;
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
	index.apart = synthetic_random(seed) % 2;
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

	expect_everywhere(blocks, COUNT_OF(blocks), &seed);
}

/* `ulimit -v` counts it. */
TEST(the_directory_takes_twice_the_address_space_only_for_small_granules)
{
	struct hawk_block_index index;

	check(hawk_block_index_init(&index, 0));
	assert_int_equal(index.directory_area.size, 128 << 20);
	check(hawk_block_index_use_small_granules(&index));
	assert_int_equal(index.directory_area.size, 256 << 20);
	hawk_block_index_deinit(&index);
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
		assert_int_equal(index.count, i < 5 ? i + 1 : 5);
	}
	check_fails(err, HAWK_ERROR_UNSUPPORTED, "");
	hawk_block_index_deinit(&index);
}

TEST(addresses_above_48_bits_are_refused)
{
	const struct hawk_block block = {.start = (UINT64_C(1) << 48) - 16, .size = 17};
	struct hawk_block_index index;
	struct hawk_error *err;

	check(hawk_block_index_init(&index, 0));
	err = hawk_block_index_add(&index, &block, 1);
	check_fails(err ? err : hawk_block_index_finish(&index), HAWK_ERROR_UNSUPPORTED, "");
	hawk_block_index_deinit(&index);
}

/* Checks the innermost block of an address in the carved block below: its trace, 0 if none. */
static void expect_innermost(const struct hawk_block_index *index, uint64_t at)
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

	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		bool interior;
		uint32_t block = hawk_block_index_find(index, at + wanted[i].offset, &interior);

		assert_int_equal(block == HAWK_BLOCK_NOWHERE ? 0 : index->traces[block],
				 wanted[i].trace);
	}
}

TEST(an_address_belongs_to_the_innermost_block)
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

	for (size_t split = 0; split <= COUNT_OF(blocks); split++) {
		struct hawk_block_index index;
		struct hawk_stretch stretch = {0};
		uint64_t bytes = 0, words = 0;
		size_t all = COUNT_OF(blocks);

		check(hawk_block_index_init(&index, 0));
		check(hawk_block_index_add(&index, blocks, split));
		check(hawk_block_index_add(&index, blocks + split, all - split));
		check(hawk_block_index_finish(&index));
		expect_innermost(&index, at);
		assert_int_equal(index.count, all);
		assert_int_equal(index.nest_count, 2);
		for (uint32_t i = 0; i < index.count; i++) {
			assert_int_equal(hawk_block_size(&index, i), blocks[i].size);
			bytes += hawk_block_own_bytes(&index, i);
		}
		/* All but four headers. */
		assert_int_equal(bytes, (1 << 23) + 8 - 4 * 16);
		while (hawk_block_next_stretch(&index, 0, &stretch))
			words += stretch.end - stretch.start;
		/* Without padding behind three pieces. */
		assert_int_equal(words, hawk_block_own_bytes(&index, 0) - 8 - 8 - 12);
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

enum { PAGE = 4096 };

static void expect_same_large(const struct hawk_block_index *index,
			      const struct hawk_block_index *other)
{
	assert_int_equal(index->large_count, other->large_count);
	for (size_t i = 0; i < index->large_count; i++) {
		assert_int_equal(index->large[i].start, other->large[i].start);
		assert_int_equal(index->large[i].size, other->large[i].size);
		assert_int_equal(index->large[i].number, other->large[i].number);
	}
}

static void expect_same_bytes(const void *bytes, const void *other, size_t size)
{
	if (size)
		assert_memory_equal(bytes, other, size);
}

static void expect_same_index(const struct hawk_block_index *index,
			      const struct hawk_block_index *other, uint64_t heap_bytes)
{
	size_t count = index->count;
	size_t records = ((size_t)index->chunk_count + 1) << HAWK_CHUNK_RECORDS_LOG2;
	size_t chunk = SYNTHETIC_HEAP >> HAWK_CHUNK_LOG2;

	assert_int_equal(index->count, other->count);
	assert_int_equal(index->chunk_count, other->chunk_count);
	assert_int_equal(index->first_chunk, other->first_chunk);
	assert_int_equal(index->chunk_span, other->chunk_span);
	assert_int_equal(index->end, other->end);
	assert_int_equal(index->nest_count, other->nest_count);
	expect_same_bytes(index->granules, other->granules, 4 * count);
	expect_same_bytes(index->sizes, other->sizes, 4 * count);
	expect_same_bytes(index->traces, other->traces, 4 * count);
	assert_true(!index->heads == !other->heads);
	if (index->heads)
		expect_same_bytes(index->heads, other->heads, 2 * count);
	expect_same_bytes(index->records, other->records, records * sizeof(*index->records));
	expect_same_bytes(index->directory + chunk, other->directory + chunk,
			  sizeof(*index->directory) * ((heap_bytes >> HAWK_CHUNK_LOG2) + 1));
	expect_same_bytes(index->chunk_addresses, other->chunk_addresses,
			  8 * ((size_t)index->chunk_count + 1));
	expect_same_bytes(index->nests, other->nests, sizeof(*index->nests) * index->nest_count);
	expect_same_large(index, other);
}

/* `wish` of nothing: areas and records move on the way. */
static struct hawk_error *make_index(const struct sweep_core *core, unsigned threads, bool runs,
				     bool heads, uint64_t wish, struct hawk_block_index *ret,
				     struct hawk_sweep_result *result)
{
	struct hawk_damages damages = {0};
	const struct hawk_block *blocks;
	struct hawk_error *err = NULL;
	struct hawk_sweep *sweep;
	size_t count;

	check(hawk_block_index_init(ret, wish));
	if (heads)
		check(hawk_block_index_keep_heads(ret, wish));
	check(hawk_sweep_begin(core->target, &core->plan, threads, &damages, &sweep));
	do {
		check(hawk_sweep_next(sweep, &blocks, &count));
		if (runs)
			err = hawk_block_index_add(ret, blocks, count);
		for (size_t i = 0; i < count && !runs && !err; i++)
			err = hawk_block_index_add(ret, &blocks[i], 1);
	} while (count && !err);
	*result = *hawk_sweep_result(sweep);
	hawk_sweep_end(sweep);
	hawk_damages_deinit(&damages);
	return err ? err : hawk_block_index_finish(ret);
}

static void expect_index(const struct sweep_core *core, unsigned threads, bool heads, uint64_t wish,
			 const struct hawk_block_index *one_by_one,
			 const struct hawk_sweep_result *sums)
{
	struct hawk_block_index other = *one_by_one;
	struct hawk_block_index index;
	struct hawk_sweep_result result;

	if (!heads)
		other.heads = NULL;
	check(make_index(core, threads, true, heads, wish, &index, &result));
	expect_same_index(&index, &other, core->heap->size);
	assert_memory_equal(&result, sums, sizeof(result));
	hawk_block_index_deinit(&index);
}

static void expect_indexes(struct sweep_core *core, unsigned threads_max, const size_t windows[3])
{
	struct hawk_block_index one_by_one;
	struct hawk_sweep_result sums;
	uint64_t bytes = core->heap->size;

	check(make_index(core, 1, false, true, 2 * bytes, &one_by_one, &sums));
	for (unsigned threads = 1; threads <= threads_max; threads++)
		for (unsigned i = 0; i < 3; i++) {
			core->plan.window_bytes = windows[i];
			expect_index(core, threads, i % 2, i ? 2 * bytes : 0, &one_by_one, &sums);
		}
	hawk_block_index_deinit(&one_by_one);
}

TEST(the_index_of_spoiled_memory_is_the_same_to_the_byte)
{
	static const size_t windows[] = {4 * PAGE, PAGE, 0};

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sweep_core core;

		sweep_core_open_spoiled(&core, 256 << 10, seed % 2 ? PAGE : 4 * PAGE, seed);
		expect_indexes(&core, 3, windows);
		sweep_core_close(&core);
	}
}

TEST(the_index_is_the_same_across_chunks_and_large_blocks)
{
	static const size_t windows[] = {0, 16 * PAGE, 4 << 20};

	for (uint64_t seed = 0; seed < 6; seed++) {
		struct sweep_core core;

		if (seed % 3)
			sweep_core_open_dense(&core, 24 << 20, seed);
		else
			sweep_core_open_spoiled(&core, 13 << 20, 64 * PAGE, seed);
		expect_indexes(&core, 2, windows);
		sweep_core_close(&core);
	}
}

/* The block at the end of a share ends, or begins, where the next chunk begins. */
TEST(blocks_that_meet_where_chunks_meet_are_indexed_alike)
{
	static const size_t windows[] = {0, PAGE, 0};
	const uint64_t chunk = UINT64_C(1) << HAWK_CHUNK_LOG2;

	for (uint64_t size = 0; size <= 6000; size += size < 64 ? 8 : 2977)
		for (unsigned at = 0; at < 5; at++) {
			struct sweep_core core = {.heap = synthetic_heap_create(2 * chunk + PAGE)};

			for (unsigned i = 0; i < 2; i++) {
				uint64_t start = SYNTHETIC_HEAP + (i + 1) * chunk;
				uint64_t behind = start + 16 * (1 - (uint64_t)at) +
						  (size + 15) / 16 * 16 + 16;

				synthetic_heap_add_block(
					core.heap, (struct synthetic_block){.start = start - PAGE,
									    .size = 32});
				/* From 16 behind the seam to 48 in front of it. */
				synthetic_heap_add_block(
					core.heap, (struct synthetic_block){
							   .start = start + 16 * (1 - (uint64_t)at),
							   .size = i && size > PAGE ? 40 : size});
				if (behind + 32 < SYNTHETIC_HEAP + core.heap->size)
					synthetic_heap_add_block(
						core.heap, (struct synthetic_block){.start = behind,
										    .size = 8});
			}
			sweep_core_open(&core);
			expect_indexes(&core, 2, windows);
			sweep_core_close(&core);
		}
}
