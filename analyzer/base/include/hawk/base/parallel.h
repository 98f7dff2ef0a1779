/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Work cut into parts that run side by side. What comes out must depend on the parts only, never
 * on which thread ran which one when: then it is the same on every machine.
 */
#ifndef HAWK_ANALYZER_BASE_PARALLEL_H
#define HAWK_ANALYZER_BASE_PARALLEL_H

enum { HAWK_PARALLEL_MAX = 64 };

typedef void hawk_parallel_function(void *context, unsigned part);

/**
 * Runs parts 0 .. `parts` - 1 (at most HAWK_PARALLEL_MAX), each on a thread of its own, part 0 on
 * the caller's; where no thread can be had, the caller runs that part too. Returns when all are
 * done.
 */
void hawk_parallel_run(unsigned parts, hawk_parallel_function *function, void *context);

/** Processors that this process may use; at least 1, at most HAWK_PARALLEL_MAX. */
unsigned hawk_parallel_processors(void);

/** How many threads work is to be cut for: as many as processors, unless
 * hawk_parallel_set_threads() says otherwise. */
unsigned hawk_parallel_threads(void);

/** 0 = as many as processors; at most HAWK_PARALLEL_MAX. Not while work is under way. */
void hawk_parallel_set_threads(unsigned threads);

#endif
