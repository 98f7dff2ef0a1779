/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep at work: what sweep.c, which walks over memory, and sweep_blocks.c, which makes blocks
 * of headers, share. Internal to heap/.
 */
#ifndef HAWK_SWEEP_STATE_H
#define HAWK_SWEEP_STATE_H

#include "hawk_extent.h"
#include "hawk_scan.h"

enum { HAWK_SWEEP_BIRTHS = 256 };

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

	/** Ends of the kept blocks in which the candidate lies, from the outermost: not less than
	 * the ones behind them. Those below the address at hand are out of date. */
	uint64_t carved[HAWK_BLOCK_DEPTH_MAX];
	unsigned carved_count;
};

/** Where the blocks around the address at hand end, 0 or some address below if it lies in none. */
static inline uint64_t hawk_sweep_covered_end(const struct hawk_sweep_resolver *resolver)
{
	uint64_t end = resolver->has_candidate ? resolver->candidate_end : 0;

	return resolver->carved_count && resolver->carved[0] > end ? resolver->carved[0] : end;
}

struct hawk_sweep_state {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	hawk_sweep_function *function;
	void *context;
	void (*progress)(void *context, uint64_t done, uint64_t all);
	void *progress_context;
	uint64_t all_bytes;

	struct hawk_extent *extents;      /**< one for each mapping */
	const struct hawk_extent *extent; /**< of the mapping at hand */
	uint64_t mapping_zero_bytes;      /**< heap_zero_bytes, if the mapping proves to be heap */
	bool mapping_is_heap;

	struct hawk_scan_window window;
	struct hawk_scan_page page;
	struct hawk_sweep_resolver resolver;
	struct hawk_sweep_result result;
	size_t batch_count;
	/* Kept blocks, the candidate, and the block at hand, which is decoded where it will stay;
	 * vectors write a little more. */
	struct hawk_block batch[HAWK_SWEEP_BATCH + HAWK_SCAN_VECTOR];
};

/**
 * Puts live hits of the page from number `i` on into the batch from number `next` on, as long as
 * they are plausible, whole, and lie above all earlier ones, and there is room below
 * HAWK_SWEEP_BATCH. The resolver stays as it is. Returns the number behind the last block that was
 * put there. Twice; see hawk_cpu.h.
 */
size_t hawk_sweep_usual_plain(struct hawk_sweep_state *sweep, uint64_t address, unsigned i,
			      size_t next);
size_t hawk_sweep_usual_avx512(struct hawk_sweep_state *sweep, uint64_t address, unsigned i,
			       size_t next);

/**
 * Adds the sizes of the first blocks of a batch, of which none has an alignment of its own or was
 * carved out of another, to `*bytes`; returns how many these are, perhaps too few.
 */
size_t hawk_sweep_sum_avx512(const struct hawk_block *blocks, size_t count, uint64_t *bytes);

/** Takes the blocks of one page (or a part of one): `size` bytes, whole granules, at `address`.
 * Pages come in ascending order. */
struct hawk_error *hawk_sweep_take_page(struct hawk_sweep_state *sweep, const uint8_t *bytes,
					size_t size, uint64_t address);

/** Hands over what is left when all pages have been taken. */
struct hawk_error *hawk_sweep_finish(struct hawk_sweep_state *sweep);

#endif
