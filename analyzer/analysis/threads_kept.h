/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads from a snapshot what threads wait for. Internal to analysis/.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_THREADS_KEPT_H
#define HAWK_ANALYZER_ANALYSIS_THREADS_KEPT_H

#include "hawk/analysis/threads.h"

/** Fills calls and locks of all threads. Returns false if the snapshot does not have them: some may
 * be filled. */
bool hawk_threads_read(const struct hawk_target *target, struct hawk_thread_work *items,
		       size_t count);

#endif
