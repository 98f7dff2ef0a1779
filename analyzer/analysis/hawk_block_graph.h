/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointer graph of one target, made part by part when a verb needs it: the one object through
 * which leaks, refs, paths, retained sizes and every other fold sees blocks and pointers.
 *
 * The parts never change once they are made, and no part depends on the number of threads.
 *
 *     struct hawk_block_graph graph;
 *     err = hawk_heap_load_graph(target, findings, HAWK_PART_REACH, &graph, &heap);
 *     ...                                            // index, edges, roots, reach are there
 *     err = hawk_block_graph_need(&graph, HAWK_PART_RETAINED);
 *     ...
 *     hawk_block_graph_deinit(&graph);               // before the heap
 *     hawk_heap_deinit(&heap);
 */
#ifndef HAWK_BLOCK_GRAPH_H
#define HAWK_BLOCK_GRAPH_H

#include "hawk_dominators.h"
#include "hawk_paths.h"
#include "hawk_site_graph.h"
#include "hawk_sites.h"
#include "hawk_type_words.h"

enum hawk_block_graph_part {
	HAWK_PART_INDEX = 1u << 0, /**< the heap's: it is there from the beginning */
	HAWK_PART_EDGES = 1u << 1,
	HAWK_PART_ROOTS = 1u << 2,
	HAWK_PART_REACH = 1u << 3,    /**< over all pointers; needs edges and roots */
	HAWK_PART_RETAINED = 1u << 4, /**< dominators, and `retained`; needs reach */
	/** The site graph; needs edges and roots. Of a living process only with
	 * HAWK_PART_CONTENTS. */
	HAWK_PART_SITES = 1u << 5,
	HAWK_PART_PATHS = 1u << 6, /**< shortest paths to all blocks; needs edges and roots */
	/** For hawk_heap_load_graph(): the bytes of blocks will be read later (site graph, schema).
	 * A living process is not let go: the caller does it. */
	HAWK_PART_CONTENTS = 1u << 8,
};

/** What a site retains, in requested bytes. The truth lies between the two. Made from dominators it
 * is a lower bound: the sum over the site's blocks that no other one of them dominates. */
struct hawk_site_retained {
	uint64_t all_pointers;
	uint64_t start_pointers; /**< with interior pointers ignored */
};

struct hawk_block_graph {
	const struct hawk_heap *heap;
	struct hawk_findings *findings;

	struct hawk_graph edges;
	struct hawk_roots roots;
	struct hawk_reach reach;
	struct hawk_workspace workspace;
	/** All pointers; `numbers` are filled. Lies in the workspace, which therefore nobody else
	 * may use once HAWK_PART_RETAINED is there. */
	struct hawk_dominators dominators;
	/** By index into heap->sites, over all pointers: requested bytes. Made with
	 * HAWK_PART_RETAINED, and stays when that gives way. NULL = not made. */
	uint64_t *retained;

	struct hawk_site_graph sites;
	struct hawk_paths paths;

	unsigned parts; /**< what is there */

	/** Interior pointers that heuristics explain; see hawk_block_graph_explain(). */
	struct hawk_explained explained;
	bool has_explained;
	const struct hawk_vtable_oracle *vtables; /**< for that; the owner's; may be NULL */
};

/** A graph of nothing; heap and findings must outlive it. */
void hawk_block_graph_init(struct hawk_block_graph *graph, const struct hawk_heap *heap,
			   struct hawk_findings *findings);

/**
 * Makes what is missing of `parts`, with what they depend on. Of a living process that was let go
 * index, edges and roots can no longer be made: HAWK_ERROR_NOT_FOUND; load them with
 * hawk_heap_load_graph(). A target that was not traced has no blocks. After an error the parts that
 * were there still are.
 */
struct hawk_error *hawk_block_graph_need(struct hawk_block_graph *graph, unsigned parts);

/** HAWK_ERROR_NOT_FOUND if the target is a process that was let go, so that the bytes of blocks
 * cannot be read any more. */
struct hawk_error *hawk_block_graph_readable(const struct hawk_block_graph *graph);

/** Makes the workspace if it is not there. */
struct hawk_error *hawk_block_graph_workspace(struct hawk_block_graph *graph);

/** HAWK_PART_RETAINED, of which hawk_block_graph_need() has made what it depends on: dominators,
 * and what sites retain. For that alone. */
struct hawk_error *hawk_block_graph_make_retained(struct hawk_block_graph *graph);

/** Fills `explained` with all heuristics (hawk_heuristics.h), if that was not done before, with
 * what it depends on. Reads blocks: HAWK_ERROR_NOT_FOUND as hawk_block_graph_readable(). Reach does
 * it by itself; where blocks cannot be read it goes without. */
struct hawk_error *hawk_block_graph_explain(struct hawk_block_graph *graph);

/**
 * What sites retain, both ways, by those of their blocks alone that have their bit in `blocks` (of
 * a hawk_block_choice; NULL = all): by site, caller frees. As hawk_block_graph_start_dominators()
 * it takes the workspace from HAWK_PART_RETAINED. Makes reach if need be.
 */
struct hawk_error *hawk_block_graph_retained_chosen(struct hawk_block_graph *graph,
						    const uint64_t *blocks,
						    struct hawk_site_retained **ret);

/**
 * The dominators by start pointers, with `numbers`, for who has taken what he wants of
 * HAWK_PART_RETAINED: two pieces of memory of the workspace's size would be too much, so what lies
 * in the workspace gives way, and that part is made anew when it is needed again; sums by site
 * stay. Makes edges and roots if need be. `ret` is valid until the graph is used for anything but
 * reading.
 */
struct hawk_error *hawk_block_graph_start_dominators(struct hawk_block_graph *graph,
						     struct hawk_dominators *ret);

/** Accepts a graph of zeros, and leaves one behind. */
void hawk_block_graph_deinit(struct hawk_block_graph *graph);

/**
 * Loads the heap and makes `parts`. `graph->vtables` is kept, all else of it is overwritten; it
 * keeps the address of `heap`. A living process is let go as soon as memory is no longer needed.
 * After an error both are empty.
 */
struct hawk_error *hawk_heap_load_graph(struct hawk_target *target, struct hawk_findings *findings,
					unsigned parts, struct hawk_block_graph *graph,
					struct hawk_heap *heap);

/** What block `block` (one that stands for a block) retains, itself included. `dominators`: the
 * graph's with HAWK_PART_RETAINED, or those by start pointers; `numbers` are filled. */
uint64_t hawk_block_graph_retained(const struct hawk_block_graph *graph,
				   const struct hawk_dominators *dominators, uint32_t block);

#endif
