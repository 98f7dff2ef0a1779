/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Work split into parts that run in parallel. Results must depend on the parts only, never on
 * scheduling, so they are the same on every machine.
 */
#ifndef HAWK_ANALYZER_BASE_PARALLEL_H
#define HAWK_ANALYZER_BASE_PARALLEL_H

enum { HAWK_PARALLEL_MAX = 64 };

typedef void hawk_parallel_function(void *context, unsigned part);

/**
 * Runs parts 0 .. `parts` - 1 (at most HAWK_PARALLEL_MAX), each on its own thread and part 0 on the
 * caller's. If a thread cannot be created, the caller runs that part. Returns when all are done.
 */
void hawk_parallel_run(unsigned parts, hawk_parallel_function *function, void *context);

/** Returns the processors this process may use: at least 1, at most HAWK_PARALLEL_MAX. */
unsigned hawk_parallel_processors(void);

/** Returns the number of threads to split work for: one per processor, unless
 * hawk_parallel_set_threads() changed it. */
unsigned hawk_parallel_threads(void);

/**
 * Sets that number: 0 = one per processor; at most HAWK_PARALLEL_MAX. Not while work is running.
 */
void hawk_parallel_set_threads(unsigned threads);

#endif
