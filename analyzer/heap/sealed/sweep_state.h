/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of the sweep. Memory is cut into shares (sweep_walk.c). Any thread finds the headers
 * of a share (sweep_find.c). Share by share, in order of addresses, one thread decides which
 * headers are blocks (sweep_blocks.c). Internal to heap/.
 *
 * Invariant: the result does not depend on the bounds of shares.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_SWEEP_STATE_H
#define HAWK_ANALYZER_HEAP_SEALED_SWEEP_STATE_H

#include "hawk/target/extent.h"
#include "scan.h"
#include "sweep.h"

enum {
	HAWK_SWEEP_BIRTHS = 256,
	/* Size of a share: its blocks stay in the second-level cache until they are taken. */
	HAWK_SWEEP_SHARE_BYTES = 256 << 10,
	HAWK_SWEEP_SHARE_BYTES_MAX = 4 << 20,
	/* One part in so many of a share may be read twice; see hawk_sweep_find(). */
	HAWK_SWEEP_SHARE_BEHIND = 8,
	/* Upper limit on implausible headers kept for a share. */
	HAWK_SWEEP_BAD_MAX = 8,
};

/** A part of a mapping to be swept, in whole granules; it does not cross a multiple of the shares'
 * size. */
struct hawk_sweep_share {
	size_t mapping;
	uint64_t hole; /**< zeros from here to `start`, which need not be read */
	uint64_t start;
	uint64_t end;      /**< may be `start` */
	uint64_t data_end; /**< end of the data that the next shares continue without a gap */
};

/** Memory to sweep: mappings, minus excluded spans, minus holes of a sparse core. */
struct hawk_sweep_walk {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	const struct hawk_mapping *mappings;
	size_t mapping_count;
	uint64_t share_bytes; /**< a power of two */
	uint64_t all_bytes;   /**< of all mappings that are wanted */

	size_t mapping_next;
	size_t excluded;      /**< the current mapping's next one */
	uint64_t at;          /**< memory below has been given out */
	uint64_t hole;        /**< zeros from here to `at` */
	uint64_t data_end;    /**< of the current range of data */
	uint64_t span_end;    /**< of the memory before the next excluded span */
	uint64_t mapping_end; /**< of the mapping's present memory */
};

/** Initializes a walk with shares of `bytes`, rounded to a power of two; 0 =
 * HAWK_SWEEP_SHARE_BYTES. */
void hawk_sweep_walk_init(struct hawk_sweep_walk *walk, const struct hawk_target *target,
			  const struct hawk_sweep_plan *plan, size_t bytes);

/** Gives the next share; returns false behind the last one. */
bool hawk_sweep_walk_next(struct hawk_sweep_walk *walk, struct hawk_sweep_share *ret);

/** The result of searching a share, independent of its neighbours. */
struct hawk_sweep_found {
	struct hawk_sweep_share share;
	/** Plausible blocks in ascending order, as their headers describe them. */
	struct hawk_block *blocks;
	size_t count;
	uint64_t furthest; /**< their highest end */
	/** They lie apart: each is whole and above all earlier ones, and the last one holds no
	 * header behind the share. */
	bool apart;
	uint64_t bytes;        /**< sizes, if they lie apart */
	uint64_t header_bytes; /**< likewise */

	uint64_t swept_bytes;
	uint64_t dead;
	uint64_t implausible;
	/** Addresses of the first implausible headers, and their first words. */
	struct {
		uint64_t address, word;
	} bad[HAWK_SWEEP_BAD_MAX];
};

struct hawk_error *hawk_sweep_found_init(struct hawk_sweep_found *found, uint64_t share_bytes);

/** Accepts zeros. */
void hawk_sweep_found_deinit(struct hawk_sweep_found *found);

/** One thread that looks for headers. */
struct hawk_sweep_finder {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	const struct hawk_extent *extents; /**< one for each mapping */
	struct hawk_scan_window window;
	struct hawk_scan_page page;
};

/**
 * Fills `found`, whose share is set and whose arrays are allocated. If the last block ends slightly
 * behind the share, its rest is searched too: mostly the block is then final and need not wait for
 * the next share.
 */
struct hawk_error *hawk_sweep_find(struct hawk_sweep_finder *finder,
				   struct hawk_sweep_found *found);

/** Adds blocks to `blocks`, `bytes`, `header_bytes`, and to the sums of carved blocks. */
void hawk_sweep_sum(const struct hawk_target *target, const struct hawk_block *blocks, size_t count,
		    struct hawk_heap_sums *result);

/**
 * Decides which of overlapping blocks is set aside; blocks come in ascending order.
 *
 * A later block can set a block aside only if it begins before that block's end, and then one of
 * the two is out at once. So at most one block is ever undecided. A younger earlier block, kept or
 * not, sets a later one aside if it reaches into it: the furthest end by birth is enough to know.
 *
 * A candidate that holds a pool's object is kept at once, and further blocks in it are nested.
 */
struct hawk_sweep_resolver {
	/** Highest ends of sealed blocks by birth code; relevant if above the current address. */
	uint64_t furthest[HAWK_SWEEP_BIRTHS];
	uint64_t furthest_of_all;
	bool has_candidate; /**< the undecided block, in the batch behind the kept ones */
	bool candidate_clipped;
	uint64_t candidate_end;
	uint8_t candidate_birth;
	uint64_t settled_end; /**< of the last block that was decided without a candidate */

	/** Ends of the kept blocks around the candidate, outermost first, descending. Ends below
	 * the current address are out of date. */
	uint64_t carved[HAWK_BLOCK_DEPTH_MAX];
	unsigned carved_count;
};

/** The state of deciding, in order of addresses. */
struct hawk_sweep_state {
	const struct hawk_target *target;
	const struct hawk_extent *extents;
	struct hawk_damages *damages;

	size_t mapping; /**< the current one */

	struct hawk_sweep_resolver resolver;
	struct hawk_sweep_result result;
	/** Blocks kept since the last call of hawk_sweep_decide(), then the candidate. Has room for
	 * a share's blocks and two more. */
	struct hawk_block *batch;
	size_t batch_count;
};

/**
 * Decides about the next share's result. `batch` then holds the earlier blocks that were kept and,
 * if `*apart` is false, the share's. If `*apart` is true, all blocks of the share count, after the
 * batch.
 */
void hawk_sweep_decide(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found,
		       bool *apart);

/** Decides about the remaining block after the last share. */
void hawk_sweep_finish(struct hawk_sweep_state *sweep);

#endif
