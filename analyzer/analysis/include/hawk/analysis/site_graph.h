/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointer graph folded by site: which sites' blocks hold which other sites' blocks, and at
 * which offset. Exact: blocks count once, however many pointers they have, in any reading order.
 *
 * An edge leads from a site (or the root set) to a site and lists places: the offsets of its
 * pointers. With more than HAWK_SITE_PLACES_MAX offsets, or one beyond HAWK_SITE_PLACE_BYTES_MAX,
 * the blocks are arrays and have one place: "anywhere".
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SITE_GRAPH_H
#define HAWK_ANALYZER_ANALYSIS_SITE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hawk_graph;
struct hawk_error;
struct hawk_text;

enum {
	HAWK_SITE_PLACES_MAX = 16,
	HAWK_SITE_PLACE_BYTES_MAX = 1024,
};

/** In place of a source site: the root set. Its offsets are enum hawk_root_kind. */
static const uint32_t HAWK_SITE_ROOTS = UINT32_MAX;

/** In place of an offset: several, as in an array. */
static const uint64_t HAWK_SITE_ANYWHERE = UINT64_MAX;

struct hawk_site_counts {
	uint64_t pointers;
	uint64_t interior; /**< of those: not to a block's first byte */
	uint64_t sources;  /**< blocks of the source site with such a pointer; for roots: words */
	uint64_t targets;  /**< blocks of the target site that are pointed to */
	uint64_t target_bytes; /**< of those, requested */
};

struct hawk_site_place {
	uint64_t offset; /**< in the source blocks; or HAWK_SITE_ANYWHERE */
	struct hawk_site_counts counts;
};

struct hawk_site_edge {
	uint32_t source; /**< index into heap->sites, or HAWK_SITE_ROOTS */
	uint32_t target; /**< index into heap->sites */
	struct hawk_site_counts counts;
	uint32_t first_place; /**< index into places */
	uint32_t place_count; /**< at least 1 */
};

struct hawk_site_graph {
	/** Largest target_bytes first, then by source and target. */
	struct hawk_site_edge *edges;
	size_t edge_count;
	/** Of each edge: largest target_bytes first, then by offset. */
	struct hawk_site_place *places;
	size_t place_count;
};

/** Folds the pointers from any block to those in `wanted` (a bit per block; NULL = all). Reads
 * blocks. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_site_graph_make(const struct hawk_graph *graph, const uint64_t *wanted,
					struct hawk_site_graph *ret);

/** Accepts a zeroed graph. */
void hawk_site_graph_deinit(struct hawk_site_graph *graph);

/** Appends "+8, +24, ...": the first `most` places of an edge; of roots, their kinds. */
void hawk_site_edge_append_places(const struct hawk_site_graph *graph,
				  const struct hawk_site_edge *edge, size_t most,
				  struct hawk_text *text);

/** Edges in the order of their targets; of one target, in the order of the graph. */
struct hawk_site_edges {
	const struct hawk_site_graph *graph;
	uint32_t *edges;
	uint32_t *first; /**< by site; [site + 1] is the end */
};

/** `graph` must outlive `*ret`, which is to be zeros before, and deinitialized in any case.
 * `sites`: how many the heap has. */
struct hawk_error *hawk_site_edges_make(const struct hawk_site_graph *graph, size_t sites,
					struct hawk_site_edges *ret);
void hawk_site_edges_deinit(struct hawk_site_edges *edges);

#endif
