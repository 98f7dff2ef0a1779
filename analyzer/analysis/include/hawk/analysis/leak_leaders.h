/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Attributes indirectly lost blocks to the definitely lost blocks ("leaders", graph/reach.h) that
 * lead to them, by site. Each block counts once, for the lowest leader.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_LEAK_LEADERS_H
#define HAWK_ANALYZER_ANALYSIS_LEAK_LEADERS_H

#include "hawk/analysis/leaks.h"

/**
 * Sums the indirectly lost blocks by their leader's site (the last one, heap->site_count: none).
 * Only blocks with a bit in `leaders` count (NULL = all). Needs edges and `reach` (the graph's, or
 * one with other heuristics); caller frees.
 */
struct hawk_error *hawk_leak_lost(const struct hawk_graph *graph, const struct hawk_reach *reach,
				  const uint64_t *leaders, struct hawk_chosen **ret);

/** Definitely lost blocks of one site, and the blocks lost through them. */
struct hawk_leak_leader {
	uint32_t site;           /**< index into heap->sites */
	uint32_t example;        /**< the lowest such block */
	uint64_t leaders;        /**< number of such blocks */
	struct hawk_chosen lost; /**< indirectly lost blocks of the requested site */
};

/**
 * Finds the sites that lost the indirectly lost blocks of `site`: sites with the most bytes first,
 * then by number. Needs edges and `reach`, as above; caller frees.
 */
struct hawk_error *hawk_leak_leaders_of(const struct hawk_graph *graph,
					const struct hawk_reach *reach, uint32_t site,
					struct hawk_leak_leader **ret, size_t *count);

/** Origin of a site's lost blocks. */
struct hawk_leak_origin {
	uint32_t site; /**< whose definitely lost blocks lost half of them or more; else itself */
	struct hawk_chosen lost; /**< through that site's: blocks of any site, leaders included */
};

/**
 * Finds the origin of each of `sites`, up to HAWK_LEAK_ORIGINS_MAX. Sites that lose each other
 * share one origin, the lowest number: a ring's leader is merely its lowest block. Needs edges and
 * reach.
 */
enum { HAWK_LEAK_ORIGINS_MAX = 16 };
struct hawk_error *hawk_leak_origins(const struct hawk_graph *graph, const struct hawk_reach *reach,
				     const uint32_t *sites, size_t count,
				     struct hawk_leak_origin *ret);

#endif
