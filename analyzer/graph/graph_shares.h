/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All blocks cut into pieces of about the same cost, and who of some threads reads which: each has
 * a share of its own, pieces in a row, and takes them in order. Who has none left takes others'
 * last ones, so that all are done at the same time. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_GRAPH_SHARES_H
#define HAWK_ANALYZER_GRAPH_GRAPH_SHARES_H

#include "hawk/heap/block_index.h"

struct hawk_shares {
	unsigned share_count;
	uint32_t piece_count;
	uint32_t *firsts;     /**< piece p is blocks [firsts[p], firsts[p + 1]) */
	uint64_t share_bytes; /**< of memory in a share, about */
	/** What is left of a share: first piece << 32 | end. Each in a cache line of its own. */
	struct hawk_share {
		uint64_t left;
		uint64_t unused[7];
	} * shares;
};

/** Up to `share_count` (1 or more) shares; fewer where they would be small. To be deinitialized
 * after success only. */
struct hawk_error *hawk_shares_cut(struct hawk_shares *shares, const struct hawk_block_index *index,
				   unsigned share_count);

/** Accepts shares of zeros. */
void hawk_shares_deinit(struct hawk_shares *shares);

/** The next piece for the thread of `share`; its own ones come first, and in order. False: none is
 * left. Any thread may call it at any time. */
bool hawk_shares_take(struct hawk_shares *shares, unsigned share, uint32_t *piece);

/** The first piece of a share; of the one behind the last share, the number of pieces. */
static inline uint32_t hawk_shares_first(const struct hawk_shares *shares, unsigned share)
{
	return (uint32_t)((uint64_t)shares->piece_count * share / shares->share_count);
}

/** Whether `piece` is of this share. */
static inline bool hawk_shares_owns(const struct hawk_shares *shares, unsigned share,
				    uint32_t piece)
{
	return piece >= hawk_shares_first(shares, share) &&
	       piece < hawk_shares_first(shares, share + 1);
}

#endif
