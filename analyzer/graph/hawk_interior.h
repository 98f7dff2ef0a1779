/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The interior edges of a graph, in ascending order. They are few in most programs, and everybody
 * who wants them would have to go through all edges: so they are listed once, with their sources.
 * Those of a block to itself are left out, because they change nothing for marking and dominators.
 *
 * A list takes an eighth of a byte per edge at most; where there are more, a walk looks for them.
 */
#ifndef HAWK_INTERIOR_H
#define HAWK_INTERIOR_H

#include "hawk_graph.h"

struct hawk_interior {
	const struct hawk_graph *graph;
	bool listed;
	uint32_t count; /**< of a list */
	struct hawk_interior_edge {
		uint32_t edge; /**< its number */
		uint32_t source;
	} * edges; /**< in the area */
	struct hawk_area area;
};

/** `graph` must outlive `ret`. Without memory nothing is listed. */
void hawk_interior_init(struct hawk_interior *ret, const struct hawk_graph *graph,
			unsigned threads);

/** Accepts zeros, and leaves them behind. */
void hawk_interior_deinit(struct hawk_interior *interior);

/** Begins with zeros but for `interior`. */
struct hawk_interior_walk {
	const struct hawk_interior *interior;
	uint32_t next;   /**< place in the list, or edge */
	uint32_t edge;   /**< the current one */
	uint32_t source; /**< of an edge at or before the current one */
};

/** To the next edge; false: there is none. Edges of a block to itself may be among them. */
static inline bool hawk_interior_next(struct hawk_interior_walk *walk)
{
	const struct hawk_interior *interior = walk->interior;

	if (!interior->listed) {
		walk->edge = hawk_graph_next_interior(interior->graph, walk->next);
		walk->next = walk->edge + 1;
		return walk->edge < interior->graph->edge_count;
	}
	if (walk->next == interior->count)
		return false;
	walk->edge = interior->edges[walk->next].edge;
	walk->source = interior->edges[walk->next++].source;
	return true;
}

/** The current edge's. */
static inline uint32_t hawk_interior_source(struct hawk_interior_walk *walk)
{
	if (!walk->interior->listed)
		walk->source = hawk_graph_source(walk->interior->graph, walk->edge, walk->source);
	return walk->source;
}

/** The current edge's. */
static inline uint32_t hawk_interior_target(const struct hawk_interior_walk *walk)
{
	return walk->interior->graph->edges[walk->edge] >> 1;
}

#endif
