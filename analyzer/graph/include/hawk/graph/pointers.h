/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointers of blocks with the places where they lie, read from the target's memory: the graph
 * keeps their order only.
 */
#ifndef HAWK_ANALYZER_GRAPH_POINTERS_H
#define HAWK_ANALYZER_GRAPH_POINTERS_H

#include "hawk/graph/graph.h"

struct hawk_pointer {
	uint64_t offset; /**< in `source`; a multiple of 8, from the block's start */
	uint64_t inside; /**< how far behind the start of the block pointed to it leads */
	uint32_t source; /**< block */
	uint32_t edge;   /**< as in the graph: block pointed to << 1 | interior */
	uint32_t number; /**< of the edge in the graph */
};

/** Called for some pointers at a time. A returned error ends the reading and is passed on. */
typedef struct hawk_error *
hawk_pointers_function(void *context, const struct hawk_pointer *pointers, size_t count);

/** Of blocks [first, end), ascending by source and offset: those of `graph`, which was made from
 * the same memory. `wanted`: a bit for each
 * block, and blocks none of whose pointers leads to one that has it are left out; others come with
 * all their pointers; NULL = none is. Of a living process: before the release. */
struct hawk_error *hawk_pointers_read(const struct hawk_graph *graph, uint32_t first, uint32_t end,
				      const uint64_t *wanted, hawk_pointers_function *function,
				      void *context);

#endif
