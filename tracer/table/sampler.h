/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * sample=SIZE selects the allocations that get a stack. Each thread counts down the bytes to the
 * next point of its Poisson process (formats/hawk_sampling.h); the usual allocation costs one
 * subtraction and one branch. Sums for unbiased estimates are kept by trace, for the allocations
 * taken only.
 */
#ifndef HAWK_TRACER_TABLE_SAMPLER_H
#define HAWK_TRACER_TABLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk_sampling.h"

/** A thread's sampler. All zeros is valid; it seeds itself at first use. */
struct hawk_sampler {
	int64_t left;    /**< bytes to the next point; 0 = not started */
	uint64_t random; /**< state of the generator */
};

/** Mean distance of points in bytes; 0 = every allocation gets a stack. */
extern uint64_t hawk_sampler_mean;

/** Trace id of allocations without a point; 0 without sampling. */
extern uint32_t hawk_sampler_skipped;

/** Reserves hawk_sampler_skipped; the trace table must exist. Returns false without memory. */
bool hawk_sampler_init(uint64_t mean);

/** Returns the bytes to the next point, exponentially distributed, rounded down. Advances
 * `*random`. */
int64_t hawk_sampler_gap(uint64_t *random, uint64_t mean);

/** The slow half of hawk_sampler_wants(). */
bool hawk_sampler_reach(struct hawk_sampler *sampler, uint64_t span);

/** Returns true if the allocation gets a stack. Requires a mean. Called only by the sampler's
 * thread. */
static inline bool hawk_sampler_wants(struct hawk_sampler *sampler, uint64_t bytes)
{
	uint64_t span = hawk_sample_span(bytes);

	if (__builtin_expect((sampler->left -= (int64_t)span) > 0, 1))
		return false;
	return hawk_sampler_reach(sampler, span);
}

/** Same without a sampler: just as unbiased, a little slower. */
bool hawk_sampler_wants_stateless(uint64_t bytes);

/** Add a sampled allocation, or its end, to the sums of its trace; an end may be taken back. */
void hawk_sampler_count_allocation(uint32_t trace, uint64_t bytes);
void hawk_sampler_count_free(uint32_t trace, bool taken_back, uint64_t bytes);

/** Moves a sampled block from one trace to another. */
void hawk_sampler_move(uint32_t from, uint32_t to, uint64_t bytes);

#endif
