/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Site trees: nodes in the making are found by hash, parents before their children; when all blocks
 * have been counted, sums are added up and nodes put in order. Along shortest paths every block
 * gets a node, the one before it on its path first.
 */
#include "site_tree_nodes.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum {
	BLOCKS_AHEAD = 16,
	MUCH = 5, /**< 1/MUCH of the whole is much */
};

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

static bool is_site(const struct hawk_site_tree_node *node, uint32_t site)
{
	return node->kind == HAWK_TREE_SITE && node->key == site;
}

struct hawk_error *hawk_site_tree_step_site(struct hawk_site_tree *tree, uint32_t parent,
					    uint32_t site, uint32_t *ret)
{
	const struct hawk_site_tree_node *nodes = tree->nodes;

	*ret = parent;
	if (is_site(&nodes[parent], site))
		return NULL;
	if (nodes[parent].depth < HAWK_SITE_TREE_DEPTH)
		return hawk_site_tree_step(tree, parent, HAWK_TREE_SITE, site, ret);
	for (uint32_t at = parent; nodes[at].kind == HAWK_TREE_SITE; at = nodes[at].parent)
		if (nodes[at].key == site) {
			*ret = at;
			break;
		}
	return NULL;
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

void hawk_site_tree_count(const struct hawk_heap *heap, struct hawk_site_tree *tree, uint32_t node,
			  uint32_t block)
{
	uint64_t bytes = hawk_block_own_bytes(&heap->index, block);

	tree->nodes[node].flat_objects++;
	tree->nodes[node].flat_bytes += bytes;
}

/** Parents have smaller numbers. */
static void add_up(struct hawk_site_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct hawk_site_tree_node *node = &tree->nodes[i];
		struct hawk_site_tree_node *parent = &tree->nodes[node->parent];

		node->cum_objects += node->flat_objects;
		node->cum_bytes += node->flat_bytes;
		if (!i)
			return;
		parent->cum_objects += node->cum_objects;
		parent->cum_bytes += node->cum_bytes;
	}
}

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct hawk_site_tree_node *nodes = context;
	const struct hawk_site_tree_node *a = &nodes[*(const uint32_t *)left];
	const struct hawk_site_tree_node *b = &nodes[*(const uint32_t *)right];

	if (a->cum_bytes != b->cum_bytes)
		return a->cum_bytes > b->cum_bytes ? -1 : 1;
	if (a->cum_objects != b->cum_objects)
		return a->cum_objects > b->cum_objects ? -1 : 1;
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
	uint32_t count;
};

static bool counts(const struct hawk_site_tree *tree, uint32_t number)
{
	return tree->nodes[number].cum_objects;
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
	ordering->count++;
}

static void put_children(struct ordering *ordering, uint32_t parent)
{
	uint32_t number = ordering->nodes[parent].first_child;
	uint32_t *children = ordering->children + ordering->first[number];
	uint32_t count = ordering->first[number + 1] - ordering->first[number];

	ordering->nodes[parent].first_child = count ? ordering->count : 0;
	if (count > 1)
		qsort_r(children, count, sizeof(*children), compare_siblings,
			ordering->tree->nodes);
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
	};

	if (!first || !children || !ordering.nodes) {
		free(ordering.nodes);
		return &hawk_enomem;
	}
	list_children(&ordering);
	put_node(&ordering, 0, 0);
	for (uint32_t i = 0; i < ordering.count; i++) {
		put_children(&ordering, i);
		hawk_progress_tick(i);
	}
	free(tree->nodes);
	tree->nodes = ordering.nodes;
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
	for (uint32_t i = 1; !err && i < tree->count && tree->nodes[i].depth == 1; i++)
		tree->much_shared |= tree->nodes[i].kind == HAWK_TREE_SHARED &&
				     tree->nodes[i].cum_bytes >= tree->nodes[0].cum_bytes / MUCH;
	return err;
}

static const char *lost_name(enum hawk_leaks_doubt doubt)
{
	switch (doubt) {
	case HAWK_LEAKS_MEMORY_MISSING:
		return "(no root found; some memory is missing)";
	case HAWK_LEAKS_HEAPS_DISCARDED:
		return "(no root found; an arena was reset)";
	case HAWK_LEAKS_OVERWRITTEN:
		return "(no root found; blocks were overwritten)";
	default:
		return "(lost: no root leads there)";
	}
}

const char *hawk_site_tree_special_name(uint32_t kind, enum hawk_leaks_doubt doubt)
{
	switch (kind) {
	case HAWK_TREE_SHARED:
		return "(shared by several blocks)";
	case HAWK_TREE_LOST:
		return lost_name(doubt);
	default:
		return "(all)";
	}
}

void hawk_site_tree_deinit(struct hawk_site_tree *tree)
{
	free(tree->nodes);
	free(tree->index);
	*tree = (struct hawk_site_tree){0};
}

/** State of folding wanted blocks along their paths. */
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
		hawk_site_tree_count(folding->graph->heap, folding->tree, folding->nodes[at],
				     block);
	return err;
}

static struct hawk_error *fold_paths(const struct path_folding *folding)
{
	const struct hawk_paths *paths = folding->paths;
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; !err && i < paths->count; i++) {
		uint32_t ahead =
			paths->order[paths->count - i > BLOCKS_AHEAD ? i + BLOCKS_AHEAD : i];

		hawk_prefetch(&folding->graph->heap->index.traces[ahead]);
		hawk_prefetch(&folding->graph->heap->index.sizes[ahead]);
		if (hawk_block_is_chosen(folding->kept, i))
			err = fold_path(folding, i);
		hawk_progress_tick(i);
	}
	return err;
}

/** Folds the blocks that no path leads to. */
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
			hawk_site_tree_count(graph->heap, folding->tree, node, block);
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

uint32_t *hawk_site_tree_tops(const struct hawk_site_tree *tree)
{
	uint32_t *tops = calloc((size_t)tree->count + 1, sizeof(*tops));

	for (uint32_t i = 1; tops && i < tree->count; i++)
		tops[i] = tree->nodes[i].parent ? tops[tree->nodes[i].parent] : i;
	return tops;
}

struct hawk_site_holder hawk_site_holder_find(const struct hawk_site_tree *tree,
					      const uint32_t *tops, uint64_t *sums, uint32_t site)
{
	struct hawk_site_holder holder = {0};

	for (uint32_t i = 1; i < tree->count; i++)
		if (is_site(&tree->nodes[i], site))
			sums[tops[i]] += tree->nodes[i].flat_bytes;
	for (uint32_t i = 1; i < tree->count; i++)
		if (is_site(&tree->nodes[i], site) &&
		    (!holder.top || sums[tops[i]] > sums[holder.top]))
			holder.top = tops[i];
	holder.bytes = sums[holder.top];
	for (uint32_t i = 1; i < tree->count; i++) {
		if (!is_site(&tree->nodes[i], site))
			continue;
		sums[tops[i]] = 0;
		if (tops[i] != holder.top)
			continue;
		holder.objects += tree->nodes[i].flat_objects;
		if (!holder.node || tree->nodes[i].flat_bytes > tree->nodes[holder.node].flat_bytes)
			holder.node = i;
	}
	return holder;
}
