/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep at work. Memory is cut into shares (sweep_walk.c); in each of them headers are found,
 * on any thread (sweep_find.c); share by share, in the order of addresses, it is decided which of
 * them are blocks (sweep_blocks.c). Internal to heap/.
 *
 * Invariant: what comes out does not depend on where shares begin and end.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_SWEEP_STATE_H
#define HAWK_ANALYZER_HEAP_SEALED_SWEEP_STATE_H

#include "hawk/target/extent.h"
#include "scan.h"
#include "sweep.h"

enum {
	HAWK_SWEEP_BIRTHS = 256,
	/* Blocks of one stay in a processor's second cache until they are taken. */
	HAWK_SWEEP_SHARE_BYTES = 256 << 10,
	HAWK_SWEEP_SHARE_BYTES_MAX = 4 << 20,
	/* So little of a share may be looked at twice; see hawk_sweep_find(). */
	HAWK_SWEEP_SHARE_BEHIND = 8,
	/* Implausible headers of a share whose places are kept. */
	HAWK_SWEEP_BAD_MAX = 8,
};

/** A part of a mapping to be swept, in whole granules; it does not cross a multiple of the shares'
 * size. */
struct hawk_sweep_share {
	size_t mapping;
	uint64_t hole; /**< zeros from here to `start`, which need not be looked at */
	uint64_t start;
	uint64_t end;      /**< may be `start` */
	uint64_t data_end; /**< up to here the next shares go on without a gap */
};

/** What is to be swept: mappings, minus excluded spans, minus holes of a sparse core. */
struct hawk_sweep_walk {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	const struct hawk_mapping *mappings;
	size_t mapping_count;
	uint64_t share_bytes; /**< a power of two */
	uint64_t all_bytes;   /**< of all mappings that are wanted */

	size_t mapping_next;
	size_t excluded;      /**< the next one of the mapping at hand */
	uint64_t at;          /**< what is below has been given out */
	uint64_t hole;        /**< zeros from here to `at` */
	uint64_t data_end;    /**< of the range of data at hand, */
	uint64_t span_end;    /**< of what lies in front of the next excluded span, */
	uint64_t mapping_end; /**< of what is there of the mapping */
};

/** `bytes` 0 = HAWK_SWEEP_SHARE_BYTES; rounded to a power of two. */
void hawk_sweep_walk_init(struct hawk_sweep_walk *walk, const struct hawk_target *target,
			  const struct hawk_sweep_plan *plan, size_t bytes);

/** False if there are no more. */
bool hawk_sweep_walk_next(struct hawk_sweep_walk *walk, struct hawk_sweep_share *ret);

/** What was found in a share, whatever lies around it. */
struct hawk_sweep_found {
	struct hawk_sweep_share share;
	/** Plausible blocks in ascending order, as their headers have it. */
	struct hawk_block *blocks;
	size_t count;
	uint64_t furthest; /**< the highest end of them */
	/** They lie apart, each above all earlier ones and whole, and no header lies in the last
	 * one behind the share. */
	bool apart;
	uint64_t bytes;        /**< sizes, if they lie apart */
	uint64_t header_bytes; /**< likewise */

	/** Pages (or parts) of nothing but zeros, as far as they could be read. */
	struct hawk_span *zeros;
	size_t zero_count;
	uint64_t zero_bytes; /**< of those that no earlier block of the share covers, if they lie
				apart */
	uint64_t swept_bytes;
	uint64_t touched_bytes;
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
 * Fills `found`, whose share is set and whose arrays are there. Where the last block ends a little
 * behind the share, the rest of it is looked at, too: mostly it is a whole block then, and need not
 * wait for the next share.
 */
struct hawk_error *hawk_sweep_find(struct hawk_sweep_finder *finder,
				   struct hawk_sweep_found *found);

/** Adds blocks to `blocks`, `bytes`, `header_bytes`, and to the sums of what was carved. */
void hawk_sweep_sum(const struct hawk_target *target, const struct hawk_block *blocks, size_t count,
		    struct hawk_heap_sums *result);

/**
 * Decides which of overlapping blocks is set aside; blocks come in ascending order.
 *
 * A block can be set aside by a later one only as long as that begins before its end, and then one
 * of the two is out at once: so at most one block is ever undecided. An earlier one, whatever
 * became of it, sets aside a later one if it is younger and reaches into it: for that the furthest
 * end by birth is enough.
 *
 * A candidate in which a pool's object lies is kept at once, and what follows in it is nested.
 */
struct hawk_sweep_resolver {
	/** Ends of sealed blocks by birth code, where they may be above the address at hand. */
	uint64_t furthest[HAWK_SWEEP_BIRTHS];
	uint64_t furthest_of_all;
	bool has_candidate; /**< the undecided block, in the batch behind the kept ones */
	bool candidate_clipped;
	uint64_t candidate_end;
	uint8_t candidate_birth;
	uint64_t settled_end; /**< of the last block that was decided without a candidate */

	/** Ends of the kept blocks in which the candidate lies, from the outermost: not less than
	 * the ones behind them. Those below the address at hand are out of date. */
	uint64_t carved[HAWK_BLOCK_DEPTH_MAX];
	unsigned carved_count;
};

/** Deciding, in the order of addresses. */
struct hawk_sweep_state {
	const struct hawk_target *target;
	const struct hawk_mapping *mappings;
	const struct hawk_extent *extents;
	struct hawk_damages *damages;

	size_t mapping; /**< the one at hand; SIZE_MAX = none yet */
	uint64_t mapping_swept_bytes;
	uint64_t mapping_zero_bytes; /**< heap_zero_bytes, if the mapping proves to be heap */
	bool mapping_is_heap;

	struct hawk_sweep_resolver resolver;
	struct hawk_sweep_result result;
	/** Kept blocks since hawk_sweep_decide() was called last, and the candidate behind them;
	 * room for those of a share, and two. */
	struct hawk_block *batch;
	size_t batch_count;
};

/**
 * Decides about what was found in the next share: `batch` has what became of earlier blocks and, if
 * `*apart` is false, of those of the share; else these are all blocks, behind the batch.
 */
void hawk_sweep_decide(struct hawk_sweep_state *sweep, const struct hawk_sweep_found *found,
		       bool *apart);

/** Decides about what is left when all shares have been. */
void hawk_sweep_finish(struct hawk_sweep_state *sweep);

#endif
