/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From the dominators by start pointers to those by all pointers, without a second search, where
 * interior pointers change little.
 *
 * A tree's ancestors dominate if for every edge the parent of its target is its source or above
 * that: no path gets past it. Where that is not so, the target is hung higher, under the lowest
 * block that is above both its parent and the source; then the edges of all that hangs below it
 * are looked at again. No more is taken away than must be: a block's dominators are among those
 * of every block that points to it. So in the end, when all edges are as they should be, the
 * ancestors are the dominators.
 */
#include "dominators_state.h"

enum { STEPS_SPARE = 1000 };

struct extension {
	const struct hawk_graph *graph;
	struct hawk_dominators *dominators;
	/* As the tree was: the subtree of a number is order[end - size] .. order[end - 1]. Numbers
	 * leave it, none is added. */
	const uint32_t *ends;
	const uint32_t *sizes;
	uint32_t *order; /* NULL = not made yet */
	/* Numbers that were hung higher, and whose subtrees are to be looked at. */
	uint32_t *queue;
	uint32_t queued;
	uint64_t steps; /* left; one costs about as much as one of the search */
};

/* Makes the parent of `target` one that is above `source` too, or `source`. False = too dear. */
static bool take_edge(struct extension *extension, uint32_t source, uint32_t target)
{
	uint32_t *parents = extension->dominators->dominators;
	uint32_t above = source;
	uint32_t parent = parents[target];

	/* What is above has a smaller number. */
	while (above != parent) {
		if (!extension->steps--)
			return false;
		if (above > parent)
			above = parents[above];
		else
			parent = parents[parent];
	}
	if (parent == parents[target])
		return true;
	if (extension->queued == extension->dominators->count)
		return false;
	parents[target] = parent;
	extension->queue[extension->queued++] = target;
	return true;
}

/* All edges of a block. */
static bool take_edges(struct extension *extension, uint32_t source)
{
	const struct hawk_graph *graph = extension->graph;
	const uint32_t *numbers = extension->dominators->numbers;
	uint32_t block = extension->dominators->blocks[source];

	for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
		uint32_t target = numbers[graph->edges[i] >> 1];

		if (!extension->steps--)
			return false;
		if (target != source && !take_edge(extension, source, target))
			return false;
	}
	return true;
}

/* Until nothing changes. */
static bool settle(struct extension *extension)
{
	while (extension->queued) {
		uint32_t number = extension->queue[--extension->queued];
		uint32_t end = extension->ends[number];

		for (uint32_t at = end - extension->sizes[number]; at < end; at++) {
			if (!extension->steps--)
				return false;
			if (!take_edges(extension, extension->order[at]))
				return false;
		}
	}
	return true;
}

/* Room in the lanes of retained bytes, which are of no more use when something changes. */
static void make_order(struct extension *extension)
{
	for (uint32_t number = 0; number <= extension->dominators->count; number++)
		extension->order[extension->ends[number] - extension->sizes[number]] = number;
}

/* Whether the edge is as it should be in the tree as it was. */
static bool edge_holds(const struct extension *extension, uint32_t source, uint32_t target)
{
	uint32_t parent = extension->dominators->dominators[target];
	uint32_t first = extension->ends[parent] - extension->sizes[parent];

	return extension->ends[source] - extension->sizes[source] - first <
	       extension->sizes[parent];
}

/* An edge that start pointers do not have. */
static bool add_edge(struct extension *extension, uint32_t source, uint32_t target, bool *changed)
{
	/* That tells nothing any more once something has changed. */
	if (!*changed && edge_holds(extension, source, target))
		return true;
	if (!*changed)
		make_order(extension);
	*changed = true;
	return take_edge(extension, source, target) && settle(extension);
}

static bool add_edges(struct extension *extension, const struct hawk_roots *roots, bool *changed)
{
	const struct hawk_graph *graph = extension->graph;
	const uint32_t *numbers = extension->dominators->numbers;
	uint32_t source = 0;

	for (size_t i = 0; i < roots->count; i++)
		if (!hawk_root_is_strong(&roots->items[i]) &&
		    !add_edge(extension, 0, numbers[roots->items[i].edge >> 1], changed))
			return false;
	for (uint32_t i = hawk_graph_next_interior(graph, 0); i < graph->edge_count;
	     i = hawk_graph_next_interior(graph, i + 1)) {
		uint32_t target = graph->edges[i] >> 1;

		source = hawk_graph_source(graph, i, source);
		if (source != target &&
		    !add_edge(extension, numbers[source], numbers[target], changed))
			return false;
	}
	return true;
}

enum hawk_dominators_extension hawk_dominators_extend(struct hawk_dominators *dominators,
						      const struct hawk_block_index *index,
						      const struct hawk_graph *graph,
						      const struct hawk_roots *roots)
{
	struct extension extension = {
		.graph = graph,
		.dominators = dominators,
		.ends = hawk_workspace_lane(dominators->workspace, 3),
		.sizes = dominators->sizes,
		.order = hawk_workspace_lane(dominators->workspace, 4),
		.queue = hawk_workspace_lane(dominators->workspace, 5),
		.steps = graph->count / 4 + STEPS_SPARE,
	};
	bool changed = false;

	hawk_dominators_number_blocks(dominators);
	if (!add_edges(&extension, roots, &changed))
		return HAWK_DOMINATORS_OTHER;
	if (!changed)
		return HAWK_DOMINATORS_SAME;
	dominators->numbers = NULL;
	hawk_dominators_add_up(index, dominators);
	return HAWK_DOMINATORS_EXTENDED;
}
