/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of finding dominators, and which lanes of the workspace each array lives in. Internal
 * to graph/.
 *
 *     lane     search                link (Lengauer-Tarjan)     sizes, groups
 *     0        of blocks (with 1)    best, bucket heads         sizes
 *     1        of blocks             dominators, bucket links   dominators
 *     2        blocks                blocks                     blocks
 *     3        parents               ancestors                  next positions
 *     4        semi                  semi                       retained (with 5)
 *     5        positions             offsets of sources         retained
 *     6        edges                 sources                    order, numbers
 */
#ifndef HAWK_DOMINATORS_STATE_H
#define HAWK_DOMINATORS_STATE_H

#include "hawk_dominators.h"

/** What the search wants of a block, for one cache miss. */
struct hawk_search_record {
	uint32_t offset; /**< as in the graph */
	uint32_t number; /**< until it is met, hawk_dominators_first() */
};

struct hawk_dominator_state {
	const struct hawk_graph *graph;
	const struct hawk_roots *roots;
	const struct hawk_reach *reach;
	const struct hawk_reach *all; /**< NULL: they will not be extended */
	const struct hawk_workspace *workspace;
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

	struct hawk_dominators_base base;
	uint64_t apart_edges; /**< those from here on are of blocks apart */
	uint32_t listed; /**< edges to numbers below are in the list, whatever tree they are in */
	/** Targets of edges that lead from blocks apart to others; those are not in the list. */
	uint32_t *outward;
	size_t outward_count;
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

/** dominators_search.c: room for `count` edges in the list. */
struct hawk_error *hawk_dominators_reserve_edges(struct hawk_dominator_state *state,
						 uint64_t count);

/** Whether an edge from the virtual root goes by this root. */
static inline bool hawk_dominators_root_counts(const struct hawk_dominator_state *state,
					       const struct hawk_root *root)
{
	return state->reach->edges == HAWK_EDGES_ALL || hawk_root_is_strong(root);
}

/** dominators_search.c: numbers every block; fills blocks, parents, semi (with edges that lead down
 * the tree), edges. First what roots lead to; then, from the leaders of leaks, the rest; blocks
 * apart at last. */
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

/** Notes an edge between blocks with numbers that is not in the search's tree. */
struct hawk_error *hawk_dominators_edge(struct hawk_dominator_state *state, uint32_t source,
					uint32_t target);

/** Of a block; `group_count` or more = none. */
static inline uint32_t hawk_dominators_group(const struct hawk_dominators_groups *groups,
					     const struct hawk_block_index *index, uint32_t block)
{
	uint32_t trace = index->traces[block];

	if (groups->chosen && !(groups->chosen[block / 64] >> block % 64 & 1))
		return UINT32_MAX;
	if (trace > groups->trace_count)
		trace = groups->trace_count;
	return groups->group_of_trace ? groups->group_of_trace[trace] : trace;
}

/** dominators_extend.c: a block that was hung higher. */
struct hawk_extension_move {
	uint32_t number;
	uint32_t from;
	uint32_t to;
};

/**
 * dominators_regroup.c: makes of sums before `moves` those behind them. `ends` and sizes are of the
 * tree before them, the dominators those behind them. False: too much would change, and the sums
 * are of no more use.
 */
bool hawk_dominators_regroup(const struct hawk_dominators *dominators,
			     const struct hawk_block_index *index,
			     const struct hawk_dominators_groups *groups, const uint32_t *ends,
			     const struct hawk_extension_move *moves, size_t move_count,
			     uint64_t *sums);

/** dominators_stretches.c: about as many stretches as `threads`, where there are trees enough. */
struct hawk_dominators_stretches hawk_dominators_cut(const uint32_t *parents, uint32_t count,
						     unsigned threads);

/** dominators_sums.c: fills `retained` and `sizes` from `dominators`. */
void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators);

/** dominators_sums.c: the numbers in an order in which every subtree is a stretch of its size, and
 * `ends`, where those stretches end, in a lane of its own. */
uint32_t *hawk_dominators_order(const struct hawk_dominators *dominators, uint32_t **ends);

/** dominators_link.c: sorts the edges by target, then fills dominators. */
struct hawk_error *hawk_dominators_link(struct hawk_dominator_state *state);

/** dominators_apart.c: takes the outward edges from the list, and decides whether too much is
 * apart. */
struct hawk_error *hawk_dominators_part(struct hawk_dominator_state *state);

/** dominators_apart.c: behind the link, makes the outward edges count, and fills base.moves. */
struct hawk_error *hawk_dominators_add_outward(struct hawk_dominator_state *state);

/**
 * dominators_join.c: the dominators of blocks apart by all pointers, as far as they are apart too.
 * Others get a dominator that is right or too low, but never too high. They get new numbers; all
 * blocks must have one. False: it could not be done.
 */
bool hawk_dominators_join(struct hawk_dominators *dominators, const struct hawk_graph *graph,
			  const struct hawk_roots *roots, const struct hawk_reach *all);

#endif
