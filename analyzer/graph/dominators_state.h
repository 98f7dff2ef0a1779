/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of finding dominators, and which lanes of the workspace each array lives in. Internal
 * to graph/.
 *
 *     lane     search                link (Lengauer-Tarjan)     sizes, groups
 *     0        records (with 1)      best, bucket heads         sizes
 *     1        records               dominators, bucket links   dominators
 *     2        blocks                blocks                     blocks
 *     3        parents               ancestors                  next positions
 *     4        semi                  semi                       retained (with 5)
 *     5        positions             offsets of sources         retained
 *     6        edges                 sources                    order
 */
#ifndef HAWK_DOMINATORS_STATE_H
#define HAWK_DOMINATORS_STATE_H

#include "hawk_dominators.h"

/** What the search wants of a block: in one place, for one cache miss. */
struct hawk_search_record {
	uint32_t offset; /**< as in the graph */
	uint32_t number; /**< 0 = not met yet */
};

struct hawk_dominator_state {
	const struct hawk_graph *graph;
	const struct hawk_roots *roots;
	const struct hawk_reach *reach;
	uint32_t count; /**< numbers given */

	struct hawk_search_record *records; /**< by block */
	uint32_t *positions;                /**< by number: the next edge to look at */
	uint32_t *blocks;
	uint32_t *parents;
	uint32_t *semi;
	uint32_t *best;
	uint32_t *dominators;
	uint32_t *source_offsets; /**< by number, count + 2: sources of edges that are not in the
				     tree and do not lead down it */

	/** Such edges, as source << 32 | target, in the order in which they were found: in a lane,
	 * where there is room for most heaps, else in an area. */
	uint64_t *edges;
	uint64_t edge_count;
	uint64_t edge_capacity;
	struct hawk_area edges_area;
	uint32_t *sources; /**< by target; behind the edges, or in an area */
	uint64_t lane_bytes;
	struct hawk_area sources_area;
};

/** dominators_search.c: numbers every block; fills blocks, parents, semi (with edges that lead down
 * the tree), edges. First what roots lead to; then, from the leaders of leaks, the rest. */
struct hawk_error *hawk_dominators_search_roots(struct hawk_dominator_state *state);
struct hawk_error *hawk_dominators_search_leaders(struct hawk_dominator_state *state);

/** dominators.c: fills `retained` and `sizes` from `dominators`. */
void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators);

/** dominators_link.c: sorts the edges by target, then fills dominators. */
struct hawk_error *hawk_dominators_link(struct hawk_dominator_state *state);

#endif
