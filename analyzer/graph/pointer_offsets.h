/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where pointers lie, from a snapshot: frames of offsets are decoded when asked for, and the latest
 * ones kept. For any number of threads. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_POINTER_OFFSETS_H
#define HAWK_ANALYZER_GRAPH_POINTER_OFFSETS_H

#include "hawk/graph/graph.h"

struct hawk_pointer_offsets;
struct hawk_pointer_offsets_frame;

/** What one reader looked at last. Zeros at first. */
struct hawk_pointer_offsets_cursor {
	struct hawk_pointer_offsets_frame *frame; /**< kept for the reader; NULL = none */
};

/** `graph` has its edges, which must outlive `ret`; the offsets in its snapshot are whole. */
struct hawk_error *hawk_pointer_offsets_create(const struct hawk_graph *graph,
					       struct hawk_pointer_offsets **ret);

/** Accepts NULL. */
void hawk_pointer_offsets_destroy(struct hawk_pointer_offsets *offsets);

/** Finds where the pointer that is `edge` lies: `*offset` from its block's start, UINT64_MAX = not
 * known; and how far `*inside` the block pointed to it leads. */
struct hawk_error *hawk_pointer_offsets_find(struct hawk_pointer_offsets *offsets,
					     struct hawk_pointer_offsets_cursor *cursor,
					     uint32_t edge, uint64_t *offset, uint64_t *inside);

/** To be called when the reader is done. */
void hawk_pointer_offsets_leave(struct hawk_pointer_offsets *offsets,
				struct hawk_pointer_offsets_cursor *cursor);

#endif
