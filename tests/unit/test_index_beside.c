/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block index of sweeps on several threads: the same to the byte, whatever memory looks like
 * where one share ends and the next begins.
 */
#include "test.h"
#include "hawk_block_index.h"
#include "synthetic_sweep_core.h"

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
	assert_int_equal(index->part_count, other->part_count);
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
	expect_same_bytes(index->parts, other->parts, sizeof(*index->parts) * index->part_count);
	expect_same_large(index, other);
}

/* `wish` of nothing: areas and records move on the way. */
static struct hawk_error *make_index(const struct sweep_core *core, unsigned threads, bool runs,
				     bool heads, uint64_t wish, struct hawk_block_index *ret)
{
	const struct hawk_sweep_taker taker = {
		.context = ret,
		.take = hawk_block_index_add,
		.reserve = runs ? hawk_block_index_reserve : NULL,
		.fill = runs ? hawk_block_index_fill : NULL,
	};
	struct hawk_sweep_result result;
	struct hawk_error *err;

	check(hawk_block_index_init(ret, wish));
	if (heads)
		check(hawk_block_index_keep_heads(ret, wish));
	err = hawk_sweep_beside(core->target, &core->plan, threads, &taker, NULL, NULL, NULL,
				&result);
	return err ? err : hawk_block_index_finish(ret);
}

static void expect_index(const struct sweep_core *core, unsigned threads, bool heads, uint64_t wish,
			 const struct hawk_block_index *one_by_one)
{
	struct hawk_block_index other = *one_by_one;
	struct hawk_block_index index;

	if (!heads)
		other.heads = NULL;
	check(make_index(core, threads, true, heads, wish, &index));
	expect_same_index(&index, &other, core->heap->size);
	hawk_block_index_deinit(&index);
}

static void expect_indexes(struct sweep_core *core, unsigned threads_max, const size_t windows[3])
{
	struct hawk_block_index one_by_one;
	uint64_t bytes = core->heap->size;

	check(make_index(core, 1, false, true, 2 * bytes, &one_by_one));
	for (unsigned threads = 1; threads <= threads_max; threads++)
		for (unsigned i = 0; i < 3; i++) {
			core->plan.window_bytes = windows[i];
			expect_index(core, threads, i % 2, i ? 2 * bytes : 0, &one_by_one);
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

TEST(what_the_index_refuses_is_refused_on_threads_too)
{
	struct sweep_core core;

	sweep_core_open_dense(&core, 24 << 20, 4);
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct hawk_block_index index;
		const struct hawk_sweep_taker taker = {.context = &index,
						       .take = hawk_block_index_add,
						       .reserve = hawk_block_index_reserve,
						       .fill = hawk_block_index_fill};
		struct hawk_sweep_result result;
		struct hawk_error *err;

		check(hawk_block_index_init(&index, core.heap->size));
		index.chunk_max = 2;
		err = hawk_sweep_beside(core.target, &core.plan, threads, &taker, NULL, NULL, NULL,
					&result);
		assert_non_null(err);
		assert_int_equal(hawk_error_code(err), HAWK_ERROR_UNSUPPORTED);
		hawk_error_destroy(err);
		hawk_block_index_deinit(&index);
	}
	sweep_core_close(&core);
}
