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

/**
 * Of the nodes of a tree, the fold's numbers: a node's children come right behind it, each with all
 * that is below it, in the order in which they were made. What a tree in the making has no use for
 * is room for that.
 */
static void number_nodes(const struct hawk_site_tree *tree, uint32_t *numbers)
{
	struct hawk_site_tree_node *nodes = tree->nodes;

	/* first_child: where the next child goes; next_sibling: steps with those below. */
	for (uint32_t i = 0; i < tree->count; i++)
		nodes[i].next_sibling = 1;
	for (uint32_t i = tree->count; i-- > 1;)
		nodes[nodes[i].parent].next_sibling += nodes[i].next_sibling;
	numbers[0] = 0;
	nodes[0].first_child = 1;
	for (uint32_t i = 1; i < tree->count; i++) {
		struct hawk_site_tree_node *parent = &nodes[nodes[i].parent];

		numbers[i] = parent->first_child;
		parent->first_child += nodes[i].next_sibling;
		nodes[i].first_child = numbers[i] + 1;
	}
}

/** `nodes`: one more than the tree has, of zeros. */
static void place_nodes(const struct hawk_site_tree *tree, const uint32_t *numbers,
			struct hawk_tree_fold_node *nodes)
{
	uint64_t objects = 0, bytes = 0;

	for (uint32_t i = 0; i < tree->count; i++) {
		const struct hawk_site_tree_node *from = &tree->nodes[i];

		nodes[numbers[i]] = (struct hawk_tree_fold_node){
			.end = numbers[i] + from->next_sibling,
			.kind = from->kind,
			.key = from->key,
			.objects = (uint32_t)from->flat_objects,
			.bytes = from->flat_bytes,
		};
	}
	for (uint32_t i = 0; i <= tree->count; i++) {
		uint64_t own_objects = nodes[i].objects, own_bytes = nodes[i].bytes;

		nodes[i].objects = (uint32_t)objects;
		nodes[i].bytes = bytes;
		objects += own_objects;
		bytes += own_bytes;
	}
}

static struct hawk_error *make_fold(const struct hawk_site_tree *tree, uint64_t groups,
				    uint32_t **numbers, struct hawk_tree_fold *ret)
{
	CLEANUP(free_ptr) uint32_t *made = malloc((size_t)tree->count * sizeof(*made));
	struct hawk_tree_fold_node *nodes = calloc((size_t)tree->count + 1, sizeof(*nodes));

	if (!made || !nodes) {
		free(nodes);
		return &hawk_enomem;
	}
	number_nodes(tree, made);
	place_nodes(tree, made, nodes);
	*ret = (struct hawk_tree_fold){nodes, tree->count, groups, nodes};
	if (numbers)
		*numbers = take_ptr(&made);
	return NULL;
}

struct hawk_error *hawk_tree_fold_take(struct hawk_site_tree *tree, struct hawk_error *err,
				       uint64_t groups, uint32_t **numbers,
				       struct hawk_tree_fold *ret)
{
	if (!err)
		err = make_fold(tree, groups, numbers, ret);
	hawk_site_tree_deinit(tree);
	return err;
}

void hawk_tree_fold_deinit(struct hawk_tree_fold *fold)
{
	free(fold->owned);
	*fold = (struct hawk_tree_fold){0};
}

void hawk_tree_fold_keep(struct hawk_tree_fold *made, uint32_t most, struct hawk_tree_fold *kept)
{
	if (!made->nodes || made->count > most) {
		hawk_tree_fold_deinit(made);
		return;
	}
	hawk_tree_fold_deinit(kept);
	*kept = *made;
	*made = (struct hawk_tree_fold){0};
}

static bool has_site(const struct hawk_tree_fold_node *node, const uint64_t *sites, uint64_t count)
{
	return node->kind >= HAWK_TREE_SITE && node->key < count &&
	       sites[node->key / 64] >> node->key % 64 & 1;
}

/** Sums of nodes of the sites alone. */
static void sum_alone(const struct hawk_tree_fold *fold, const uint64_t *sites, uint64_t site_count,
		      struct hawk_chosen *before)
{
	const struct hawk_tree_fold_node *nodes = fold->nodes;
	struct hawk_chosen sums = {0};

	for (uint32_t i = 0; i < fold->count; i++) {
		before[i] = sums;
		if (!has_site(&nodes[i], sites, site_count))
			continue;
		sums.objects += nodes[i + 1].objects - nodes[i].objects;
		sums.bytes += nodes[i + 1].bytes - nodes[i].bytes;
	}
	before[fold->count] = sums;
}

/** With what is below them. False: of tails nobody knows which dominates which. */
static bool sum_gone(const struct hawk_tree_fold *fold, const uint64_t *sites, uint64_t site_count,
		     struct hawk_chosen *before)
{
	const struct hawk_tree_fold_node *nodes = fold->nodes;
	struct hawk_chosen sums = {0};
	uint32_t end = 0;

	for (uint32_t i = 0; i < fold->count; i++) {
		before[i] = sums;
		if (i >= end) {
			if (!has_site(&nodes[i], sites, site_count))
				continue;
			if (nodes[i].kind == HAWK_TREE_TAIL)
				return false;
			end = nodes[i].end;
		}
		sums.objects += nodes[i + 1].objects - nodes[i].objects;
		sums.bytes += nodes[i + 1].bytes - nodes[i].bytes;
	}
	before[fold->count] = sums;
	return true;
}

/** Folds of a sort, as their sums are. */
static unsigned sides_of(const struct hawk_tree_folds *folds, enum hawk_tree_fold_sort sort,
			 struct hawk_tree_sums *sides)
{
	if (sort == HAWK_FOLD_PATHS) {
		sides[0] = (struct hawk_tree_sums){.fold = &folds->paths};
		return 1;
	}
	sides[0] = (struct hawk_tree_sums){.fold = &folds->retained};
	sides[1] = (struct hawk_tree_sums){.fold = &folds->start_retained};
	return sort == HAWK_FOLD_RETAINED ? 1 : 2;
}

bool hawk_site_tree_is_kept(const struct hawk_block_graph *graph, enum hawk_tree_fold_sort sort,
			    const uint32_t *groups)
{
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);
	struct hawk_tree_sums sides[2];
	unsigned count = sides_of(&graph->folds, sort, sides);

	for (unsigned i = 0; i < count; i++)
		if (!hawk_tree_fold_fits(sides[i].fold, number))
			return false;
	return true;
}

bool hawk_site_tree_of_sites(const struct hawk_block_graph *graph, enum hawk_tree_fold_sort sort,
			     const uint32_t *groups, const uint64_t *sites,
			     const struct hawk_tree_view *view, struct hawk_site_tree *ret,
			     struct hawk_error **err)
{
	uint64_t site_count = graph->heap->site_count;
	struct hawk_tree_sums sides[2];
	unsigned count = sides_of(&graph->folds, sort, sides);
	bool exact = true;

	*err = NULL;
	if (!hawk_site_tree_is_kept(graph, sort, groups))
		return false;
	CLEANUP(free_ptr) struct hawk_chosen *first = NULL;
	CLEANUP(free_ptr) struct hawk_chosen *second = NULL;
	for (unsigned i = 0; i < count && sites && exact; i++) {
		struct hawk_chosen *before =
			malloc(((size_t)sides[i].fold->count + 1) * sizeof(*before));

		if (!before) {
			*err = &hawk_enomem;
			return false;
		}
		*(i ? &second : &first) = before;
		sides[i].before = before;
		if (sort == HAWK_FOLD_PATHS)
			sum_alone(sides[i].fold, sites, site_count, before);
		else
			exact = sum_gone(sides[i].fold, sites, site_count, before);
	}
	return exact && hawk_site_tree_grow(graph, groups, sides, count, view, ret, err);
}

/** Sums by node become those of all nodes before it. */
static void sum_before(struct hawk_chosen *sums, uint32_t count)
{
	struct hawk_chosen before = {0};

	for (uint32_t i = 0; i <= count; i++) {
		struct hawk_chosen own = sums[i];

		sums[i] = before;
		before.objects += own.objects;
		before.bytes += own.bytes;
	}
}

static struct hawk_error *sum_chosen(const struct hawk_block_graph *graph,
				     enum hawk_tree_fold_sort sort, const uint64_t *chosen,
				     struct hawk_chosen **first, struct hawk_chosen **second)
{
	const struct hawk_tree_folds *folds = &graph->folds;
	CLEANUP(free_ptr) uint64_t *positions = NULL;
	CLEANUP(free_ptr) uint64_t *by_start = NULL;
	struct hawk_error *err;

	if (sort == HAWK_FOLD_PATHS)
		return hawk_tree_steps_sum(graph, &folds->path_steps, &folds->paths, chosen, first);
	err = hawk_tree_order_place(graph, &folds->order, chosen, &positions);
	if (!err)
		err = hawk_tree_order_sum_nodes(graph, &folds->order, &folds->retained, positions,
						first);
	if (err || sort != HAWK_FOLD_RETAINED_BOTH)
		return err;
	if (folds->start_order.blocks != folds->order.blocks)
		err = hawk_tree_order_place(graph, &folds->start_order, chosen, &by_start);
	return err ? err
		   : hawk_tree_order_sum_nodes(graph, &folds->start_order, &folds->start_retained,
					       by_start ? by_start : positions, second);
}

static bool has_order(const struct hawk_tree_folds *folds, enum hawk_tree_fold_sort sort)
{
	if (sort == HAWK_FOLD_PATHS)
		return hawk_tree_steps_fit(&folds->path_steps, &folds->paths);
	return hawk_tree_order_fits(&folds->order, &folds->retained) &&
	       (sort == HAWK_FOLD_RETAINED ||
		hawk_tree_order_fits(&folds->start_order, &folds->start_retained));
}

bool hawk_site_tree_of_chosen(const struct hawk_block_graph *graph, enum hawk_tree_fold_sort sort,
			      const uint32_t *groups, const uint64_t *chosen,
			      const struct hawk_tree_view *view, struct hawk_site_tree *ret,
			      struct hawk_error **err)
{
	CLEANUP(free_ptr) struct hawk_chosen *first = NULL;
	CLEANUP(free_ptr) struct hawk_chosen *second = NULL;
	struct hawk_tree_sums sides[2];
	unsigned count = sides_of(&graph->folds, sort, sides);

	*err = NULL;
	if (!hawk_site_tree_is_kept(graph, sort, groups) || !has_order(&graph->folds, sort))
		return false;
	*err = sum_chosen(graph, sort, chosen, &first, &second);
	if (*err)
		return false;
	sum_before(first, sides[0].fold->count);
	sides[0].before = first;
	if (second) {
		sum_before(second, sides[1].fold->count);
		sides[1].before = second;
	}
	return hawk_site_tree_grow(graph, groups, sides, count, view, ret, err);
}

struct hawk_error *hawk_tree_folds_need_ages(struct hawk_block_graph *graph)
{
	struct hawk_error *err;

	if (graph->folds.ages)
		return NULL;
	err = hawk_block_graph_need(graph, HAWK_PART_REACH);
	return err ? err : hawk_site_ages_make(graph, NULL, &graph->folds.ages);
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
	hawk_tree_fold_deinit(&folds->retained);
	hawk_tree_fold_deinit(&folds->start_retained);
	hawk_tree_fold_deinit(&folds->paths);
	free(folds->ages);
	hawk_area_destroy(&folds->by_start_area);
	*folds = (struct hawk_tree_folds){0};
}
