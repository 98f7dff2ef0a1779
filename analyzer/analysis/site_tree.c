/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The nodes of a site tree: found by hash while it is made, then in order.
 */
#include "site_tree_nodes.h"

#include <string.h>

#include "hawk_cleanup.h"

static uint32_t hash_of(uint32_t parent, uint32_t kind, uint32_t key)
{
	uint64_t mix = ((uint64_t)parent << 32 | key) * UINT64_C(0x9e3779b97f4a7c15) + kind;

	mix ^= mix >> 29;
	mix *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(mix >> 32);
}

static void enter(struct hawk_site_tree *tree, uint32_t number)
{
	const struct hawk_site_tree_node *node = &tree->nodes[number];
	uint32_t at = hash_of(node->parent, node->kind, node->key) & (tree->index_size - 1);

	while (tree->index[at])
		at = (at + 1) & (tree->index_size - 1);
	tree->index[at] = number;
}

static struct hawk_error *grow(struct hawk_site_tree *tree)
{
	uint32_t capacity = tree->capacity ? 2 * tree->capacity : 256;
	struct hawk_site_tree_node *nodes;
	uint32_t *index;

	if (capacity > UINT32_C(1) << 30)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "there are more ways through this heap than fit a tree");
	nodes = reallocarray(tree->nodes, capacity, sizeof(*nodes));
	if (!nodes)
		return &hawk_enomem;
	tree->nodes = nodes;
	if (tree->start) {
		struct hawk_site_tree_sums *start =
			reallocarray(tree->start, capacity, sizeof(*start));

		if (!start)
			return &hawk_enomem;
		memset(start + tree->capacity, 0, (capacity - tree->capacity) * sizeof(*start));
		tree->start = start;
	}
	index = calloc(2 * (size_t)capacity, sizeof(*index));
	if (!index)
		return &hawk_enomem;
	free(tree->index);
	tree->index = index;
	tree->index_size = 2 * capacity;
	tree->capacity = capacity;
	for (uint32_t i = 1; i < tree->count; i++)
		enter(tree, i);
	return NULL;
}

/** The child of `parent`, made if need be. */
struct hawk_error *hawk_site_tree_step(struct hawk_site_tree *tree, uint32_t parent, uint32_t kind,
				       uint32_t key, uint32_t *ret)
{
	uint32_t at;
	struct hawk_error *err;

	for (at = hash_of(parent, kind, key) & (tree->index_size - 1); tree->index[at];
	     at = (at + 1) & (tree->index_size - 1)) {
		const struct hawk_site_tree_node *node = &tree->nodes[tree->index[at]];

		if (node->parent == parent && node->kind == kind && node->key == key) {
			*ret = tree->index[at];
			return NULL;
		}
	}
	if (tree->count == tree->capacity) {
		err = grow(tree);
		if (err)
			return err;
	}
	tree->nodes[tree->count] = (struct hawk_site_tree_node){
		.key = key,
		.kind = kind,
		.parent = parent,
		.depth = tree->nodes[parent].depth + 1,
	};
	enter(tree, tree->count);
	*ret = tree->count++;
	return NULL;
}

/** The node of a block of `site` behind node `parent`. */
struct hawk_error *hawk_site_tree_step_site(struct hawk_site_tree *tree, uint32_t parent,
					    uint32_t site, uint32_t *ret)
{
	const struct hawk_site_tree_node *node = &tree->nodes[parent];
	bool is_deep = node->depth >= HAWK_SITE_TREE_DEPTH;

	if ((node->kind >= HAWK_TREE_SITE && node->key == site) || (is_deep && !tree->tails)) {
		*ret = parent;
		return NULL;
	}
	if (is_deep)
		return hawk_site_tree_step(tree,
					   node->kind == HAWK_TREE_TAIL ? node->parent : parent,
					   HAWK_TREE_TAIL, site, ret);
	return hawk_site_tree_step(tree, parent, HAWK_TREE_SITE, site, ret);
}

struct hawk_error *hawk_site_tree_begin(struct hawk_site_tree *tree)
{
	struct hawk_error *err = grow(tree);

	if (err)
		return err;
	tree->nodes[0] = (struct hawk_site_tree_node){.kind = HAWK_TREE_ALL};
	tree->count = 1;
	return NULL;
}

void hawk_site_tree_count(const struct hawk_block_graph *graph, struct hawk_site_tree *tree,
			  uint32_t node, uint32_t block)
{
	unsigned objects = hawk_block_index_counts(&graph->index, block);
	uint64_t bytes = hawk_block_index_left_bytes(&graph->index, block);

	if (tree->start) {
		tree->start[node].flat_objects += objects;
		tree->start[node].flat_bytes += bytes;
	} else {
		tree->nodes[node].flat_objects += objects;
		tree->nodes[node].flat_bytes += bytes;
	}
}

struct hawk_error *hawk_site_tree_add_start(struct hawk_site_tree *tree)
{
	tree->start = calloc(tree->capacity, sizeof(*tree->start));
	return tree->start ? NULL : &hawk_enomem;
}

static int compare_children(const void *left, const void *right, void *context)
{
	const struct hawk_site_tree *tree = context;
	uint32_t number_a = *(const uint32_t *)left, number_b = *(const uint32_t *)right;
	const struct hawk_site_tree_node *a = &tree->nodes[number_a];
	const struct hawk_site_tree_node *b = &tree->nodes[number_b];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->cum_bytes != b->cum_bytes)
		return a->cum_bytes > b->cum_bytes ? -1 : 1;
	if (a->cum_objects != b->cum_objects)
		return a->cum_objects > b->cum_objects ? -1 : 1;
	if (tree->start && tree->start[number_a].cum_bytes != tree->start[number_b].cum_bytes)
		return tree->start[number_a].cum_bytes > tree->start[number_b].cum_bytes ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void add_up_start(struct hawk_site_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct hawk_site_tree_sums *sums = &tree->start[i];
		struct hawk_site_tree_sums *above = &tree->start[tree->nodes[i].parent];

		sums->cum_objects += sums->flat_objects;
		sums->cum_bytes += sums->flat_bytes;
		if (!i)
			break;
		above->cum_objects += sums->cum_objects;
		above->cum_bytes += sums->cum_bytes;
	}
}

static void add_up(struct hawk_site_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct hawk_site_tree_node *node = &tree->nodes[i];

		node->cum_objects += node->flat_objects;
		node->cum_bytes += node->flat_bytes;
		if (!i)
			break;
		tree->nodes[node->parent].cum_objects += node->cum_objects;
		tree->nodes[node->parent].cum_bytes += node->cum_bytes;
	}
}

/** Blocks beyond the depth count for their ancestor there. */
static void cut_tails(struct hawk_site_tree *tree)
{
	for (uint32_t i = 1; tree->tails && i < tree->count; i++) {
		struct hawk_site_tree_node *node = &tree->nodes[i];

		if (node->kind != HAWK_TREE_TAIL)
			continue;
		tree->nodes[node->parent].flat_objects += node->flat_objects;
		tree->nodes[node->parent].flat_bytes += node->flat_bytes;
		node->flat_objects = node->flat_bytes = 0;
		if (!tree->start)
			continue;
		tree->start[node->parent].flat_objects += tree->start[i].flat_objects;
		tree->start[node->parent].flat_bytes += tree->start[i].flat_bytes;
		tree->start[i] = (struct hawk_site_tree_sums){0};
	}
}

/** Leaves out what no block is counted for. Nodes are not found by hash any more: the index says
 * their new numbers. */
static void drop_empty(struct hawk_site_tree *tree)
{
	uint32_t *numbers = tree->index;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tree->count; i++) {
		if (i && !tree->nodes[i].cum_objects &&
		    !(tree->start && tree->start[i].cum_objects))
			continue;
		numbers[i] = kept;
		tree->nodes[kept] = tree->nodes[i];
		tree->nodes[kept].parent = numbers[tree->nodes[i].parent];
		if (tree->start)
			tree->start[kept] = tree->start[i];
		kept++;
	}
	tree->count = kept;
}

/** Nodes by depth, then in the order of their parents and among siblings: whatever they were made
 * of, blocks one by one or a tree that was kept, nobody sees it. `order` has room for all. */
static struct hawk_error *renumber(struct hawk_site_tree *tree, uint32_t *order)
{
	struct hawk_site_tree_node *nodes = calloc(tree->count, sizeof(*nodes));
	CLEANUP(free_ptr)
	struct hawk_site_tree_sums *start =
		tree->start ? calloc(tree->count, sizeof(*start)) : NULL;
	uint32_t *numbers = tree->index;
	uint32_t count = 1;

	if (!nodes || (tree->start && !start)) {
		free(nodes);
		return &hawk_enomem;
	}
	order[0] = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t child = tree->nodes[order[i]].first_child;

		numbers[order[i]] = i;
		for (; child; child = tree->nodes[child].next_sibling)
			order[count++] = child;
	}
	for (uint32_t i = 0; i < count; i++) {
		nodes[i] = tree->nodes[order[i]];
		nodes[i].parent = numbers[nodes[i].parent];
		nodes[i].first_child = numbers[nodes[i].first_child];
		nodes[i].next_sibling = numbers[nodes[i].next_sibling];
		if (start)
			start[i] = tree->start[order[i]];
	}
	free(tree->nodes);
	tree->nodes = nodes;
	tree->capacity = tree->count;
	if (start) {
		free(tree->start);
		tree->start = take_ptr(&start);
	}
	return NULL;
}

/** Cumulative sums, and children in order. */
static struct hawk_error *finish(struct hawk_site_tree *tree)
{
	CLEANUP(free_ptr) uint32_t *order = malloc(tree->count * sizeof(*order));
	struct hawk_error *err;

	if (!order)
		return &hawk_enomem;
	cut_tails(tree);
	add_up(tree);
	if (tree->start)
		add_up_start(tree);
	drop_empty(tree);
	for (uint32_t i = 0; i < tree->count; i++)
		order[i] = i;
	qsort_r(order + 1, tree->count - 1, sizeof(*order), compare_children, tree);
	for (uint32_t i = tree->count; i-- > 1;) {
		struct hawk_site_tree_node *node = &tree->nodes[order[i]];

		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = order[i];
	}
	err = renumber(tree, order);
	free(tree->index);
	tree->index = NULL;
	return err;
}

/** A tree of what was folded, unless `err` says that it was not. */
struct hawk_error *hawk_site_tree_complete(struct hawk_site_tree *tree, struct hawk_error *err,
					   struct hawk_site_tree *ret)
{
	if (!err)
		err = finish(tree);
	if (err)
		hawk_site_tree_deinit(tree);
	else
		*ret = *tree;
	return err;
}

void hawk_site_tree_deinit(struct hawk_site_tree *tree)
{
	free(tree->nodes);
	free(tree->start);
	free(tree->index);
	*tree = (struct hawk_site_tree){0};
}
