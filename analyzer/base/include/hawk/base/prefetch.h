/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prefetching memory that will be needed soon.
 */
#ifndef HAWK_ANALYZER_BASE_PREFETCH_H
#define HAWK_ANALYZER_BASE_PREFETCH_H

#include <stdint.h>

/**
 * Prefetches the cache line of `at`, which may be any address. The asm keeps gcc from treating the
 * function as free of side effects and dropping its calls.
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
 * Maps the line of `at` one-to-one to a line in the next 16 KiB, which need not be mapped.
 *
 * Hardware prefetchers restart at every 4 KiB page. Interleaving four pages line by line keeps four
 * streams going. Measured on a Sapphire Rapids: 10 GB/s when prefetching each line 4 KiB ahead, 19
 * this way, 8 to 12 without prefetching.
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

/** Prefetches hawk_ahead(at); `at` may be any address. */
static inline void hawk_prefetch_ahead(const void *at)
{
	hawk_prefetch(hawk_ahead(at));
}

#endif
