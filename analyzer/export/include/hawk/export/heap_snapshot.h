/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writer of the object graph as V8's .heapsnapshot: for the heap viewers of JavaScript, which show
 * who retains a block, what it dominates, and what differs between two snapshots.
 */
#ifndef HAWK_ANALYZER_EXPORT_HEAP_SNAPSHOT_H
#define HAWK_ANALYZER_EXPORT_HEAP_SNAPSHOT_H

#include "hawk/graph/reach.h"
#include "hawk/names/block_type.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"
#include "hawk/output/output.h"

struct hawk_heap_snapshot {
	const struct hawk_graph *graph;
	const struct hawk_reach *reach; /**< by all pointers */
	struct hawk_root_namer *roots;
	struct hawk_site_names *names;
	struct hawk_block_types *types;
	bool in_doubt; /**< blocks that no root leads to may not be lost */
};

/**
 * Reads the blocks once more, for the places of pointers. HAWK_ERROR_UNSUPPORTED if there are more
 * blocks or pointers than readers can number.
 */
struct hawk_error *hawk_export_heap_snapshot(const struct hawk_heap_snapshot *snapshot,
					     struct hawk_output *output);

#endif
