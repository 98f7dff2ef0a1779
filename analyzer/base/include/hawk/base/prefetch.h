/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory that will be needed soon, asked for ahead of time.
 */
#ifndef HAWK_ANALYZER_BASE_PREFETCH_H
#define HAWK_ANALYZER_BASE_PREFETCH_H

#include <stdint.h>

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

enum {
	HAWK_LINE_LOG2 = 6,
	HAWK_AHEAD_STREAMS_LOG2 = 2,
	HAWK_AHEAD_PAGE_LOG2 = 12,
	HAWK_AHEAD_WINDOW_LOG2 = HAWK_AHEAD_PAGE_LOG2 + HAWK_AHEAD_STREAMS_LOG2,
};

/**
 * For the line of `at`, one of the next 16 KiB; another one for each. It need not be there.
 *
 * Processors prefetch by themselves, but begin anew with every page of 4 KiB. Four pages side by
 * side, line by line, keep four such streams going: where one line after the other is asked for
 * 4 KiB ahead, memory comes at 10 GB/s, and so at 19 (a Sapphire Rapids; 8 to 12 without).
 */
static inline const void *hawk_ahead(const void *at)
{
	const uintptr_t window_bytes = (uintptr_t)1 << HAWK_AHEAD_WINDOW_LOG2;
	uintptr_t address = (uintptr_t)at;
	uintptr_t line = (address & (window_bytes - 1)) >> HAWK_LINE_LOG2;
	uintptr_t stream = line & ((1 << HAWK_AHEAD_STREAMS_LOG2) - 1);

	return (const void *)((address & -window_bytes) + window_bytes +
			      (stream << HAWK_AHEAD_PAGE_LOG2) +
			      (line >> HAWK_AHEAD_STREAMS_LOG2 << HAWK_LINE_LOG2));
}

/** Reads nothing: `at` may lie anywhere. */
static inline void hawk_prefetch_ahead(const void *at)
{
	hawk_prefetch(hawk_ahead(at));
}

#endif
