/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap by site: one sweep folded over the trace table. Sites are unique stacks, named by a hash
 * that is the same under ASLR, on other hosts and after restarts: over (build-id or base name,
 * link-time address) of every frame.
 */
#ifndef HAWK_SITES_H
#define HAWK_SITES_H

#include "hawk_accounting.h"
#include "hawk_life.h"
#include "hawk_sweep.h"
#include "hawk_table.h"

/** Ids of sites that are no stack. */
enum hawk_site_special {
	HAWK_SITE_NO_STACK = 0, /**< no stack was recorded */
	HAWK_SITE_LOST = 1, /**< the header names a trace that is damaged, cut off or unwritten */
	/** sample=: all allocations without a stack. Its counts are exact; the estimates of the
	 * other sites stand for them too, so that it is never listed beside those. */
	HAWK_SITE_NOT_SAMPLED = 2,
};

/** Of a site whose counts are estimates: what they are made of. */
struct hawk_site_sample {
	bool estimated;         /**< false: the site's counts are exact, the rest is 0 */
	uint64_t inuse_objects; /**< sampled blocks, exact */
	uint64_t inuse_bytes;
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t inuse_objects_error; /**< standard errors of the estimates */
	uint64_t inuse_bytes_error;
	uint64_t alloc_bytes_error; /**< at most this */
};

struct hawk_site {
	uint64_t id; /**< the stable hash, or enum hawk_site_special; printed as 16 hex digits */
	/** One trace of this site, for its frames. 0 = blocks without a stack, UINT32_MAX =
	 * HAWK_SITE_LOST: no frames can be had. */
	uint32_t trace;
	uint64_t inuse_objects;
	uint64_t inuse_bytes;
	uint64_t alloc_objects; /**< cumulative since start */
	uint64_t alloc_bytes;
	uint64_t oldest_units; /**< earliest birth among the live blocks */
	uint64_t newest_units;
	struct hawk_site_sample sample;
};

/** Live blocks that carry the site's stack, as a fold over blocks sees them: never an estimate. */
static inline uint64_t hawk_site_blocks(const struct hawk_site *site)
{
	return site->sample.estimated ? site->sample.inuse_objects : site->inuse_objects;
}

/** Requested bytes of these. */
static inline uint64_t hawk_site_block_bytes(const struct hawk_site *site)
{
	return site->sample.estimated ? site->sample.inuse_bytes : site->inuse_bytes;
}

struct hawk_heap {
	struct hawk_table *table; /**< NULL = the process was not traced */
	struct hawk_sweep_plan plan;
	struct hawk_sweep_result sweep;
	struct hawk_table_totals totals;
	/** A table file: live counts are the table's own, the sweep found nothing but these sums,
	 * and there are no ages and no accounting. */
	bool counted;
	uint64_t discarded_heaps; /**< see struct hawk_table_header */
	uint64_t sample_mean;     /**< bytes; 0 = counts of sites are exact, else estimates */
	struct hawk_site *sites;  /**< sorted by inuse_bytes, largest first, then id */
	size_t site_count;
	uint32_t *site_of_trace;           /**< index into sites by trace id, UINT32_MAX = none */
	uint32_t trace_count;              /**< entries of site_of_trace; see hawk_heap_site() */
	uint32_t lost_site;                /**< index of HAWK_SITE_LOST, UINT32_MAX = none */
	struct hawk_accounting accounting; /**< set by hawk_heap_load() only */
	struct hawk_life life;             /**< zeros without a table */
};

/** The site of a block's trace id, whatever the id; NULL = there is none (then it has no blocks
 * either). */
const struct hawk_site *hawk_heap_site(const struct hawk_heap *heap, uint32_t trace);

/**
 * Finds the table, sweeps, and groups by site. `ret->table` is NULL when there is no table: then
 * nothing else is set. Live targets are released as soon as everything needed has been read. `ret`
 * is to be deinitialized after success only.
 */
struct hawk_error *hawk_heap_load(struct hawk_target *target, struct hawk_findings *findings,
				  void (*progress)(void *context, uint64_t done, uint64_t all),
				  void *progress_context, struct hawk_heap *ret);

/** Only the table, and all of `heap` (zeros before) that comes from it alone; no sites. */
struct hawk_error *hawk_heap_load_plan(struct hawk_target *target, struct hawk_findings *findings,
				       struct hawk_heap *heap);

/** Finds the table and fills plan and site_of_trace/sites without a sweep (whatis, blocks); counts
 * stay 0. */
struct hawk_error *hawk_heap_load_table(struct hawk_target *target, struct hawk_findings *findings,
					struct hawk_heap *ret);
void hawk_heap_deinit(struct hawk_heap *heap);

/** After a sweep: blocks that the counters call live and that were not found. Too many where the
 * counters missed frees, or ran on after the core was written. */
uint64_t hawk_heap_not_found(struct hawk_target *target, const struct hawk_heap *heap);

/** The same; 0 where the counters cannot tell. */
uint64_t hawk_heap_unaccounted(struct hawk_target *target, const struct hawk_heap *heap);

/** After a sweep: no block that has not been freed is missing, as far as the counters know. */
bool hawk_heap_is_whole(struct hawk_target *target, const struct hawk_heap *heap);

/** The stable hash of a trace. */
uint64_t hawk_site_id(const struct hawk_table *table, const struct hawk_trace *trace);

/** Age in seconds of something born in `birth` units, seen from `life.end_units`. */
double hawk_heap_age_seconds(const struct hawk_heap *heap, uint64_t birth_units);

#endif
