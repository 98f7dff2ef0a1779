/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writers of the object graph, every block and every pointer, for heap viewers of managed
 * languages. These show who retains a block, what it dominates, and what differs between two dumps.
 */
#ifndef HAWK_ANALYZER_EXPORT_OBJECT_GRAPH_H
#define HAWK_ANALYZER_EXPORT_OBJECT_GRAPH_H

#include "hawk/graph/reach.h"
#include "hawk/names/block_type.h"
#include "hawk/names/root_name.h"
#include "hawk/names/site_names.h"
#include "hawk/output/output.h"

struct hawk_object_graph {
	const struct hawk_graph *graph;
	const struct hawk_reach *reach; /**< by all pointers */
	struct hawk_symbols *symbols;
	struct hawk_root_namer *roots;
	struct hawk_site_names *names;
	struct hawk_block_types *types;
	bool in_doubt; /**< blocks that no root leads to may not be lost */
};

/** Returns the name of what leads to the leaders of leaks: readers must find no unreachable block.
 */
static inline const char *hawk_object_graph_lost(const struct hawk_object_graph *objects)
{
	return objects->in_doubt ? "(perhaps lost: no root was found to lead there)"
				 : "(lost: no root leads there)";
}

/**
 * Writes V8's .heapsnapshot. Reads the blocks once more, for the places of pointers.
 * HAWK_ERROR_UNSUPPORTED if there are more blocks or pointers than readers can number.
 */
struct hawk_error *hawk_export_heap_snapshot(const struct hawk_object_graph *objects,
					     struct hawk_output *output);

/** Writes Java's HPROF, binary version 1.0.2. Reads the blocks twice more. */
struct hawk_error *hawk_export_hprof(const struct hawk_object_graph *objects,
				     struct hawk_output *output);

#endif
