/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of finding dominators, and which lanes of their one piece of memory each array lives
 * in: used again and again, because touching new memory costs more than any of the algorithms. A
 * lane is one 32-bit number per block and a few more; the last one is given back. Internal to
 * graph/.
 *
 *     lane     search                link (Lengauer-Tarjan)     result
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

/** What the search wants of a block, for one cache miss. */
struct hawk_search_record {
	uint32_t offset; /**< as in the graph */
	uint32_t number; /**< until it is met, hawk_dominators_first() */
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
	uint32_t *source_offsets;                   /**< by number: sources of the edges below */
	struct hawk_dominators_stretches stretches; /**< made behind the search */

	/** Edges that are not in the tree, do not lead down it, nor out of it (only into older
	 * trees, whose blocks then have no dominator but the virtual root), as source << 32 |
	 * target, tree by tree: in a lane, where there is room for most heaps, else in an area. */
	uint64_t *edges;
	uint64_t edge_count;
	uint64_t edge_capacity;
	struct hawk_area edges_area;
	uint32_t *sources;   /**< by target; behind the edges, or in an area */
	uint32_t *last_lane; /**< the edges' */
	uint64_t lane_bytes;
	struct hawk_area sources_area;
};

/** In the place of a number: the block was not met yet, and its first edge leads to the block that
 * the other bits are (HAWK_BLOCKS_MAX is less). So a search down a list waits for memory once a
 * block: not for its edges, too. */
static const uint32_t HAWK_DOMINATORS_NOT_MET = UINT32_C(1) << 31;

/** The number of a block, 0 = not met yet, of what is in its place. */
static inline uint32_t hawk_dominators_met(uint32_t word)
{
	return word & HAWK_DOMINATORS_NOT_MET ? 0 : word;
}

/** dominators_search.c: an edge from the virtual root. */
struct hawk_error *hawk_dominators_search_from(struct hawk_dominator_state *state, uint32_t block);

/** dominators_search.c: for the place of a block's number; 0 if its first edge does not count, or
 * there is none. */
uint32_t hawk_dominators_first(const struct hawk_dominator_state *state, size_t block);

/** Whether an edge from the virtual root goes by this root. */
static inline bool hawk_dominators_root_counts(const struct hawk_dominator_state *state,
					       const struct hawk_root *root)
{
	return state->reach->edges == HAWK_EDGES_ALL || hawk_root_is_strong(root);
}

/** dominators_search.c: numbers every block; fills blocks, parents, semi (with edges that lead down
 * the tree), edges. First what roots lead to; then, from the leaders of leaks, the rest. */
struct hawk_error *hawk_dominators_search_roots(struct hawk_dominator_state *state);
struct hawk_error *hawk_dominators_search_leaders(struct hawk_dominator_state *state);

/** Gives `block` the next number, and notes the edge from `parent` to it. */
static inline uint32_t hawk_dominators_number(struct hawk_dominator_state *state, uint32_t block,
					      uint32_t parent)
{
	uint32_t number = ++state->count;

	state->blocks[number] = block;
	state->parents[number] = parent;
	state->semi[number] = parent;
	return number;
}

/** dominators_sums.c: fills `retained`, `sizes` and `numbers` from `dominators` and `blocks`. */
void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators);

/** dominators_link.c: sorts the edges by target, then fills dominators. */
struct hawk_error *hawk_dominators_link(struct hawk_dominator_state *state);

#endif
