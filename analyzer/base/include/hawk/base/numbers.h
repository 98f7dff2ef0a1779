/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Arithmetic that many files need: the smaller of two numbers, times in nanoseconds.
 */
#ifndef HAWK_ANALYZER_BASE_NUMBERS_H
#define HAWK_ANALYZER_BASE_NUMBERS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hawk_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** Returns the time of `clock` (CLOCK_MONOTONIC, CLOCK_REALTIME), which must exist. */
static inline uint64_t hawk_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
