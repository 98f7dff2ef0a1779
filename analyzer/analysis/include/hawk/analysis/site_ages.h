/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Births and reachability of each site's live blocks: one pass over all blocks, a few hundred bytes
 * per site.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_AGES_H
#define HAWK_ANALYZER_ANALYSIS_SITE_AGES_H

#include "hawk/analysis/selection.h"
#include "hawk/analysis/growth.h"
#include "hawk/analysis/site_list.h"

struct hawk_site_ages {
	uint64_t objects;
	uint64_t bytes;
	uint64_t unknown_objects;             /**< their headers cannot be read */
	uint64_t born_objects[HAWK_AGE_BINS]; /**< times HAWK_AGE_ONE */
	uint64_t born_bytes[HAWK_AGE_BINS];   /**< likewise */
	uint64_t reach_bytes[HAWK_REACH_KINDS];
};

/** Makes `(*ret)[site]` for each of the heap's sites, from the blocks in `chosen` (a bit for each;
 * NULL = all). Caller frees. */
struct hawk_error *hawk_site_ages_make(const struct hawk_heap *heap, const struct hawk_reach *reach,
				       const uint64_t *chosen, struct hawk_site_ages **ret);

/** Returns all facts about site `index`. `filtered`: `ages` lacks some of its blocks, so counters
 * do not apply. */
struct hawk_growth_facts hawk_site_ages_facts(const struct hawk_graph *graph, uint32_t index,
					      const struct hawk_site_ages *ages, bool filtered);

/** Keeps the sites of `list` that have blocks and the verdict `only` (UNCLEAR = any); sorts by live
 * bytes, most first. `ages` is by site. */
void hawk_site_ages_choose(const struct hawk_graph *graph, const struct hawk_site_ages *ages,
			   bool filtered, enum hawk_growth_verdict only,
			   struct hawk_site_list *list);

/** Returns the process's lifetime in seconds, up to `life.end_units`. */
double hawk_site_ages_life_seconds(const struct hawk_heap *heap);

#endif
