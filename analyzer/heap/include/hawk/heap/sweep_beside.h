/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A sweep on several threads: each looks for blocks in a share of memory, what lies there is
 * decided in the order of addresses, and what has been decided is taken side by side again. What
 * comes out is the same whatever the number of threads.
 */
#ifndef HAWK_ANALYZER_HEAP_SWEEP_BESIDE_H
#define HAWK_ANALYZER_HEAP_SWEEP_BESIDE_H

#include "hawk/heap/sweep.h"

/** Threads that are of use: memory does not come quicker for more. */
enum { HAWK_SWEEP_PARTS_MAX = 8 };

/**
 * Blocks of one share of memory, at least one: disjoint, none carved out of another nor carved up,
 * their headers in [start, end). Only the last one may begin at `end`, or reach beyond it.
 */
struct hawk_sweep_run {
	uint64_t start;
	uint64_t end;
	const struct hawk_block *blocks;
	size_t count;
	uint32_t number; /**< for `fill`; whatever `reserve` puts there */
};

/**
 * Who takes blocks. They come in ascending order, some by `take`, and where there is a `fill`, the
 * others, nearly all, in runs: first to `reserve`, whose calls are in this order among those of
 * `take`, then to `fill`.
 */
struct hawk_sweep_taker {
	void *context;
	/** Up to HAWK_SWEEP_BATCH blocks. No `fill` of earlier ones is unfinished. */
	hawk_sweep_function *take;
	/** `*ret` false: nothing was done, the blocks come to `take`. NULL = there is nothing to
	 * do. */
	struct hawk_error *(*reserve)(void *context, struct hawk_sweep_run *run, bool *ret);
	/** On any thread, in no order, beside itself and `reserve`: `part` is another one, below
	 * hawk_sweep_parts(), for calls at the same time. NULL = all comes to `take`. */
	void (*fill)(void *context, const struct hawk_sweep_run *run, unsigned part);
};

/** How many threads there are at most for `threads`, of which 0 = as many as processors. */
unsigned hawk_sweep_parts(unsigned threads);

/** As hawk_sweep(); `progress` is called on the caller's thread. The taker has seen everything, and
 * runs no more, when this returns; after an error not all of it. */
struct hawk_error *hawk_sweep_beside(const struct hawk_target *target,
				     const struct hawk_sweep_plan *plan, unsigned threads,
				     const struct hawk_sweep_taker *taker,
				     void (*progress)(void *context, uint64_t done, uint64_t all),
				     void *progress_context, struct hawk_findings *findings,
				     struct hawk_sweep_result *ret);

#endif
