/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointer graph of a heap: which block points to which, which roots lead to blocks, and which
 * interior pointers are as good as start pointers. Making it reads all that must be read while a
 * process is stopped; later questions to the graph need no memory of the target.
 *
 * Each block has a list of its pointers in the order of their places (compressed sparse rows, 4
 * bytes per block and 4 per pointer).
 *
 * Conservative: every aligned word that lies wholly inside a block's requested bytes and whose
 * value is an address inside a block counts. The same pointer twice is two edges. The result
 * depends neither on the number of threads nor on how the target is read.
 */
#ifndef HAWK_ANALYZER_GRAPH_GRAPH_H
#define HAWK_ANALYZER_GRAPH_GRAPH_H

#include "hawk/graph/heuristics.h"
#include "hawk/graph/roots.h"

/** Bit of an edge to any but a block's first byte. An edge is the target block's number << 1 | this
 * bit. */
enum { HAWK_EDGE_INTERIOR = 1 };

struct hawk_graph {
	const struct hawk_heap *heap; /**< the owner's */
	uint32_t count;               /**< blocks */
	uint32_t edge_count;
	uint32_t *offsets; /**< block b's are edges[offsets[b]] .. edges[offsets[b + 1] - 1] */
	uint32_t *edges;
	struct hawk_roots roots;
	struct hawk_explained explained;              /**< by all heuristics */
	struct hawk_pointer_offsets *pointer_offsets; /**< from a snapshot: the places of pointers;
							 NULL = read them from memory */
	struct hawk_area offsets_area;
	struct hawk_area edges_area;
};

/**
 * Makes the graph; reads every block once. `vtables` serves heuristics: found before, or NULL.
 * Fails with HAWK_ERROR_UNSUPPORTED at 2^32 pointers or more. `heap` must outlive `ret`.
 * Deinitialize `ret` only after success.
 */
struct hawk_error *hawk_graph_make(const struct hawk_heap *heap, const struct hawk_vtables *vtables,
				   struct hawk_findings *findings, struct hawk_graph *ret);

/** Reads edges alone, the first step of hawk_graph_make(): no roots, no heuristics. */
struct hawk_error *hawk_graph_read_edges(const struct hawk_heap *heap, struct hawk_graph *ret);

/** Writes the graph to a snapshot, from which hawk_graph_make() takes it. Reads the places of
 * pointers, so a living process must still be stopped. */
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

/** As hawk_graph_ignores_edge(), for the root with this index. */
static inline bool hawk_graph_ignores_root(const struct hawk_graph *graph, bool ends, size_t root)
{
	return !ends && hawk_number_set_has(&graph->explained.end_roots, root);
}

/** Returns the first interior edge of any block from `edge` on, or `edge_count`. Most programs have
 * few interior edges; others are skipped at the speed of memory. */
uint32_t hawk_graph_next_interior(const struct hawk_graph *graph, uint32_t edge);

/** Returns the block that owns `edge`, which must be `block` or a later one. Fast if it is near. */
uint32_t hawk_graph_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block);

#endif
