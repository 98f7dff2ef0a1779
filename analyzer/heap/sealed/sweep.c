/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep on one thread.
 */
#include "sweep.h"

struct hawk_error *hawk_sweep(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			      hawk_heap_function *function, void *context,
			      void (*progress)(void *context, uint64_t done, uint64_t all),
			      void *progress_context, struct hawk_findings *findings,
			      struct hawk_sweep_result *ret)
{
	const struct hawk_heap_sink taker = {.context = context, .take = function};

	return hawk_sweep_parallel(target, plan, 1, &taker, progress, progress_context, findings,
				   ret);
}
