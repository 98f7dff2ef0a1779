/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees that are shown, grown from folds: step by step from the whole on, so that what nobody sees
 * of a large one is not looked at.
 *
 * Nodes of a fold may come from a file: where their numbers are none, nothing is grown.
 */
#include <stdlib.h>

#include "hawk_progress.h"
#include "site_tree_nodes.h"

enum { SIDES = 2, CAPACITY_MIN = 256 };

static const uint32_t NOWHERE = UINT32_MAX; /* a fold has no such step */

/** A step in the folds. */
struct step {
	uint32_t kind, key;
	uint32_t nodes[SIDES];
	struct hawk_chosen cum[SIDES];
};

struct growing {
	const struct hawk_tree_sums *sides;
	unsigned side_count;
	uint64_t group_count, site_count; /**< keys are below them */
	const struct hawk_tree_view *view;
	struct hawk_site_tree tree;
	uint32_t (*from)[SIDES]; /**< by node of the tree: those of the folds */
	struct step *steps;      /**< children of one node */
	size_t step_count, step_capacity;
	bool is_bad; /**< a fold is none */
};

static struct hawk_chosen add_up(const struct hawk_tree_sums *side, uint32_t first, uint32_t end)
{
	const struct hawk_tree_fold_node *nodes = side->fold->nodes;

	if (side->before)
		return (struct hawk_chosen){
			side->before[end].objects - side->before[first].objects,
			side->before[end].bytes - side->before[first].bytes,
		};
	return (struct hawk_chosen){
		nodes[end].objects - nodes[first].objects,
		nodes[end].bytes - nodes[first].bytes,
	};
}

static struct hawk_error *make_room(struct growing *growing)
{
	struct hawk_site_tree *tree = &growing->tree;
	uint32_t capacity = tree->capacity ? 2 * tree->capacity : CAPACITY_MIN;
	void *moved;

	if (tree->count < tree->capacity)
		return NULL;
	moved = reallocarray(tree->nodes, capacity, sizeof(*tree->nodes));
	if (!moved)
		return &hawk_enomem;
	tree->nodes = moved;
	moved = reallocarray(growing->from, capacity, sizeof(*growing->from));
	if (!moved)
		return &hawk_enomem;
	growing->from = moved;
	if (growing->side_count == SIDES) {
		moved = reallocarray(tree->start, capacity, sizeof(*tree->start));
		if (!moved)
			return &hawk_enomem;
		tree->start = moved;
	}
	tree->capacity = capacity;
	return NULL;
}

/** Of the node itself. Tails are those of the last steps. */
static struct hawk_chosen flat_of(const struct growing *growing, const struct step *step,
				  unsigned side, uint32_t depth)
{
	uint32_t node = step->nodes[side];

	if (node == NOWHERE || depth >= HAWK_SITE_TREE_DEPTH)
		return step->cum[side];
	return add_up(&growing->sides[side], node, node + 1);
}

/** A node behind all that are there. */
static struct hawk_error *push(struct growing *growing, const struct step *step, uint32_t parent)
{
	struct hawk_site_tree *tree = &growing->tree;
	uint32_t depth = tree->count ? tree->nodes[parent].depth + 1 : 0;
	struct hawk_chosen flat = flat_of(growing, step, 0, depth);
	struct hawk_error *err = make_room(growing);

	if (err)
		return err;
	tree->nodes[tree->count] = (struct hawk_site_tree_node){
		.key = step->key,
		.kind = step->kind,
		.parent = parent,
		.depth = depth,
		.flat_objects = flat.objects,
		.flat_bytes = flat.bytes,
		.cum_objects = step->cum[0].objects,
		.cum_bytes = step->cum[0].bytes,
	};
	if (tree->start) {
		flat = flat_of(growing, step, 1, depth);
		tree->start[tree->count] = (struct hawk_site_tree_sums){
			flat.objects, flat.bytes, step->cum[1].objects, step->cum[1].bytes};
	}
	growing->from[tree->count][0] = step->nodes[0];
	growing->from[tree->count][1] = step->nodes[1];
	hawk_progress_tick(tree->count);
	tree->count++;
	return NULL;
}

/** Of those that are shown, before `end`; what was made here is. */
static bool is_known(const struct growing *growing, const struct hawk_tree_fold *fold,
		     uint32_t number, uint32_t end)
{
	const struct hawk_tree_fold_node *node = &fold->nodes[number];

	if (fold->owned)
		return true;
	if (node->end <= number || node->end > end)
		return false;
	if (node->kind == HAWK_TREE_ROOT || node->kind == HAWK_TREE_SEVERAL)
		return node->key < growing->group_count;
	if (node->kind == HAWK_TREE_SITE)
		return node->key < growing->site_count;
	return node->kind == HAWK_TREE_SHARED || node->kind == HAWK_TREE_LOST;
}

static struct hawk_error *collect_step(struct growing *growing, unsigned side, uint32_t node)
{
	const struct hawk_tree_sums *sums = &growing->sides[side];
	const struct hawk_tree_fold_node *from = &sums->fold->nodes[node];
	struct step step = {.kind = from->kind, .key = from->key, .nodes = {NOWHERE, NOWHERE}};

	step.nodes[side] = node;
	step.cum[side] = add_up(sums, node, from->end);
	if (growing->step_count == growing->step_capacity) {
		size_t capacity =
			growing->step_capacity ? 2 * growing->step_capacity : CAPACITY_MIN;
		struct step *moved = reallocarray(growing->steps, capacity, sizeof(*moved));

		if (!moved)
			return &hawk_enomem;
		growing->steps = moved;
		growing->step_capacity = capacity;
	}
	growing->steps[growing->step_count++] = step;
	return NULL;
}

/** The children that a fold has. */
static struct hawk_error *collect_steps(struct growing *growing, uint32_t parent, unsigned side)
{
	const struct hawk_tree_fold *fold = growing->sides[side].fold;
	const struct hawk_tree_fold_node *nodes = fold->nodes;
	uint32_t from = growing->from[parent][side];
	struct hawk_error *err = NULL;

	if (from == NOWHERE)
		return NULL;
	for (uint32_t node = from + 1; node < nodes[from].end && !err; node = nodes[node].end) {
		if (!is_known(growing, fold, node, nodes[from].end)) {
			growing->is_bad = true;
			return NULL;
		}
		err = collect_step(growing, side, node);
	}
	return err;
}

static int compare_names(const struct step *a, const struct step *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int compare_by_name(const void *left, const void *right)
{
	return compare_names(left, right);
}

static int compare_by_sums(const void *left, const void *right)
{
	const struct step *a = left;
	const struct step *b = right;

	if (a->cum[0].bytes != b->cum[0].bytes)
		return a->cum[0].bytes > b->cum[0].bytes ? -1 : 1;
	if (a->cum[0].objects != b->cum[0].objects)
		return a->cum[0].objects > b->cum[0].objects ? -1 : 1;
	if (a->cum[1].bytes != b->cum[1].bytes)
		return a->cum[1].bytes > b->cum[1].bytes ? -1 : 1;
	return compare_names(a, b);
}

/** Steps that both folds have become one. */
static void join_sides(struct growing *growing)
{
	struct step *steps = growing->steps;
	size_t used = 0;

	qsort(steps, growing->step_count, sizeof(*steps), compare_by_name);
	for (size_t i = 0; i < growing->step_count; i++) {
		unsigned side = steps[i].nodes[0] == NOWHERE;

		if (used && steps[used - 1].nodes[side] == NOWHERE &&
		    !compare_names(&steps[used - 1], &steps[i])) {
			steps[used - 1].nodes[side] = steps[i].nodes[side];
			steps[used - 1].cum[side] = steps[i].cum[side];
		} else {
			steps[used++] = steps[i];
		}
	}
	growing->step_count = used;
}

/** Without what no block is counted for, in the order in which they are shown. */
static void order_steps(struct growing *growing)
{
	struct step *steps = growing->steps;
	size_t used = 0;

	for (size_t i = 0; i < growing->step_count; i++)
		if (steps[i].cum[0].objects || steps[i].cum[1].objects)
			steps[used++] = steps[i];
	growing->step_count = used;
	qsort(steps, used, sizeof(*steps), compare_by_sums);
}

static struct hawk_error *push_children(struct growing *growing, uint32_t parent)
{
	struct hawk_site_tree *tree = &growing->tree;
	uint32_t first = tree->count;
	struct hawk_error *err = NULL;

	growing->step_count = 0;
	for (unsigned side = 0; side < growing->side_count && !err; side++)
		err = collect_steps(growing, parent, side);
	if (err || !growing->step_count)
		return err;
	if (growing->side_count == SIDES)
		join_sides(growing);
	if (growing->step_count > 1 || !growing->steps[0].cum[0].objects)
		order_steps(growing);
	for (size_t i = 0; i < growing->step_count && !err; i++)
		err = push(growing, &growing->steps[i], parent);
	if (err || tree->count == first)
		return err;
	tree->nodes[parent].first_child = first;
	for (uint32_t i = first; i + 1 < tree->count; i++)
		tree->nodes[i].next_sibling = i + 1;
	return NULL;
}

static bool has_children(const struct growing *growing, uint32_t number)
{
	const struct hawk_site_tree_node *nodes = growing->tree.nodes, *node = &nodes[number];
	const struct hawk_tree_view *view = growing->view;
	uint32_t before;

	if (node->depth >= HAWK_SITE_TREE_DEPTH)
		return false;
	if (!view)
		return true;
	if (node->depth >= view->depth)
		return false;
	before = number ? number - nodes[node->parent].first_child : 0;
	return before <= view->top && (!before || !node->next_sibling || !view->share ||
				       node->cum_bytes >= nodes[0].cum_bytes / view->share);
}

static struct hawk_error *grow(struct growing *growing)
{
	struct step all = {.kind = HAWK_TREE_ALL};
	struct hawk_error *err;

	for (unsigned side = 0; side < growing->side_count; side++) {
		const struct hawk_tree_sums *sums = &growing->sides[side];

		growing->is_bad |= sums->fold->nodes[0].end != sums->fold->count;
		all.cum[side] = add_up(sums, 0, sums->fold->count);
	}
	err = push(growing, &all, 0);
	for (uint32_t i = 0; i < growing->tree.count && !err && !growing->is_bad; i++)
		if (has_children(growing, i))
			err = push_children(growing, i);
	return err;
}

static uint64_t count_groups(const struct hawk_block_graph *graph, const uint32_t *groups)
{
	uint64_t count = 0;

	for (size_t i = 0; i < graph->roots.count; i++)
		if (groups[i] >= count)
			count = (uint64_t)groups[i] + 1;
	return count;
}

bool hawk_site_tree_grow(const struct hawk_block_graph *graph, const uint32_t *groups,
			 const struct hawk_tree_sums *sides, unsigned side_count,
			 const struct hawk_tree_view *view, struct hawk_site_tree *ret,
			 struct hawk_error **err)
{
	struct growing growing = {
		.sides = sides,
		.side_count = side_count,
		.group_count = count_groups(graph, groups),
		.site_count = graph->heap->site_count,
		.view = view,
	};
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "putting the tree together", sides[0].fold->count);
	*err = grow(&growing);
	hawk_progress_end(&progress);
	free(growing.from);
	free(growing.steps);
	if (!*err && !growing.is_bad) {
		*ret = growing.tree;
		return true;
	}
	hawk_site_tree_deinit(&growing.tree);
	return false;
}
