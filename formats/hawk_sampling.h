/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The arithmetic of sampling, for the tracer that takes stacks and the analyzer that estimates.
 *
 * Points lie on the bytes that a thread allocates as a Poisson process of one point in `mean`
 * bytes; the stack of a block is taken if a point lies on it. An allocation of s bytes counts as s
 * + 1, so that empty blocks have a chance, too. So it is taken with the probability p = 1 -
 * exp(-(s + 1) / mean), independent of all others, and stands for 1 / p allocations of its size.
 * Integers only: exact to 2^-30, the same everywhere, and no floating-point flag of the host
 * changes. Prose twin: docs/format-trace-table.md. Includes nothing of ours.
 */
#ifndef HAWK_SAMPLING_H
#define HAWK_SAMPLING_H

#include <stdint.h>

enum {
	HAWK_SAMPLE_WEIGHT_SHIFT = 16, /**< weights are in units of 2^-16 */
	HAWK_SAMPLE_MEAN_LOG2_MAX = 40,
	HAWK_SAMPLE_FRACTION_BITS = 62,
};

/** Returns the bytes that an allocation counts as. */
static inline uint64_t hawk_sample_span(uint64_t bytes)
{
	return bytes + 1;
}

/** Returns a x b for fractions of 2^62. */
static inline uint64_t hawk_sample_product(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> HAWK_SAMPLE_FRACTION_BITS);
}

/** Returns 1 - exp(-span / mean) as a fraction of 2^62; `mean` is 1 .. 2^40. */
static inline uint64_t hawk_sample_probability(uint64_t span, uint64_t mean)
{
	const uint64_t one = UINT64_C(1) << HAWK_SAMPLE_FRACTION_BITS;
	unsigned halvings = 0;
	uint64_t x, term, sum;

	if (span / mean >= 43) /* exp(-43) is below 2^-62 */
		return one;
	while (span > mean << halvings >> 1)
		halvings++;
	x = (uint64_t)(((unsigned __int128)span << (HAWK_SAMPLE_FRACTION_BITS - halvings)) / mean);
	/* x - x^2/2! + x^3/3! - ..., with x of 1/2 at most */
	term = sum = x;
	for (unsigned n = 2; term; n++) {
		term = hawk_sample_product(term, x) / n;
		sum += n % 2 ? term : -term;
	}
	for (; halvings; halvings--)
		sum = 2 * sum - hawk_sample_product(sum, sum); /* 1 - (1 - p)^2 */
	return sum;
}

/** Returns how many allocations of `bytes` a sampled one stands for, times 2^16; at least 2^16. */
static inline uint64_t hawk_sample_weight(uint64_t bytes, uint64_t mean)
{
	uint64_t p = hawk_sample_probability(hawk_sample_span(bytes), mean);
	unsigned shift = HAWK_SAMPLE_FRACTION_BITS + HAWK_SAMPLE_WEIGHT_SHIFT;

	return (uint64_t)((((unsigned __int128)1 << shift) + p / 2) / p);
}

/** Returns weight x bytes in bytes, rounded. */
static inline uint64_t hawk_sample_weighted_bytes(uint64_t weight, uint64_t bytes)
{
	return (uint64_t)(((unsigned __int128)weight * bytes +
			   (1u << (HAWK_SAMPLE_WEIGHT_SHIFT - 1))) >>
			  HAWK_SAMPLE_WEIGHT_SHIFT);
}

#endif
