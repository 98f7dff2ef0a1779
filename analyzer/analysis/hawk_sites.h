/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap by site: one sweep folded over the trace table. Sites are unique stacks, named by a hash
 * that is the same under ASLR, on other hosts and after restarts: over (build-id or base name,
 * link-time address) of every frame.
 */
#ifndef HAWK_SITES_H
#define HAWK_SITES_H

#include "hawk_sweep.h"
#include "hawk_table.h"

struct hawk_site {
	uint64_t id;    /**< the stable hash; printed as 16 hex digits */
	uint32_t trace; /**< one trace of this site, for its frames; 0 = blocks without a stack */
	uint64_t inuse_objects;
	uint64_t inuse_bytes;
	uint64_t alloc_objects; /**< cumulative since start */
	uint64_t alloc_bytes;
	uint64_t oldest_units; /**< earliest birth among the live blocks */
	uint64_t newest_units;
};

struct hawk_heap {
	struct hawk_table *table; /**< NULL = the process was not traced */
	struct hawk_sweep_plan plan;
	struct hawk_sweep_result sweep;
	struct hawk_table_totals totals;
	struct hawk_site *sites; /**< sorted by inuse_bytes, largest first, then id */
	size_t site_count;
	uint32_t *site_of_trace; /**< index into sites by trace id, UINT32_MAX = none */
};

/**
 * Finds the table, sweeps, and groups by site. `ret->table` is NULL when there is no table: then
 * nothing else is set. Live targets are released as soon as everything needed has been read.
 */
struct hawk_error *hawk_heap_load(struct hawk_target *target, struct hawk_findings *findings,
				  void (*progress)(void *context, uint64_t done, uint64_t all),
				  void *progress_context, struct hawk_heap *ret);

/** Finds the table and fills plan and site_of_trace/sites without a sweep (whatis, blocks); counts
 * stay 0. */
struct hawk_error *hawk_heap_load_table(struct hawk_target *target, struct hawk_findings *findings,
					struct hawk_heap *ret);
void hawk_heap_deinit(struct hawk_heap *heap);

/** The stable hash of a trace. */
uint64_t hawk_site_id(const struct hawk_table *table, const struct hawk_trace *trace);

/** Age in seconds of something born in `birth` units, seen from the table's last clock reading. */
double hawk_heap_age_seconds(const struct hawk_heap *heap, uint64_t birth_units);

#endif
