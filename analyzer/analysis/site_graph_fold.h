/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The site graph while pointers are being added: places and edges found by hash, and which (place,
 * target block) pairs have been seen. Internal to analysis/.
 *
 * Most blocks are pointed to from one place or two: those are in an array by block; the pairs of
 * all further places are in a set, and so are those of further edges. Pointers come in runs of the
 * same places: the last ones are tried before the table.
 */
#ifndef HAWK_SITE_GRAPH_FOLD_H
#define HAWK_SITE_GRAPH_FOLD_H

#include "hawk_site_graph.h"
#include "hawk_pointers.h"
#include "hawk_prefetch.h"

struct hawk_site_fold;

/** A set of 64-bit numbers above 0. */
struct hawk_pair_set {
	struct hawk_area area;
	uint64_t *slots;
	size_t slot_count; /**< a power of two, or 0 */
	size_t count;
};

struct hawk_fold_place {
	uint32_t source, target;
	uint32_t offset; /**< UINT32_MAX: anywhere */
	uint32_t edge;
	uint32_t last_source; /**< block; all its pointers come one after the other */
	struct hawk_site_counts counts;
};

struct hawk_fold_edge {
	uint32_t source, target;
	uint32_t last_source;
	uint32_t place_count;
	bool anywhere;
	/** What the sum over its places counts more than once. */
	uint64_t repeated_sources, repeated_targets, repeated_bytes;
	struct hawk_site_counts counts; /**< after hawk_site_fold_sum() */
};

enum {
	HAWK_FOLD_RECENT_LOG2 = 14,
	HAWK_FOLD_BATCH = 256,
	HAWK_FOLD_SPARE = 1, /**< written before it is known whether it counts */
};

/** An offset that is not told. */
static const uint32_t HAWK_FOLD_ANYWHERE = UINT32_MAX;

/** Pointers on their way into the fold: step by step for all of them, so that each step's cache
 * misses overlap. */
struct hawk_folded {
	uint32_t count;
	uint32_t source_sites[HAWK_FOLD_BATCH + HAWK_FOLD_SPARE];
	uint32_t target_sites[HAWK_FOLD_BATCH + HAWK_FOLD_SPARE];
	uint32_t offsets[HAWK_FOLD_BATCH + HAWK_FOLD_SPARE];
	uint32_t recent[HAWK_FOLD_BATCH + HAWK_FOLD_SPARE]; /**< place that it may be + 1 */
	uint32_t source_blocks[HAWK_FOLD_BATCH + HAWK_FOLD_SPARE];
	uint32_t edges[HAWK_FOLD_BATCH + HAWK_FOLD_SPARE];
	uint32_t numbers[HAWK_FOLD_BATCH]; /**< places, when they have been found */
};

struct hawk_site_fold {
	const struct hawk_graph *graph;
	const uint64_t *wanted; /**< for those who add: bits of target blocks; NULL = all */
	struct hawk_fold_place *places;
	struct hawk_fold_edge *edges;
	size_t place_count, place_capacity;
	size_t edge_count, edge_capacity;
	uint32_t *place_slots; /**< number + 1; 0 = empty */
	uint32_t *edge_slots;
	size_t place_slot_count, edge_slot_count; /**< powers of two */
	uint32_t *recent;                         /**< by hash: place + 1 */
	struct hawk_area first_area;
	/** By block: numbers + 1 of the two places that it was first seen from. */
	struct hawk_first_places {
		uint32_t first;
		uint32_t second;
	} * first;
	struct hawk_pair_set further_places; /**< place << 32 | block + 1 */
	struct hawk_pair_set further_edges;
};

struct hawk_error *hawk_site_fold_init(struct hawk_site_fold *fold, const struct hawk_graph *graph);
void hawk_site_fold_deinit(struct hawk_site_fold *fold);

/** Where a place is noted when it was met. */
static inline uint32_t hawk_fold_recent_slot(uint32_t source, uint32_t target, uint32_t offset)
{
	uint32_t mixed = (source * 31 + target) * 257 + offset / (uint32_t)sizeof(uint64_t);

	return mixed * UINT32_C(0x9e3779b9) >> (32 - HAWK_FOLD_RECENT_LOG2);
}

/** What a pointer to `block` will need. */
static inline void hawk_site_fold_prefetch(const struct hawk_site_fold *fold, uint32_t block)
{
	const struct hawk_block_index *index = &fold->graph->heap->index;

	hawk_prefetch(&index->traces[block]);
	hawk_prefetch(&index->sizes[block]);
	hawk_prefetch(&fold->first[block]);
}

/** To be called when all pointers have been added. */
void hawk_site_fold_sum(struct hawk_site_fold *fold);

/** Pointers of blocks, all of a block's one after the other. Those from or to blocks of no site do
 * not count. */
struct hawk_error *hawk_site_fold_add(struct hawk_site_fold *fold,
				      const struct hawk_pointer *pointers, size_t count);

/** A pointer of the root set; each is a source of its own. */
struct hawk_error *hawk_site_fold_add_root(struct hawk_site_fold *fold, uint32_t kind,
					   uint32_t edge);

#endif
