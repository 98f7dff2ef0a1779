/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The nodes of a heap snapshot, and the numbers of nodes and edges, which are written before the
 * nodes and edges themselves. Internal to export/.
 */
#ifndef HAWK_ANALYZER_EXPORT_HEAP_SNAPSHOT_PLAN_H
#define HAWK_ANALYZER_EXPORT_HEAP_SNAPSHOT_PLAN_H

#include "hawk/export/object_graph.h"
#include "heap_snapshot_ids.h"

enum { HAWK_SNAPSHOT_NODE_FIELDS = 7, HAWK_SNAPSHOT_EDGE_FIELDS = 3 };

/** Numbers of nodes; the groups of roots follow, then the blocks, then rests. */
enum { HAWK_SNAPSHOT_ROOT, HAWK_SNAPSHOT_LOST, HAWK_SNAPSHOT_FIRST_GROUP };

/** The bytes of a block beyond its node's 32 bits. */
struct hawk_snapshot_rest {
	uint32_t block;
	uint64_t bytes;
};

struct hawk_snapshot_plan {
	const struct hawk_object_graph *snapshot;
	const struct hawk_graph *graph;
	const struct hawk_block_index *index;
	struct hawk_tree_roots groups;
	uint64_t *group_roots; /**< by group: how many roots it has */
	uint32_t *roots;       /**< sorted by group */
	struct hawk_snapshot_ids ids;
	struct hawk_snapshot_rest *rests; /**< ascending by block */
	size_t rest_count, rest_capacity;
	uint64_t rest_nodes; /**< nodes for all of them */
	uint64_t leaders;
	uint64_t node_count, edge_count;
};

/** Counts nodes and edges; HAWK_ERROR_UNSUPPORTED if there are too many. Deinitialize `ret` in any
 * case. */
struct hawk_error *hawk_snapshot_plan_make(const struct hawk_object_graph *snapshot,
					   struct hawk_snapshot_plan *ret);
void hawk_snapshot_plan_deinit(struct hawk_snapshot_plan *plan);

/** Returns the node of a block. */
uint32_t hawk_snapshot_node(const struct hawk_snapshot_plan *plan, uint32_t block);

/** Returns true if the node of lost blocks leads to the block. */
bool hawk_snapshot_is_leader(const struct hawk_snapshot_plan *plan, uint32_t block);

/** Returns the number of a block's edges. `*rest` is the next rest, and advances. */
uint64_t hawk_snapshot_count_edges(const struct hawk_snapshot_plan *plan, uint32_t block,
				   size_t *rest);

/** Returns rest number `at` if it belongs to `block`, else NULL. */
const struct hawk_snapshot_rest *hawk_snapshot_rest(const struct hawk_snapshot_plan *plan,
						    uint32_t block, size_t at);

/** Returns how many nodes hold this many bytes. */
uint64_t hawk_snapshot_rest_nodes(uint64_t bytes);

#endif
