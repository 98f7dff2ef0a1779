/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How fast sites grow: differences between looks at the counters of a running process.
 *
 * Counters say how much each site ever allocated, and with live=1 also how much of it is live.
 * Without live=1, growth by site is unknown, and rates are those of allocations.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_RATES_H
#define HAWK_ANALYZER_ANALYSIS_RATES_H

#include "hawk/base/ranking.h"
#include "hawk/heap/heap.h"

/** Counts of a site: its live blocks, or all blocks that it ever allocated. */
struct hawk_rate_count {
	uint64_t objects, bytes;
};

struct hawk_rate_site {
	uint64_t id;
	uint32_t site; /**< in the heap of the last look; UINT32_MAX = it is not there */
	struct hawk_rate_count first, before, now;
};

struct hawk_rates {
	struct hawk_rate_site *sites; /**< all ever seen, sorted by id */
	size_t count;
	uint64_t looks;
	uint64_t first_ns, before_ns, now_ns; /**< of CLOCK_MONOTONIC */
	bool live;                            /**< counts are of live blocks */
	struct hawk_rate_site all;            /**< sums over all sites; always of live blocks */
	struct hawk_rate_count made;          /**< ever allocated, of all sites */
};

/** Adds a look at the counters. `rates` begins as zeros; on failure it is unchanged. */
struct hawk_error *hawk_rates_add(struct hawk_rates *rates, const struct hawk_heap *heap,
				  uint64_t now_ns);

struct hawk_rate_rank {
	int64_t growth; /**< bytes since the first look */
	uint64_t bytes;
	size_t index; /**< in rates->sites */
};

/** Ranks the sites that grew most since the first look; deinitialize also after an error. */
struct hawk_error *hawk_rates_rank(const struct hawk_rates *rates, size_t most,
				   struct hawk_ranking *ret);

/** Returns bytes per second since the look before; 0 after the first. */
double hawk_rates_per_second(const struct hawk_rates *rates, const struct hawk_rate_site *site);

void hawk_rates_deinit(struct hawk_rates *rates);

#endif
