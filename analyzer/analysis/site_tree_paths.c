/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks folded along their shortest paths: every block gets a node of the tree, the one before it
 * first.
 */
#include "hawk_site_tree.h"

#include <string.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"
#include "site_tree_nodes.h"

enum { BLOCKS_AHEAD = 16 };

/** Of wanted blocks, along their paths. */
struct path_folding {
	const struct hawk_graph *graph;
	const struct hawk_paths *paths;
	const uint32_t *groups;
	const uint64_t *wanted;
	/** By place in paths->order: nodes of the tree. */
	uint32_t *nodes;
	/** By place: wanted, or on the way to one that is. */
	uint64_t *kept;
	struct hawk_site_tree *tree;
};

/** Parents come before their children, so that one pass from the end finds all. */
static void keep_wanted(const struct path_folding *folding)
{
	const struct hawk_paths *paths = folding->paths;
	uint64_t *kept = folding->kept;

	for (uint32_t i = paths->count; i-- > 0;) {
		hawk_progress_tick(i);
		if (folding->wanted && i >= BLOCKS_AHEAD)
			hawk_prefetch(&folding->wanted[paths->order[i - BLOCKS_AHEAD] / 64]);
		if (hawk_block_is_chosen(folding->wanted, paths->order[i]))
			kept[i / 64] |= UINT64_C(1) << i % 64;
		if (hawk_block_is_chosen(kept, i) && !(paths->from[i] & HAWK_PATH_FROM_ROOT))
			kept[paths->from[i] / 64] |= UINT64_C(1) << paths->from[i] % 64;
	}
}

static struct hawk_error *fold_path(const struct path_folding *folding, uint32_t at)
{
	uint32_t from = folding->paths->from[at];
	uint32_t block = folding->paths->order[at];
	struct hawk_error *err = NULL;
	uint32_t node;

	if (from & HAWK_PATH_FROM_ROOT)
		err = hawk_site_tree_step(folding->tree, 0, HAWK_TREE_ROOT,
					  folding->groups[from & ~(uint32_t)HAWK_PATH_FROM_ROOT],
					  &node);
	else
		node = folding->nodes[from];
	if (!err)
		err = hawk_site_tree_step_site(folding->tree, node,
					       hawk_heap_site_at(folding->graph->heap, block),
					       &folding->nodes[at]);
	if (!err && hawk_block_is_chosen(folding->wanted, block))
		hawk_site_tree_count(folding->graph->heap, folding->tree, false, folding->nodes[at],
				     block);
	return err;
}

static void prefetch_path(const struct path_folding *folding, uint32_t at)
{
	uint32_t block = folding->paths->order[at];

	if (folding->wanted)
		hawk_prefetch(&folding->wanted[block / 64]);
	hawk_prefetch(&folding->graph->heap->index.traces[block]);
	hawk_prefetch(&folding->graph->heap->index.sizes[block]);
}

static struct hawk_error *fold_paths(const struct path_folding *folding)
{
	const struct hawk_paths *paths = folding->paths;
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; !err && i < paths->count; i++) {
		if (paths->count - i > BLOCKS_AHEAD &&
		    hawk_block_is_chosen(folding->kept, i + BLOCKS_AHEAD))
			prefetch_path(folding, i + BLOCKS_AHEAD);
		if (hawk_block_is_chosen(folding->kept, i))
			err = fold_path(folding, i);
		hawk_progress_tick(i);
	}
	return err;
}

/** Those that no path leads to. */
static struct hawk_error *fold_lost(const struct path_folding *folding)
{
	const struct hawk_graph *graph = folding->graph;
	struct hawk_error *err = NULL;
	uint32_t lost, node;

	for (uint32_t block = 0; !err && block < graph->heap->index.count; block++) {
		hawk_progress_tick(block);
		if (!hawk_block_is_chosen(folding->wanted, block) ||
		    hawk_paths_lead_to(folding->paths, block))
			continue;
		err = hawk_site_tree_step(folding->tree, 0, HAWK_TREE_LOST, 0, &lost);
		if (!err)
			err = hawk_site_tree_step_site(
				folding->tree, lost, hawk_heap_site_at(graph->heap, block), &node);
		if (!err)
			hawk_site_tree_count(graph->heap, folding->tree, false, node, block);
	}
	return err;
}

static struct hawk_error *fold(const struct path_folding *folding)
{
	struct hawk_error *err = hawk_site_tree_begin(folding->tree);
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "folding paths by site",
			    2 * (uint64_t)folding->paths->count +
				    folding->graph->heap->index.count);
	keep_wanted(folding);
	if (!err)
		err = fold_paths(folding);
	if (!err)
		err = fold_lost(folding);
	hawk_progress_end(&progress);
	return err;
}

struct hawk_error *hawk_site_tree_paths(const struct hawk_graph *graph,
					const struct hawk_paths *paths, const uint32_t *groups,
					const uint64_t *wanted, struct hawk_site_tree *ret)
{
	CLEANUP(free_ptr) uint32_t *nodes = malloc(((size_t)paths->count + 1) * sizeof(*nodes));
	CLEANUP(free_ptr) uint64_t *kept = calloc((size_t)paths->count / 64 + 1, sizeof(*kept));
	struct hawk_site_tree tree = {0};
	struct hawk_error *err;

	if (!nodes || !kept)
		return &hawk_enomem;
	err = fold(&(struct path_folding){graph, paths, groups, wanted, nodes, kept, &tree});
	if (!err)
		err = hawk_site_tree_finish(&tree);
	if (err)
		hawk_site_tree_deinit(&tree);
	else
		*ret = tree;
	return err;
}
