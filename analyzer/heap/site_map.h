/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds sites: finds them by id, merges traces. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_SITE_MAP_H
#define HAWK_ANALYZER_HEAP_SITE_MAP_H

#include "hawk/heap/heap.h"

enum {
	/** Places of the two sites that always exist while sites are collected. */
	HAWK_SITE_MAP_NO_STACK = 0,
	HAWK_SITE_MAP_LOST = 1,
};

/**
 * Fills sites and site_of_trace of `heap` from its table and trace_count: one site for each
 * distinct stack, cumulative counters summed up, no live blocks yet. The two special sites come
 * first.
 */
struct hawk_error *hawk_site_map_make(struct hawk_heap *heap);

/** Sorts sites, and drops those without any count; site_of_trace and lost_site follow. */
struct hawk_error *hawk_site_map_finish(struct hawk_heap *heap);

#endif
