/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory that will be needed soon, asked for ahead of time.
 */
#ifndef HAWK_PREFETCH_H
#define HAWK_PREFETCH_H

/**
 * Asks the processor for the line of `at`, which may lie anywhere. A function of nothing but
 * __builtin_prefetch() is one without effects for gcc, which leaves out the calls of it; not so of
 * this.
 */
static inline void hawk_prefetch(const void *at)
{
	__builtin_prefetch(at);
	__asm__ volatile("");
}

#endif
