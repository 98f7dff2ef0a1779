/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointer graph of a heap: which block points to which, which roots lead to blocks, and which
 * interior pointers are as good as start pointers. All that must be read while a process stands
 * still; what is found in the graph later needs no memory.
 *
 * For every block there is the list of its pointers, in the order in which they lie in it
 * (compressed sparse rows, 4 bytes per block and 4 per pointer).
 *
 * Conservative: every aligned word that lies wholly inside a block's requested bytes and whose
 * value is an address inside a block counts. The same pointer twice is two edges. Neither the
 * number of threads nor the way the target is read has any influence on the result.
 */
#ifndef HAWK_ANALYZER_GRAPH_GRAPH_H
#define HAWK_ANALYZER_GRAPH_GRAPH_H

#include "hawk/graph/heuristics.h"
#include "hawk/graph/roots.h"

/** An edge is the number of the block pointed to << 1 | this, if not to its first byte. */
enum { HAWK_EDGE_INTERIOR = 1 };

struct hawk_graph {
	const struct hawk_heap *heap; /**< the owner's */
	uint32_t count;               /**< blocks */
	uint32_t edge_count;
	uint32_t *offsets; /**< block b's are edges[offsets[b]] .. edges[offsets[b + 1] - 1] */
	uint32_t *edges;
	struct hawk_roots roots;
	struct hawk_explained explained; /**< by all heuristics */
	struct hawk_pointer_offsets
		*pointer_offsets; /**< of a snapshot: where pointers lie; NULL = memory tells */
	struct hawk_area offsets_area;
	struct hawk_area edges_area;
};

/**
 * Reads every block once. `vtables`: NULL, or for heuristics. HAWK_ERROR_UNSUPPORTED if there are
 * 2^32 pointers or more. `heap` must outlive `ret`, which is to be deinitialized after success
 * only.
 */
struct hawk_error *hawk_graph_make(const struct hawk_heap *heap,
				   const struct hawk_vtable_oracle *vtables,
				   struct hawk_findings *findings, struct hawk_graph *ret);

/** The first step of that: edges alone, without roots and what heuristics explain. */
struct hawk_error *hawk_graph_read_edges(const struct hawk_heap *heap, struct hawk_graph *ret);

/** Writes the graph to a snapshot, from which hawk_graph_make() takes it, and reads where pointers
 * lie: of a living process before the release. */
struct hawk_error *hawk_graph_save(const struct hawk_graph *graph,
				   struct hawk_snapshot_writer *writer);

/** Accepts a graph of zeros. */
void hawk_graph_deinit(struct hawk_graph *graph);

/** Returns true if the edge leads one past the end of a block and such pointers do not count:
 * `ends` is false, see struct hawk_explained. */
static inline bool hawk_graph_ignores_edge(const struct hawk_graph *graph, bool ends, uint32_t edge)
{
	return !ends && hawk_number_set_has(&graph->explained.end_edges, edge);
}

/** The same for the root with this index. */
static inline bool hawk_graph_ignores_root(const struct hawk_graph *graph, bool ends, size_t root)
{
	return !ends && hawk_number_set_has(&graph->explained.end_roots, root);
}

/** The first interior edge from `edge` on, of all blocks; `edge_count` = there is none. Few edges
 * are interior in most programs: the others are passed over at the speed of memory. */
uint32_t hawk_graph_next_interior(const struct hawk_graph *graph, uint32_t edge);

/** The block whose edge `edge` is; not below `block`, which is. Fast where it is near. */
uint32_t hawk_graph_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block);

#endif
