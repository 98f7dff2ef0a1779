/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Joins the graph's edges, which are all there, with the places of pointers that can be read again.
 */
#include "hawk/base/progress.h"
#include "hawk/graph/pointers.h"
#include "hprof_plan.h"

struct walk {
	const struct hawk_graph *graph;
	const struct hawk_hprof_visitor *visitor;
	uint32_t block; /**< whose pointers are given */
	uint32_t edge;  /**< the next one */
};

static bool end_blocks(struct walk *walk)
{
	while (walk->block < walk->graph->count &&
	       walk->edge == walk->graph->offsets[walk->block + 1]) {
		if (!walk->visitor->block(walk->visitor->context, walk->block))
			return false;
		hawk_progress_tick(walk->block++);
	}
	return true;
}

static bool give(struct walk *walk, uint64_t offset)
{
	uint32_t target = walk->graph->edges[walk->edge++] >> 1;

	return walk->visitor->pointer(walk->visitor->context, walk->block, offset, target) &&
	       end_blocks(walk);
}

static struct hawk_error *take_pointers(void *context, const struct hawk_pointer *pointers,
					size_t count)
{
	struct walk *walk = context;
	bool good = true;

	for (size_t i = 0; i < count && good; i++) {
		while (good && walk->edge < pointers[i].number)
			good = give(walk, HAWK_HPROF_NOWHERE);
		good = good && give(walk, pointers[i].offset);
	}
	return good ? NULL : &hawk_enomem;
}

struct hawk_error *hawk_hprof_walk(const struct hawk_graph *graph,
				   const struct hawk_hprof_visitor *visitor)
{
	struct walk walk = {.graph = graph, .visitor = visitor};
	struct hawk_error *err = NULL;
	bool good = end_blocks(&walk);

	if (good)
		err = hawk_pointers_read(graph, 0, graph->count, NULL, take_pointers, &walk);
	while (good && !err && walk.block < graph->count)
		good = give(&walk, HAWK_HPROF_NOWHERE);
	return good ? err : &hawk_enomem;
}
