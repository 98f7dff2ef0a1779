/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The nodes of a site tree in the making, found by hash.
 */
#include "site_tree_nodes.h"

#include <stdlib.h>

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
	if (tree->most && tree->count >= tree->most)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "the tree has too many steps");
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

	tree->nodes[node].flat_objects += objects;
	tree->nodes[node].flat_bytes += bytes;
}

void hawk_site_tree_deinit(struct hawk_site_tree *tree)
{
	free(tree->nodes);
	free(tree->start);
	free(tree->index);
	*tree = (struct hawk_site_tree){0};
}
