/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts and numbers the nodes.
 */
#include "heap_snapshot_plan.h"

#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

uint32_t hawk_snapshot_node(const struct hawk_snapshot_plan *plan, uint32_t block)
{
	return HAWK_SNAPSHOT_FIRST_GROUP + plan->groups.count + block;
}

uint64_t hawk_snapshot_rest_nodes(uint64_t bytes)
{
	return bytes / UINT32_MAX + (bytes % UINT32_MAX != 0);
}

const struct hawk_snapshot_rest *hawk_snapshot_rest(const struct hawk_snapshot_plan *plan,
						    uint32_t block, size_t at)
{
	return at < plan->rest_count && plan->rests[at].block == block ? &plan->rests[at] : NULL;
}

uint64_t hawk_snapshot_count_edges(const struct hawk_snapshot_plan *plan, uint32_t block,
				   size_t *rest)
{
	uint64_t count = plan->graph->offsets[block + 1] - plan->graph->offsets[block];

	if (hawk_snapshot_rest(plan, block, *rest))
		count += hawk_snapshot_rest_nodes(plan->rests[(*rest)++].bytes);
	return count;
}

bool hawk_snapshot_is_leader(const struct hawk_snapshot_plan *plan, uint32_t block)
{
	return plan->snapshot->reach->kinds[block] == HAWK_REACH_DEFINITELY_LOST;
}

static struct hawk_error *sort_roots(struct hawk_snapshot_plan *plan)
{
	const struct hawk_roots *roots = &plan->graph->roots;
	CLEANUP(free_ptr) uint64_t *at = calloc(plan->groups.count + 1, sizeof(*at));

	plan->group_roots = calloc(plan->groups.count + 1, sizeof(*plan->group_roots));
	plan->roots = calloc(roots->count + 1, sizeof(*plan->roots));
	if (!at || !plan->group_roots || !plan->roots)
		return &hawk_enomem;
	for (size_t i = 0; i < roots->count; i++)
		plan->group_roots[plan->groups.groups[i]]++;
	for (uint32_t i = 1; i < plan->groups.count; i++)
		at[i] = at[i - 1] + plan->group_roots[i - 1];
	for (size_t i = 0; i < roots->count; i++)
		plan->roots[at[plan->groups.groups[i]]++] = (uint32_t)i;
	return NULL;
}

static struct hawk_error *keep_rest(struct hawk_snapshot_plan *plan, uint32_t block)
{
	uint64_t bytes = hawk_block_own_bytes(plan->index, block);

	if (bytes <= UINT32_MAX)
		return NULL;
	if (!hawk_array_reserve(&plan->rests, plan->rest_count, &plan->rest_capacity,
				sizeof(*plan->rests)))
		return &hawk_enomem;
	plan->rests[plan->rest_count++] = (struct hawk_snapshot_rest){block, bytes - UINT32_MAX};
	plan->rest_nodes += hawk_snapshot_rest_nodes(bytes - UINT32_MAX);
	return NULL;
}

/** Counts nodes and edges, which are written before any of them. */
static struct hawk_error *count(struct hawk_snapshot_plan *plan)
{
	uint32_t nodes = plan->index->count;
	struct hawk_error *err = NULL;
	size_t rest = 0;

	for (uint32_t i = 0; !err && i < nodes; i++) {
		plan->leaders += hawk_snapshot_is_leader(plan, i);
		err = keep_rest(plan, i);
		plan->edge_count += hawk_snapshot_count_edges(plan, i, &rest);
	}
	plan->node_count =
		HAWK_SNAPSHOT_FIRST_GROUP + plan->groups.count + nodes + plan->rest_nodes;
	plan->edge_count += HAWK_SNAPSHOT_FIRST_GROUP - 1 + plan->groups.count + plan->leaders +
			    plan->graph->roots.count;
	if (!err && (plan->node_count > UINT32_MAX / HAWK_SNAPSHOT_NODE_FIELDS ||
		     plan->edge_count > UINT32_MAX / HAWK_SNAPSHOT_EDGE_FIELDS))
		err = hawk_error_create(
			HAWK_ERROR_UNSUPPORTED,
			"a heap snapshot cannot hold %llu blocks with %llu pointers",
			(unsigned long long)plan->node_count, (unsigned long long)plan->edge_count);
	return err;
}

struct hawk_error *hawk_snapshot_plan_make(const struct hawk_object_graph *snapshot,
					   struct hawk_snapshot_plan *ret)
{
	struct hawk_error *err;

	*ret = (struct hawk_snapshot_plan){
		.snapshot = snapshot,
		.graph = snapshot->graph,
		.index = &snapshot->graph->heap->index,
	};
	err = hawk_tree_roots_make(snapshot->roots, &ret->groups);
	if (!err)
		err = sort_roots(ret);
	if (!err)
		err = count(ret);
	if (err)
		return err;
	return hawk_snapshot_ids_make(
		ret->index, HAWK_SNAPSHOT_FIRST_GROUP + ret->groups.count + ret->rest_nodes,
		&ret->ids);
}

void hawk_snapshot_plan_deinit(struct hawk_snapshot_plan *plan)
{
	hawk_tree_roots_deinit(&plan->groups);
	hawk_snapshot_ids_deinit(&plan->ids);
	free(plan->group_roots);
	free(plan->roots);
	free(plan->rests);
}
