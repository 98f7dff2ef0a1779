/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Places of pointers, from a snapshot: frames of offsets are decoded on demand, and the latest ones
 * kept. Thread-safe. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_POINTER_OFFSETS_H
#define HAWK_ANALYZER_GRAPH_POINTER_OFFSETS_H

#include "hawk/graph/graph.h"

struct hawk_pointer_offsets;
struct hawk_pointer_offsets_frame;

/** The frame that a reader uses. Initialize with zeros. */
struct hawk_pointer_offsets_cursor {
	struct hawk_pointer_offsets_frame *frame; /**< kept for the reader; NULL = none */
};

/** Creates the offsets of `graph`, whose edges must outlive `ret`. The offsets in its snapshot must
 * be complete. */
struct hawk_error *hawk_pointer_offsets_create(const struct hawk_graph *graph,
					       struct hawk_pointer_offsets **ret);

/** Accepts NULL. */
void hawk_pointer_offsets_destroy(struct hawk_pointer_offsets *offsets);

/** Finds the place of the pointer `edge`: `*offset` from its block's start, UINT64_MAX = not known.
 * Its value is `*inside` bytes behind the start of the block pointed to. */
struct hawk_error *hawk_pointer_offsets_find(struct hawk_pointer_offsets *offsets,
					     struct hawk_pointer_offsets_cursor *cursor,
					     uint32_t edge, uint64_t *offset, uint64_t *inside);

/** Must be called when the reader is done. */
void hawk_pointer_offsets_leave(struct hawk_pointer_offsets *offsets,
				struct hawk_pointer_offsets_cursor *cursor);

#endif
