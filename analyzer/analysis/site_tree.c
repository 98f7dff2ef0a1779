/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Site trees: nodes in the making are found by hash, parents before their children; when all blocks
 * have been counted, sums are added up and nodes put in order.
 */
#include "site_tree_nodes.h"

#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_progress.h"

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
					 "the tree of paths exceeds 2^30 nodes");
	nodes = reallocarray(tree->nodes, capacity, sizeof(*nodes));
	if (!nodes)
		return &hawk_enomem;
	tree->nodes = nodes;
	if (tree->both) {
		struct hawk_site_tree_sums *start =
			reallocarray(tree->start, capacity, sizeof(*start));

		if (!start)
			return &hawk_enomem;
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
	if (tree->both)
		tree->start[tree->count] = (struct hawk_site_tree_sums){0};
	enter(tree, tree->count);
	*ret = tree->count++;
	return NULL;
}

/** The node of a block of `site` behind node `parent`. */
struct hawk_error *hawk_site_tree_step_site(struct hawk_site_tree *tree, uint32_t parent,
					    uint32_t site, uint32_t *ret)
{
	const struct hawk_site_tree_node *node = &tree->nodes[parent];

	if ((node->kind == HAWK_TREE_SITE && node->key == site) ||
	    node->depth >= HAWK_SITE_TREE_DEPTH) {
		*ret = parent;
		return NULL;
	}
	return hawk_site_tree_step(tree, parent, HAWK_TREE_SITE, site, ret);
}

struct hawk_error *hawk_site_tree_begin(struct hawk_site_tree *tree)
{
	struct hawk_error *err = grow(tree);

	if (err)
		return err;
	tree->nodes[0] = (struct hawk_site_tree_node){.kind = HAWK_TREE_ALL};
	if (tree->both)
		tree->start[0] = (struct hawk_site_tree_sums){0};
	tree->count = 1;
	return NULL;
}

void hawk_site_tree_count(const struct hawk_heap *heap, struct hawk_site_tree *tree, bool by_start,
			  uint32_t node, uint32_t block)
{
	unsigned objects = hawk_block_index_counts(&heap->index, block);
	uint64_t bytes = hawk_block_index_left_bytes(&heap->index, block);

	if (by_start) {
		tree->start[node].flat_objects += objects;
		tree->start[node].flat_bytes += bytes;
	} else {
		tree->nodes[node].flat_objects += objects;
		tree->nodes[node].flat_bytes += bytes;
	}
}

/** Parents have smaller numbers. */
static void add_up(struct hawk_site_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct hawk_site_tree_node *node = &tree->nodes[i];
		struct hawk_site_tree_node *parent = &tree->nodes[node->parent];

		node->cum_objects += node->flat_objects;
		node->cum_bytes += node->flat_bytes;
		if (i) {
			parent->cum_objects += node->cum_objects;
			parent->cum_bytes += node->cum_bytes;
		}
	}
	for (uint32_t i = tree->both ? tree->count : 0; i-- > 0;) {
		struct hawk_site_tree_sums *sums = &tree->start[i];
		struct hawk_site_tree_sums *above = &tree->start[tree->nodes[i].parent];

		sums->cum_objects += sums->flat_objects;
		sums->cum_bytes += sums->flat_bytes;
		if (i) {
			above->cum_objects += sums->cum_objects;
			above->cum_bytes += sums->cum_bytes;
		}
	}
}

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct hawk_site_tree *tree = context;
	uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
	const struct hawk_site_tree_node *a = &tree->nodes[i];
	const struct hawk_site_tree_node *b = &tree->nodes[j];

	if (a->cum_bytes != b->cum_bytes)
		return a->cum_bytes > b->cum_bytes ? -1 : 1;
	if (a->cum_objects != b->cum_objects)
		return a->cum_objects > b->cum_objects ? -1 : 1;
	if (tree->both && tree->start[i].cum_bytes != tree->start[j].cum_bytes)
		return tree->start[i].cum_bytes > tree->start[j].cum_bytes ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

/** Nodes on their way into their order. */
struct ordering {
	struct hawk_site_tree *tree;
	uint32_t *first;    /**< by node: its children are children[first[node]] up to the next's */
	uint32_t *children; /**< of all nodes that count */
	struct hawk_site_tree_node *nodes;
	struct hawk_site_tree_sums *start;
	uint32_t count;
};

static bool counts(const struct hawk_site_tree *tree, uint32_t number)
{
	return tree->nodes[number].cum_objects || (tree->both && tree->start[number].cum_objects);
}

/** Offsets are moved by one while children are placed, so that they are right afterwards. */
static void list_children(const struct ordering *ordering)
{
	const struct hawk_site_tree *tree = ordering->tree;
	uint32_t *first = ordering->first;

	for (uint32_t i = 1; i < tree->count; i++)
		first[tree->nodes[i].parent + 2] += counts(tree, i);
	for (uint32_t i = 1; i < tree->count + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 1; i < tree->count; i++)
		if (counts(tree, i))
			ordering->children[first[tree->nodes[i].parent + 1]++] = i;
}

static void put_node(struct ordering *ordering, uint32_t number, uint32_t parent)
{
	struct hawk_site_tree_node *node = &ordering->nodes[ordering->count];

	*node = ordering->tree->nodes[number];
	node->parent = parent;
	node->first_child = number; /* until its children are put */
	if (ordering->start)
		ordering->start[ordering->count] = ordering->tree->start[number];
	ordering->count++;
}

static void put_children(struct ordering *ordering, uint32_t parent)
{
	uint32_t number = ordering->nodes[parent].first_child;
	uint32_t *children = ordering->children + ordering->first[number];
	uint32_t count = ordering->first[number + 1] - ordering->first[number];

	ordering->nodes[parent].first_child = count ? ordering->count : 0;
	if (count > 1)
		qsort_r(children, count, sizeof(*children), compare_siblings, ordering->tree);
	for (uint32_t i = 0; i < count; i++) {
		put_node(ordering, children[i], parent);
		ordering->nodes[ordering->count - 1].next_sibling =
			i + 1 < count ? ordering->count : 0;
	}
}

/** By depth, then in the order of parents and siblings. */
static struct hawk_error *put_in_order(struct hawk_site_tree *tree)
{
	CLEANUP(free_ptr) uint32_t *first = calloc((size_t)tree->count + 2, sizeof(*first));
	CLEANUP(free_ptr) uint32_t *children = malloc((size_t)tree->count * sizeof(*children));
	struct ordering ordering = {
		.tree = tree,
		.first = first,
		.children = children,
		.nodes = malloc((size_t)tree->count * sizeof(*ordering.nodes)),
		.start = tree->both ? malloc((size_t)tree->count * sizeof(*ordering.start)) : NULL,
	};

	if (!first || !children || !ordering.nodes || (tree->both && !ordering.start)) {
		free(ordering.nodes);
		free(ordering.start);
		return &hawk_enomem;
	}
	list_children(&ordering);
	put_node(&ordering, 0, 0);
	for (uint32_t i = 0; i < ordering.count; i++) {
		put_children(&ordering, i);
		hawk_progress_tick(i);
	}
	free(tree->nodes);
	free(tree->start);
	tree->nodes = ordering.nodes;
	tree->start = ordering.start;
	tree->count = ordering.count;
	return NULL;
}

struct hawk_error *hawk_site_tree_finish(struct hawk_site_tree *tree)
{
	struct hawk_progress progress;
	struct hawk_error *err;

	free(tree->index);
	tree->index = NULL;
	hawk_progress_begin(&progress, "putting the tree together", tree->count);
	add_up(tree);
	err = put_in_order(tree);
	hawk_progress_end(&progress);
	return err;
}

void hawk_site_tree_deinit(struct hawk_site_tree *tree)
{
	free(tree->nodes);
	free(tree->start);
	free(tree->index);
	*tree = (struct hawk_site_tree){0};
}
