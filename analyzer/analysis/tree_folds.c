/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeping site trees, and making trees of what was kept.
 */
#include "hawk_tree_folds.h"

#include <stdlib.h>
#include <xxhash.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_site_ages.h"
#include "site_tree_nodes.h"

uint64_t hawk_tree_fold_groups(const uint32_t *groups, size_t count)
{
	return XXH3_64bits_withSeed(groups, count * sizeof(*groups), count);
}

void hawk_tree_fold_keep(const struct hawk_site_tree *tree, uint64_t groups,
			 struct hawk_tree_fold *fold)
{
	struct hawk_tree_fold_node *nodes;

	if (tree->count > HAWK_TREE_FOLD_NODES_MAX)
		return;
	nodes = calloc(tree->count, sizeof(*nodes));
	if (!nodes)
		return;
	for (uint32_t i = 0; i < tree->count; i++) {
		const struct hawk_site_tree_node *node = &tree->nodes[i];

		nodes[i] = (struct hawk_tree_fold_node){
			.parent = node->parent,
			.kind = node->kind,
			.key = node->key,
			.objects = tree->start ? tree->start[i].flat_objects : node->flat_objects,
			.bytes = tree->start ? tree->start[i].flat_bytes : node->flat_bytes,
		};
	}
	free(fold->owned);
	*fold = (struct hawk_tree_fold){nodes, tree->count, groups, nodes};
}

/** Steps of a fold, while they are put into a tree. */
struct unfolding {
	const struct hawk_tree_fold *fold;
	const uint64_t *sites;
	bool gone;       /**< what they dominate counts, too */
	uint32_t *nodes; /**< by node of the fold: that of the tree */
	uint8_t *is_gone;
};

static bool has_site(const struct unfolding *unfolding, const struct hawk_tree_fold_node *node)
{
	return !unfolding->sites || (node->kind >= HAWK_TREE_SITE &&
				     unfolding->sites[node->key / 64] >> node->key % 64 & 1);
}

/** Whether the blocks of node `i` count. Of tails nobody knows which dominates which. */
static bool counts(const struct unfolding *unfolding, uint32_t i, bool *exact)
{
	const struct hawk_tree_fold_node *node = &unfolding->fold->nodes[i];

	if (!unfolding->gone)
		return has_site(unfolding, node);
	unfolding->is_gone[i] = unfolding->is_gone[node->parent];
	if (unfolding->is_gone[i] || !has_site(unfolding, node))
		return unfolding->is_gone[i];
	if (node->kind == HAWK_TREE_TAIL && unfolding->sites)
		*exact = false;
	unfolding->is_gone[i] = 1;
	return true;
}

static struct hawk_error *unfold(const struct unfolding *unfolding, struct hawk_site_tree *tree,
				 bool *exact)
{
	for (uint32_t i = 0; i < unfolding->fold->count && *exact; i++) {
		const struct hawk_tree_fold_node *node = &unfolding->fold->nodes[i];
		struct hawk_error *err = NULL;
		uint32_t at = 0;

		if (i)
			err = hawk_site_tree_step(tree, unfolding->nodes[node->parent], node->kind,
						  node->key, &at);
		if (err)
			return err;
		unfolding->nodes[i] = at;
		if (!counts(unfolding, i, exact))
			continue;
		if (tree->start) {
			tree->start[at].flat_objects += node->objects;
			tree->start[at].flat_bytes += node->bytes;
		} else {
			tree->nodes[at].flat_objects += node->objects;
			tree->nodes[at].flat_bytes += node->bytes;
		}
	}
	return NULL;
}

struct hawk_error *hawk_tree_fold_unfold(const struct hawk_tree_fold *fold, const uint64_t *sites,
					 bool gone, struct hawk_site_tree *tree, bool *exact)
{
	CLEANUP(free_ptr) uint32_t *nodes = calloc((size_t)fold->count + 1, sizeof(*nodes));
	CLEANUP(free_ptr) uint8_t *is_gone = calloc((size_t)fold->count + 1, 1);
	const struct unfolding unfolding = {fold, sites, gone, nodes, is_gone};

	*exact = true;
	if (!nodes || !is_gone)
		return &hawk_enomem;
	return unfold(&unfolding, tree, exact);
}

bool hawk_site_tree_is_kept(const struct hawk_block_graph *graph, enum hawk_tree_fold_sort fold,
			    const uint32_t *groups)
{
	const struct hawk_tree_folds *folds = &graph->folds;
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);

	if (fold == HAWK_FOLD_PATHS)
		return hawk_tree_fold_fits(&folds->paths, number);
	return hawk_tree_fold_fits(&folds->retained, number) &&
	       (fold == HAWK_FOLD_RETAINED || hawk_tree_fold_fits(&folds->start_retained, number));
}

static struct hawk_error *unfold_all(const struct hawk_tree_folds *folds,
				     enum hawk_tree_fold_sort fold, const uint64_t *sites,
				     struct hawk_site_tree *tree, bool *exact)
{
	struct hawk_error *err = hawk_site_tree_begin(tree);

	if (!err)
		err = hawk_tree_fold_unfold(fold == HAWK_FOLD_PATHS ? &folds->paths
								    : &folds->retained,
					    sites, fold != HAWK_FOLD_PATHS, tree, exact);
	if (err || !*exact || fold != HAWK_FOLD_RETAINED_BOTH)
		return err;
	err = hawk_site_tree_add_start(tree);
	if (!err)
		err = hawk_tree_fold_unfold(&folds->start_retained, sites, true, tree, exact);
	return err;
}

bool hawk_site_tree_of_sites(const struct hawk_block_graph *graph, enum hawk_tree_fold_sort fold,
			     const uint32_t *groups, const uint64_t *sites,
			     struct hawk_site_tree *ret, struct hawk_error **err)
{
	struct hawk_site_tree tree = {.tails = true};
	bool exact = false;

	*err = NULL;
	if (!hawk_site_tree_is_kept(graph, fold, groups))
		return false;
	*err = unfold_all(&graph->folds, fold, sites, &tree, &exact);
	if (!*err && !exact) {
		hawk_site_tree_deinit(&tree);
		return false;
	}
	*err = hawk_site_tree_complete(&tree, *err, ret);
	return !*err;
}

/** All steps of the fold, with other sums. */
static struct hawk_error *unfold_sums(const struct hawk_tree_fold *fold,
				      const struct hawk_chosen *sums, struct hawk_site_tree *tree)
{
	CLEANUP(free_ptr) uint32_t *nodes = calloc((size_t)fold->count + 1, sizeof(*nodes));
	struct hawk_error *err = nodes ? NULL : &hawk_enomem;

	for (uint32_t i = 0; !err && i < fold->count; i++) {
		const struct hawk_tree_fold_node *node = &fold->nodes[i];
		uint32_t at = 0;

		if (i)
			err = hawk_site_tree_step(tree, nodes[node->parent], node->kind, node->key,
						  &at);
		if (err)
			break;
		nodes[i] = at;
		if (tree->start) {
			tree->start[at].flat_objects += sums[i].objects;
			tree->start[at].flat_bytes += sums[i].bytes;
		} else {
			tree->nodes[at].flat_objects += sums[i].objects;
			tree->nodes[at].flat_bytes += sums[i].bytes;
		}
	}
	return err;
}

static struct hawk_error *unfold_gone(const struct hawk_block_graph *graph,
				      const struct hawk_tree_order *order,
				      const struct hawk_tree_fold *fold, const uint64_t *positions,
				      struct hawk_site_tree *tree)
{
	CLEANUP(free_ptr) struct hawk_chosen *sums = NULL;
	struct hawk_error *err = hawk_tree_order_sum_nodes(graph, order, fold, positions, &sums);

	return err ? err : unfold_sums(fold, sums, tree);
}

static struct hawk_error *unfold_wanted(const struct hawk_block_graph *graph,
					const uint64_t *wanted, struct hawk_site_tree *tree)
{
	const struct hawk_tree_folds *folds = &graph->folds;
	CLEANUP(free_ptr) struct hawk_chosen *sums = NULL;
	struct hawk_error *err =
		hawk_tree_steps_sum(graph, &folds->path_steps, &folds->paths, wanted, &sums);

	return err ? err : unfold_sums(&folds->paths, sums, tree);
}

static struct hawk_error *unfold_chosen(const struct hawk_block_graph *graph,
					enum hawk_tree_fold_sort fold, const uint64_t *chosen,
					struct hawk_site_tree *tree)
{
	const struct hawk_tree_folds *folds = &graph->folds;
	CLEANUP(free_ptr) uint64_t *positions = NULL;
	CLEANUP(free_ptr) uint64_t *by_start = NULL;
	struct hawk_error *err = hawk_site_tree_begin(tree);

	if (err)
		return err;
	if (fold == HAWK_FOLD_PATHS)
		return unfold_wanted(graph, chosen, tree);
	err = hawk_tree_order_place(graph, &folds->order, chosen, &positions);
	if (!err)
		err = unfold_gone(graph, &folds->order, &folds->retained, positions, tree);
	if (err || fold != HAWK_FOLD_RETAINED_BOTH)
		return err;
	err = hawk_site_tree_add_start(tree);
	if (!err && folds->start_order.blocks != folds->order.blocks)
		err = hawk_tree_order_place(graph, &folds->start_order, chosen, &by_start);
	return err ? err
		   : unfold_gone(graph, &folds->start_order, &folds->start_retained,
				 by_start ? by_start : positions, tree);
}

static bool has_order(const struct hawk_tree_folds *folds, enum hawk_tree_fold_sort fold)
{
	if (fold == HAWK_FOLD_PATHS)
		return hawk_tree_steps_fit(&folds->path_steps, &folds->paths);
	return hawk_tree_order_fits(&folds->order, &folds->retained) &&
	       (fold == HAWK_FOLD_RETAINED ||
		hawk_tree_order_fits(&folds->start_order, &folds->start_retained));
}

bool hawk_site_tree_of_chosen(const struct hawk_block_graph *graph, enum hawk_tree_fold_sort fold,
			      const uint32_t *groups, const uint64_t *chosen,
			      struct hawk_site_tree *ret, struct hawk_error **err)
{
	struct hawk_site_tree tree = {.tails = true};

	*err = NULL;
	if (!hawk_site_tree_is_kept(graph, fold, groups) || !has_order(&graph->folds, fold))
		return false;
	*err = unfold_chosen(graph, fold, chosen, &tree);
	*err = hawk_site_tree_complete(&tree, *err, ret);
	return !*err;
}

struct hawk_error *hawk_tree_folds_need_ages(struct hawk_block_graph *graph)
{
	struct hawk_error *err;

	if (graph->folds.ages)
		return NULL;
	err = hawk_block_graph_need(graph, HAWK_PART_REACH);
	return err ? err : hawk_site_ages_make(graph, NULL, &graph->folds.ages);
}

static void fold_deinit(struct hawk_tree_fold *fold)
{
	free(fold->owned);
	*fold = (struct hawk_tree_fold){0};
}

void hawk_tree_folds_drop_order(struct hawk_block_graph *graph)
{
	struct hawk_tree_folds *folds = &graph->folds;

	if (folds->start_order.blocks && folds->start_order.blocks == folds->order.blocks)
		return;
	hawk_tree_order_deinit(&folds->order);
	graph->parts &= ~(unsigned)HAWK_PART_ORDER;
}

void hawk_tree_folds_deinit(struct hawk_tree_folds *folds)
{
	hawk_tree_order_deinit(&folds->order);
	hawk_tree_order_deinit(&folds->start_order);
	hawk_tree_steps_deinit(&folds->path_steps);
	fold_deinit(&folds->retained);
	fold_deinit(&folds->start_retained);
	fold_deinit(&folds->paths);
	free(folds->ages);
	hawk_area_destroy(&folds->by_start_area);
	*folds = (struct hawk_tree_folds){0};
}
