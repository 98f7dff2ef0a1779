/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the places of blocks' pointers from the target's memory: the graph keeps only their order.
 */
#ifndef HAWK_ANALYZER_GRAPH_POINTERS_H
#define HAWK_ANALYZER_GRAPH_POINTERS_H

#include "hawk/graph/graph.h"

struct hawk_pointer {
	uint64_t offset; /**< in `source`; a multiple of 8, from the block's start */
	uint64_t inside; /**< offset of its value in the block pointed to */
	uint32_t source; /**< block */
	uint32_t edge;   /**< as in the graph: block pointed to << 1 | interior */
	uint32_t number; /**< of the edge in the graph */
};

/** Called with several pointers at a time. An error returned ends the reading and is passed on. */
typedef struct hawk_error *
hawk_pointers_function(void *context, const struct hawk_pointer *pointers, size_t count);

/** Reads the pointers of blocks [first, end), ascending by source and offset. `graph` must be made
 * from the same memory. `wanted` has a bit for each block and may be NULL: blocks without a pointer
 * to a wanted block are left out, others come with all their pointers. A living process must still
 * be stopped. */
struct hawk_error *hawk_pointers_read(const struct hawk_graph *graph, uint32_t first, uint32_t end,
				      const uint64_t *wanted, hawk_pointers_function *function,
				      void *context);

#endif
