/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Estimates for sites of a heap whose stacks were sampled. A sampled block stands for a known
 * number of blocks of its size (formats/hawk_sampling.h). Sums of such weights are unbiased; their
 * standard error is that of independent choices. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_SITE_SAMPLES_H
#define HAWK_ANALYZER_HEAP_SITE_SAMPLES_H

#include "hawk/heap/heap.h"

/** The sampled live blocks of one trace. */
struct hawk_sample_tally {
	uint64_t weight; /**< times 2^HAWK_SAMPLE_WEIGHT_SHIFT */
	uint64_t bytes;
	double objects_variance;
	double bytes_variance;
};

/** Adds live blocks to `tallies`: one for each trace id below `trace_count`, then one for all
 * others. */
void hawk_site_samples_add_blocks(const struct hawk_block *blocks, size_t count, uint64_t mean,
				  uint32_t trace_count, struct hawk_sample_tally *tallies);

/**
 * Turns sums over the sampled blocks into estimates: alloc counters from the table, live ones from
 * `tallies` (as above; NULL = no sweep). Must be called before the sites are sorted.
 */
struct hawk_error *hawk_site_samples_apply(struct hawk_heap *heap,
					   const struct hawk_sample_tally *tallies);

#endif
