/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pieces by the addresses of blocks, which say well enough what reading them takes: what is wrong
 * with that, others' last pieces make good.
 */
#include "graph_shares.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

enum {
	BLOCK_COST_BYTES = 64,       /* of a block, whatever its size */
	SHARE_BYTES_MIN = 256 << 10, /* not worth a thread of its own */
	PIECE_BYTES_MIN = 64 << 10,
	PIECES_MAX = 128, /* of a share */
};

/* What it takes to read the blocks in front of `block`, in bytes. The inside of large blocks does
 * not count, of which chunks are kept free of others: each is many pieces. */
static uint64_t cost_before(const struct hawk_block_index *index, uint32_t block)
{
	return (uint64_t)(index->granules[block] - index->granules[0]) * HAWK_GRANULE_BYTES +
	       (uint64_t)block * BLOCK_COST_BYTES;
}

/* The first block from `low` on in front of which there is no less than `cost`, or the last one. */
static uint32_t block_at(const struct hawk_block_index *index, uint32_t low, uint64_t cost)
{
	uint32_t high = index->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cost_before(index, middle) < cost)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How many shares and pieces of `all` bytes. */
static void count_pieces(struct hawk_shares *shares, uint64_t all, unsigned share_count)
{
	uint64_t pieces = 1;

	shares->share_count = (unsigned)less(all / SHARE_BYTES_MIN, share_count);
	if (!shares->share_count)
		shares->share_count = 1;
	shares->share_bytes = all / shares->share_count;
	if (shares->share_count > 1)
		pieces = less(shares->share_bytes / PIECE_BYTES_MIN, PIECES_MAX);
	shares->piece_count = (uint32_t)pieces * shares->share_count;
}

struct hawk_error *hawk_shares_cut(struct hawk_shares *ret, const struct hawk_block_index *index,
				   unsigned share_count)
{
	uint64_t all = index->count ? cost_before(index, index->count - 1) +
					      hawk_block_size(index, index->count - 1)
				    : 0;
	struct hawk_shares shares = {0};

	count_pieces(&shares, all, share_count);
	shares.firsts = calloc((size_t)shares.piece_count + 1, sizeof(*shares.firsts));
	shares.shares =
		aligned_alloc(sizeof(*shares.shares), shares.share_count * sizeof(*shares.shares));
	if (!shares.firsts || !shares.shares) {
		hawk_shares_deinit(&shares);
		return &hawk_enomem;
	}
	for (uint32_t i = 1; i < shares.piece_count; i++)
		shares.firsts[i] =
			block_at(index, shares.firsts[i - 1], all / shares.piece_count * i);
	shares.firsts[shares.piece_count] = index->count;
	for (unsigned i = 0; i < shares.share_count; i++)
		shares.shares[i].left = (uint64_t)hawk_shares_first(&shares, i) << 32 |
					hawk_shares_first(&shares, i + 1);
	*ret = shares;
	return NULL;
}

void hawk_shares_deinit(struct hawk_shares *shares)
{
	free(shares->firsts);
	free(shares->shares);
	*shares = (struct hawk_shares){0};
}

static uint32_t count_left(uint64_t left)
{
	uint32_t first = (uint32_t)(left >> 32);
	uint32_t end = (uint32_t)left;

	return first < end ? end - first : 0;
}

/* A share's first piece, or its last one. */
static bool take(struct hawk_share *share, bool last, uint32_t *piece)
{
	uint64_t left = __atomic_load_n(&share->left, __ATOMIC_RELAXED);
	uint64_t less;

	do {
		if (!count_left(left))
			return false;
		*piece = last ? (uint32_t)left - 1 : (uint32_t)(left >> 32);
		less = last ? left - 1 : left + (UINT64_C(1) << 32);
	} while (!__atomic_compare_exchange_n(&share->left, &left, less, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

/* The share of which most is left; NULL = nothing is left of any. */
static struct hawk_share *fullest(struct hawk_shares *shares)
{
	struct hawk_share *ret = NULL;
	uint32_t most = 0;

	for (unsigned i = 0; i < shares->share_count; i++) {
		struct hawk_share *share = &shares->shares[i];
		uint32_t count = count_left(__atomic_load_n(&share->left, __ATOMIC_RELAXED));

		if (count > most) {
			most = count;
			ret = share;
		}
	}
	return ret;
}

bool hawk_shares_take(struct hawk_shares *shares, unsigned share, uint32_t *piece)
{
	struct hawk_share *other;

	if (take(&shares->shares[share], false, piece))
		return true;
	while ((other = fullest(shares)) != NULL)
		if (take(other, true, piece))
			return true;
	return false;
}
