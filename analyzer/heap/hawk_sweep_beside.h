/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A sweep whose blocks are taken by another thread while it goes on. What comes out is the same:
 * the blocks come in the same batches and order.
 */
#ifndef HAWK_SWEEP_BESIDE_H
#define HAWK_SWEEP_BESIDE_H

#include "hawk_sweep.h"

/**
 * As hawk_sweep(), but `function` runs on a thread of its own; where none can be had, or `threads`
 * is 1 (0 = as many as there are processors), on the caller's. It has seen everything, and runs no
 * more, when this returns.
 */
struct hawk_error *hawk_sweep_beside(const struct hawk_target *target,
				     const struct hawk_sweep_plan *plan, unsigned threads,
				     hawk_sweep_function *function, void *context,
				     void (*progress)(void *context, uint64_t done, uint64_t all),
				     void *progress_context, struct hawk_findings *findings,
				     struct hawk_sweep_result *ret);

#endif
