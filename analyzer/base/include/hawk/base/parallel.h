/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Work split into parts that run in parallel. Results must depend on the parts only, never on
 * scheduling, so they are the same on every machine.
 */
#ifndef HAWK_ANALYZER_BASE_PARALLEL_H
#define HAWK_ANALYZER_BASE_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>

enum { HAWK_PARALLEL_MAX = 64 };

typedef void hawk_parallel_function(void *context, unsigned part);

/** One of several threads. */
struct hawk_parallel_part {
	hawk_parallel_function *function;
	void *context;
	unsigned number;
	struct hawk_progress *progress; /**< the caller's */
	pthread_t thread;
	bool started;
};

/** Threads that run beside the caller's. */
struct hawk_parallel_team {
	struct hawk_parallel_part parts[HAWK_PARALLEL_MAX];
	unsigned count;
};

/** Starts parts 1 .. `parts` - 1, each on its own thread; part 0 is left to the caller. A thread
 * that cannot be created is not `started`. */
void hawk_parallel_start(struct hawk_parallel_team *team, unsigned parts,
			 hawk_parallel_function *function, void *context);

/** Waits for all of them to end. */
void hawk_parallel_join(struct hawk_parallel_team *team);

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
