/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The folding. Every block gets a node of the tree, its parent's first; nodes are found by hash.
 */
#include "hawk_site_tree.h"

#include <string.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_prefetch.h"
#include "root_owners.h"

static const uint32_t GONE = UINT32_C(1) << 31; /* beside a node: the block goes with chosen ones */

enum { BLOCKS_AHEAD = 16 };

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
static struct hawk_error *step(struct hawk_site_tree *tree, uint32_t parent, uint32_t kind,
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
static struct hawk_error *step_site(struct hawk_site_tree *tree, uint32_t parent, uint32_t site,
				    uint32_t *ret)
{
	const struct hawk_site_tree_node *node = &tree->nodes[parent];

	if ((node->kind == HAWK_TREE_SITE && node->key == site) ||
	    node->depth == HAWK_SITE_TREE_DEPTH) {
		*ret = parent;
		return NULL;
	}
	return step(tree, parent, HAWK_TREE_SITE, site, ret);
}

static struct hawk_error *begin(struct hawk_site_tree *tree)
{
	struct hawk_error *err = grow(tree);

	if (err)
		return err;
	tree->nodes[0] = (struct hawk_site_tree_node){.kind = HAWK_TREE_ALL};
	tree->count = 1;
	return NULL;
}

static void count_block(const struct hawk_block_graph *graph, struct hawk_site_tree *tree,
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

/** Cumulative sums, and children in order. */
static struct hawk_error *finish(struct hawk_site_tree *tree)
{
	CLEANUP(free_ptr) uint32_t *order = malloc(tree->count * sizeof(*order));

	if (!order)
		return &hawk_enomem;
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
	free(tree->index);
	tree->index = NULL;
	return NULL;
}

/** Groups of persistent roots say more than those of threads: variables, thread-local ones, other
 * memory, stacks, registers. */
static unsigned weight(uint32_t kind)
{
	static const uint8_t weights[HAWK_ROOT_KINDS] = {
		[HAWK_ROOT_MODULE] = 5, [HAWK_ROOT_TLS] = 4,      [HAWK_ROOT_OTHER] = 3,
		[HAWK_ROOT_STACK] = 2,  [HAWK_ROOT_REGISTER] = 1,
	};

	return kind < HAWK_ROOT_KINDS ? weights[kind] : 0;
}

/** A block that a root points to. */
struct pointed {
	uint32_t block;
	uint32_t weight;
	size_t root;
};

/** What leads to blocks. */
struct leading {
	struct hawk_root_owners owners;
	struct pointed *pointed; /**< ascending by block, what says most first */
	size_t count;
};

static int compare_pointed(const void *left, const void *right)
{
	const struct pointed *a = left;
	const struct pointed *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->root < b->root ? -1 : a->root > b->root;
}

/** `of`: room for an owner of every block. */
static struct hawk_error *find_leading(const struct hawk_block_graph *graph, enum hawk_edges edges,
				       const uint32_t *groups, uint32_t *of,
				       struct leading *leading)
{
	const struct hawk_roots *roots = &graph->roots;
	struct hawk_error *err = hawk_root_owners_find(graph, edges, groups, of, &leading->owners);

	if (err)
		return err;
	leading->pointed = malloc((roots->count + 1) * sizeof(*leading->pointed));
	if (!leading->pointed)
		return &hawk_enomem;
	for (size_t i = 0; i < roots->count; i++) {
		const struct hawk_root *root = &roots->items[i];
		uint32_t block = root->edge >> 1;

		/* Beside what lasts the others do not count. */
		if (!hawk_root_counts(root, edges) ||
		    (hawk_root_passes(root) && hawk_root_owners_lasting(&leading->owners, block)))
			continue;
		leading->pointed[leading->count++] = (struct pointed){
			.block = hawk_block_index_whole(&graph->index, block),
			.weight = weight(root->kind),
			.root = i,
		};
	}
	if (leading->count)
		qsort(leading->pointed, leading->count, sizeof(*leading->pointed), compare_pointed);
	return NULL;
}

static void leading_deinit(struct leading *leading)
{
	free(leading->pointed);
	hawk_root_owners_deinit(&leading->owners);
}

/** The root that says most of those that point to `block`; NULL = none does. */
static const struct pointed *find_pointed(const struct leading *leading, uint32_t block)
{
	size_t low = 0, high = leading->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (leading->pointed[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == leading->count || leading->pointed[low].block != block)
		return NULL;
	return &leading->pointed[low];
}

/** Along dominators, one way. */
struct folding {
	const struct hawk_block_graph *graph;
	const struct hawk_dominators *dominators;
	enum hawk_edges edges; /**< that the dominators go by */
	const uint32_t *groups;
	const uint64_t *chosen; /**< NULL = all */
	/** By block: owners, then nodes of the tree, with GONE; dominators come first. */
	uint32_t *nodes;
	struct leading leading;
	struct hawk_site_tree *tree;
};

/** The node for a block that no other block dominates. */
static struct hawk_error *step_top(const struct folding *folding, uint32_t block, uint32_t *ret)
{
	struct hawk_site_tree *tree = folding->tree;
	uint32_t owner = folding->leading.owners.of[block];
	const struct pointed *pointed;

	if (owner == HAWK_OWNER_NONE)
		return step(tree, 0, HAWK_TREE_LOST, 0, ret);
	if (owner < HAWK_OWNERS_SEVERAL)
		return step(tree, 0, HAWK_TREE_ROOT, owner, ret);
	pointed = find_pointed(&folding->leading,
			       hawk_block_index_whole(&folding->graph->index, block));
	if (!pointed)
		return step(tree, 0, HAWK_TREE_SHARED, 0, ret);
	return step(tree, 0, HAWK_TREE_SEVERAL, folding->groups[pointed->root], ret);
}

/** What the folding will need of a block some way ahead. */
static void prefetch_block(const struct folding *folding, uint32_t number)
{
	const struct hawk_dominators *dominators = folding->dominators;
	uint32_t block = dominators->blocks[number];

	hawk_prefetch(&folding->nodes[block]);
	hawk_prefetch(&folding->nodes[dominators->blocks[dominators->dominators[number]]]);
	hawk_prefetch(&folding->graph->index.traces[block]);
	hawk_prefetch(&folding->graph->index.sizes[block]);
}

static struct hawk_error *fold_blocks(const struct folding *folding)
{
	const struct hawk_dominators *dominators = folding->dominators;
	uint32_t *nodes = folding->nodes;

	for (uint32_t i = 1; i <= dominators->count; i++) {
		uint32_t block = dominators->blocks[i];
		uint32_t parent = dominators->dominators[i];
		uint32_t gone = hawk_block_is_chosen(folding->chosen, block) ? GONE : 0;
		struct hawk_error *err = NULL;
		uint32_t node;

		prefetch_block(folding,
			       dominators->count - i > BLOCKS_AHEAD ? i + BLOCKS_AHEAD : i);
		if (parent) {
			node = nodes[dominators->blocks[parent]];
			gone |= node & GONE;
			node &= ~GONE;
		} else {
			err = step_top(folding, block, &node);
		}
		if (!err)
			err = step_site(folding->tree, node,
					hawk_block_graph_site(folding->graph, block), &node);
		if (err)
			return err;
		nodes[block] = node | gone;
		if (gone)
			count_block(folding->graph, folding->tree, node, block);
	}
	return NULL;
}

static struct hawk_error *fold_dominators(const struct hawk_block_graph *graph,
					  const struct hawk_dominators *dominators,
					  enum hawk_edges edges, const uint32_t *groups,
					  const uint64_t *chosen, struct hawk_site_tree *tree)
{
	CLEANUP(free_ptr) uint32_t *own = NULL;
	struct folding folding = {
		.graph = graph,
		.dominators = dominators,
		.edges = edges,
		.groups = groups,
		.chosen = chosen,
		.tree = tree,
	};
	struct hawk_error *err;

	/* Where dominators are from a cache, there is no workspace. */
	if (dominators->workspace)
		folding.nodes =
			hawk_workspace_lane(dominators->workspace, HAWK_DOMINATORS_LANE_FREE);
	else
		folding.nodes = own = malloc(((size_t)dominators->count + 1) * sizeof(*own));
	if (!folding.nodes)
		return &hawk_enomem;
	err = find_leading(graph, edges, groups, folding.nodes, &folding.leading);
	if (!err)
		err = fold_blocks(&folding);
	leading_deinit(&folding.leading);
	return err;
}

/** A tree of what was folded, unless `err` says that it was not. */
static struct hawk_error *complete(struct hawk_site_tree *tree, struct hawk_error *err,
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

static struct hawk_error *fold_all(const struct hawk_block_graph *graph, const uint32_t *groups,
				   const uint64_t *chosen, struct hawk_site_tree *tree)
{
	struct hawk_error *err = begin(tree);

	if (err)
		return err;
	return fold_dominators(graph, &graph->dominators, HAWK_EDGES_ALL, groups, chosen, tree);
}

struct hawk_error *hawk_site_tree_retained(const struct hawk_block_graph *graph,
					   const uint32_t *groups, const uint64_t *chosen,
					   struct hawk_site_tree *ret)
{
	struct hawk_site_tree tree = {0};
	struct hawk_error *err = fold_all(graph, groups, chosen, &tree);

	return complete(&tree, err, ret);
}

static struct hawk_error *fold_start(struct hawk_block_graph *graph, const uint32_t *groups,
				     const uint64_t *chosen, struct hawk_site_tree *tree)
{
	struct hawk_dominators dominators = {0};
	struct hawk_error *err = hawk_block_graph_start_dominators(graph, &dominators);

	if (err)
		return err;
	tree->start = calloc(tree->capacity, sizeof(*tree->start));
	err = tree->start ? fold_dominators(graph, &dominators, HAWK_EDGES_START_ONLY, groups,
					    chosen, tree)
			  : &hawk_enomem;
	hawk_block_graph_drop_start_dominators(graph, &dominators);
	return err;
}

struct hawk_error *hawk_site_tree_retained_both(struct hawk_block_graph *graph,
						const uint32_t *groups, const uint64_t *chosen,
						struct hawk_site_tree *ret)
{
	struct hawk_site_tree tree = {0};
	struct hawk_error *err = fold_all(graph, groups, chosen, &tree);

	if (!err)
		err = fold_start(graph, groups, chosen, &tree);
	return complete(&tree, err, ret);
}

/** Of wanted blocks, along their paths. */
struct path_folding {
	const struct hawk_block_graph *graph;
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
		err = step(folding->tree, 0, HAWK_TREE_ROOT,
			   folding->groups[from & ~(uint32_t)HAWK_PATH_FROM_ROOT], &node);
	else
		node = folding->nodes[from];
	if (!err)
		err = step_site(folding->tree, node, hawk_block_graph_site(folding->graph, block),
				&folding->nodes[at]);
	if (!err && hawk_block_is_chosen(folding->wanted, block))
		count_block(folding->graph, folding->tree, folding->nodes[at], block);
	return err;
}

static void prefetch_path(const struct path_folding *folding, uint32_t at)
{
	uint32_t block = folding->paths->order[at];

	if (folding->wanted)
		hawk_prefetch(&folding->wanted[block / 64]);
	hawk_prefetch(&folding->graph->index.traces[block]);
	hawk_prefetch(&folding->graph->index.sizes[block]);
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
	}
	return err;
}

/** Those that no path leads to. */
static struct hawk_error *fold_lost(const struct path_folding *folding)
{
	const struct hawk_block_graph *graph = folding->graph;
	struct hawk_error *err = NULL;
	uint32_t lost, node;

	for (uint32_t block = 0; !err && block < graph->index.count; block++) {
		if (!hawk_block_is_chosen(folding->wanted, block) ||
		    hawk_paths_lead_to(folding->paths, block))
			continue;
		err = step(folding->tree, 0, HAWK_TREE_LOST, 0, &lost);
		if (!err)
			err = step_site(folding->tree, lost, hawk_block_graph_site(graph, block),
					&node);
		if (!err)
			count_block(graph, folding->tree, node, block);
	}
	return err;
}

struct hawk_error *hawk_site_tree_paths(const struct hawk_block_graph *graph,
					const struct hawk_paths *paths, const uint32_t *groups,
					const uint64_t *wanted, struct hawk_site_tree *ret)
{
	CLEANUP(free_ptr) uint32_t *nodes = malloc(((size_t)paths->count + 1) * sizeof(*nodes));
	CLEANUP(free_ptr)
	uint64_t *kept = calloc((size_t)paths->count / 64 + 1, sizeof(*kept));
	struct hawk_site_tree tree = {0};
	const struct path_folding folding = {graph, paths, groups, wanted, nodes, kept, &tree};
	struct hawk_error *err;

	if (!nodes || !kept)
		return &hawk_enomem;
	err = begin(&tree);
	keep_wanted(&folding);
	if (!err)
		err = fold_paths(&folding);
	if (!err)
		err = fold_lost(&folding);
	return complete(&tree, err, ret);
}

void hawk_site_tree_deinit(struct hawk_site_tree *tree)
{
	free(tree->nodes);
	free(tree->start);
	free(tree->index);
	*tree = (struct hawk_site_tree){0};
}
