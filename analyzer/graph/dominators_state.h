/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of finding dominators, and the columns of their one piece of memory that each array
 * uses. Columns are reused because touching new memory costs more than any of the algorithms. A
 * column has one 32-bit number per block and a few more; the last one is given back. Internal to
 * graph/.
 *
 *     column   search                link (Lengauer-Tarjan)    result
 *     0        of blocks (with 1)    best, bucket heads         sizes
 *     1        of blocks             dominators, bucket links   dominators
 *     2        blocks                blocks                     blocks
 *     3        parents               ancestors                  numbers
 *     4        semi                  semi                       retained (with 5)
 *     5        positions             offsets of sources         retained
 *     6        edges                 sources                    -
 */
#ifndef HAWK_ANALYZER_GRAPH_DOMINATORS_STATE_H
#define HAWK_ANALYZER_GRAPH_DOMINATORS_STATE_H

#include "hawk/graph/dominators.h"

/** All that the search needs to know of a block, in one cache line. */
struct hawk_search_record {
	uint32_t offset; /**< as in the graph */
	uint32_t number; /**< until it is met, NOT_MET and its first target */
};

struct hawk_dominator_state {
	const struct hawk_graph *graph;
	const struct hawk_reach *reach;
	uint32_t count; /**< numbers given */

	struct hawk_search_record *records; /**< by block, and one behind the last */
	uint32_t *positions;                /**< by number: the next edge to look at */
	uint32_t *blocks;
	uint32_t *parents;
	uint32_t *semi;
	uint32_t *best;
	uint32_t *dominators;
	uint32_t *source_offsets;             /**< by number: sources of the edges below */
	struct hawk_dominators_ranges ranges; /**< made behind the search */

	/** Edges within a tree, without its own edges and those down it, as source << 32 | target,
	 * tree by tree. An edge to another tree leads to an older one, whose block then has no
	 * dominator but the virtual root. Most heaps' edges fit in a column, others go to an area.
	 */
	uint64_t *edges;
	uint64_t edge_count;
	uint64_t edge_capacity;
	struct hawk_area edges_area;
	uint32_t *sources;   /**< by target; behind the edges, or in an area */
	uint32_t *last_lane; /**< the edges' */
	uint64_t lane_bytes;
	struct hawk_area sources_area;
};

/** dominators_search.c: numbers every block; fills blocks, parents, semi (with edges that lead down
 * the tree), edges. Blocks that roots lead to come first, then the rest from the leaders of leaks.
 */
struct hawk_error *hawk_dominators_search_roots(struct hawk_dominator_state *state);
struct hawk_error *hawk_dominators_search_leaders(struct hawk_dominator_state *state);

/** dominators_sums.c: fills `retained`, `sizes` and `numbers` from `dominators` and `blocks`. */
void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators);

/** dominators_link.c: sorts the edges by target, then fills dominators. */
struct hawk_error *hawk_dominators_link(struct hawk_dominator_state *state);

#endif
