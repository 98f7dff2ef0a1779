/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shares of the blocks: they are all of them, and every piece is taken once.
 */
#include "test.h"
#include "graph_shares.h"
#include "hawk_parallel.h"

enum { BLOCKS = 20000, BLOCK_BYTES = 112, HOLE_BYTES = 1 << 30, THREADS = 4, PIECES = 4096 };

/* Small blocks, in the middle of them a hole and `large` bytes at once. */
static void make_index(struct hawk_block_index *index, uint32_t count, uint64_t large)
{
	uint64_t at = UINT64_C(0x7f0000000010);

	assert_null(hawk_block_index_init(index, 0));
	for (uint32_t i = 0; i < count; i++) {
		struct hawk_block block = {.start = at, .size = BLOCK_BYTES};

		if (i == count / 2 && large)
			block.size = large;
		at += block.size + 16;
		if (i == count / 2)
			at += HOLE_BYTES;
		assert_null(hawk_block_index_add(index, &block, 1));
	}
	assert_null(hawk_block_index_finish(index));
}

static void expect_all_blocks(const struct hawk_shares *shares, uint32_t count)
{
	assert_int_equal(shares->firsts[0], 0);
	assert_int_equal(shares->firsts[shares->piece_count], count);
	for (uint32_t i = 0; i < shares->piece_count; i++)
		assert_true(shares->firsts[i] <= shares->firsts[i + 1]);
	assert_int_equal(hawk_shares_first(shares, 0), 0);
	assert_int_equal(hawk_shares_first(shares, shares->share_count), shares->piece_count);
}

TEST(shares_are_of_about_the_same_size)
{
	struct hawk_block_index index;
	struct hawk_shares shares;
	uint32_t most = 0;

	make_index(&index, BLOCKS, 0);
	assert_null(hawk_shares_cut(&shares, &index, THREADS));
	assert_int_equal(shares.share_count, THREADS);
	assert_true(shares.piece_count >= 8 * THREADS);
	expect_all_blocks(&shares, BLOCKS);
	for (uint32_t i = 0; i < shares.piece_count; i++)
		if (shares.firsts[i + 1] - shares.firsts[i] > most)
			most = shares.firsts[i + 1] - shares.firsts[i];
	/* The hole costs nothing but the rest of a chunk. */
	assert_true(most < BLOCKS / 16);
	hawk_shares_deinit(&shares);
	hawk_block_index_deinit(&index);
}

TEST(few_blocks_are_one_share)
{
	struct hawk_block_index index;
	struct hawk_shares shares;
	uint32_t piece;

	for (uint32_t count = 0; count < 3; count++) {
		make_index(&index, count, 0);
		assert_null(hawk_shares_cut(&shares, &index, THREADS));
		assert_int_equal(shares.share_count, 1);
		expect_all_blocks(&shares, count);
		assert_true(hawk_shares_take(&shares, 0, &piece));
		assert_int_equal(piece, 0);
		assert_false(hawk_shares_take(&shares, 0, &piece));
		hawk_shares_deinit(&shares);
		hawk_block_index_deinit(&index);
	}
}

/* Whose share is empty takes the last piece of the fullest. */
TEST(own_pieces_come_first_and_in_order)
{
	struct hawk_block_index index;
	struct hawk_shares shares;
	uint32_t piece;
	uint32_t own;

	make_index(&index, BLOCKS, UINT64_C(3) << 30);
	assert_null(hawk_shares_cut(&shares, &index, 2));
	expect_all_blocks(&shares, BLOCKS);
	own = hawk_shares_first(&shares, 1);
	for (uint32_t i = 0; i < own; i++) {
		assert_true(hawk_shares_take(&shares, 0, &piece));
		assert_int_equal(piece, i);
		assert_true(hawk_shares_owns(&shares, 0, piece));
	}
	assert_true(hawk_shares_take(&shares, 1, &piece));
	assert_int_equal(piece, own);
	for (uint32_t i = shares.piece_count; --i > own;) {
		assert_true(hawk_shares_take(&shares, 0, &piece));
		assert_int_equal(piece, i);
		assert_true(hawk_shares_owns(&shares, 1, piece));
	}
	assert_false(hawk_shares_take(&shares, 0, &piece));
	assert_false(hawk_shares_take(&shares, 1, &piece));
	hawk_shares_deinit(&shares);
	hawk_block_index_deinit(&index);
}

struct taking {
	struct hawk_shares shares;
	uint8_t taken[PIECES];
};

static void take_all(void *context, unsigned part)
{
	struct taking *taking = context;
	uint32_t piece;

	while (hawk_shares_take(&taking->shares, part, &piece))
		__atomic_add_fetch(&taking->taken[piece], 1, __ATOMIC_RELAXED);
}

TEST(every_piece_is_taken_once_by_whatever_threads)
{
	struct hawk_block_index index;

	make_index(&index, BLOCKS, 0);
	for (unsigned round = 0; round < 200; round++) {
		struct taking taking = {0};

		assert_null(hawk_shares_cut(&taking.shares, &index, THREADS));
		assert_true(taking.shares.piece_count <= PIECES);
		hawk_parallel_run(1 + round % THREADS, take_all, &taking);
		for (uint32_t i = 0; i < taking.shares.piece_count; i++)
			assert_int_equal(taking.taken[i], 1);
		hawk_shares_deinit(&taking.shares);
	}
	hawk_block_index_deinit(&index);
}
