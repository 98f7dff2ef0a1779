/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks folded along dominators: every block gets a node of the tree, its dominator's first.
 */
#include "hawk_site_tree.h"

#include <string.h>

#include "hawk_block_choice.h"
#include "hawk_cleanup.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"
#include "root_owners.h"
#include "site_tree_nodes.h"

static const uint32_t GONE = UINT32_C(1) << 31; /* beside a node: the block goes with chosen ones */

enum { BLOCKS_AHEAD = 16 };

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
	struct keeping *keeping; /**< NULL = nothing is kept of it */
};

/** What is kept of a tree of all blocks. */
struct keeping {
	uint64_t groups;
	struct hawk_tree_fold *fold;
	struct hawk_tree_order *order;
};

/** The node for a block that no other block dominates. */
static struct hawk_error *step_top(const struct folding *folding, uint32_t block, uint32_t *ret)
{
	struct hawk_site_tree *tree = folding->tree;
	uint32_t owner = folding->leading.owners.of[block];
	const struct pointed *pointed;

	if (owner == HAWK_OWNER_NONE)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_LOST, 0, ret);
	if (owner < HAWK_OWNERS_SEVERAL)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_ROOT, owner, ret);
	pointed = find_pointed(&folding->leading,
			       hawk_block_index_whole(&folding->graph->index, block));
	if (!pointed)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_SHARED, 0, ret);
	return hawk_site_tree_step(tree, 0, HAWK_TREE_SEVERAL, folding->groups[pointed->root], ret);
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

		hawk_progress_tick(i);
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
			err = hawk_site_tree_step_site(folding->tree, node,
						       hawk_block_graph_site(folding->graph, block),
						       &node);
		if (err)
			return err;
		nodes[block] = node | gone;
		if (gone)
			hawk_site_tree_count(folding->graph, folding->tree, node, block);
	}
	return NULL;
}

/** The tree is gone then. */
static struct hawk_error *keep_tree(const struct folding *folding)
{
	const struct hawk_block_graph *graph = folding->graph;
	const struct keeping *keeping = folding->keeping;
	const struct hawk_tree_folds *folds = &graph->folds;
	bool is_same = folding->edges == HAWK_EDGES_START_ONLY && graph->start_is_all &&
		       folds->order.blocks;
	CLEANUP(free_ptr) uint32_t *numbers = NULL;
	struct hawk_tree_order order = {0};
	struct hawk_tree_fold fold = {0};
	uint32_t *nodes = folding->nodes;
	struct hawk_error *err =
		hawk_tree_fold_take(folding->tree, NULL, keeping->groups, &numbers, &fold);

	for (uint32_t i = 0; i < graph->index.count && !err; i++)
		nodes[i] = numbers[nodes[i] & ~GONE];
	if (!err && fold.count <= UINT32_C(1) << HAWK_STEP_NODE_BITS_MAX)
		err = hawk_tree_order_make(&graph->index, folding->dominators, nodes, fold.count,
					   is_same ? &folds->order : NULL, &order);
	if (err) {
		hawk_tree_fold_deinit(&fold);
		return err;
	}
	order.groups = keeping->groups;
	hawk_tree_fold_keep(&fold, UINT32_MAX, keeping->fold);
	hawk_tree_order_deinit(keeping->order);
	*keeping->order = order;
	return NULL;
}

/** What `folding` says, but for what leads to blocks. */
static struct hawk_error *fold_dominators(struct folding *folding)
{
	const struct hawk_dominators *dominators = folding->dominators;
	CLEANUP(free_ptr) uint32_t *own = NULL;
	struct hawk_progress progress;
	struct hawk_error *err;

	/* Where dominators are from a cache, there is no workspace. */
	if (dominators->workspace)
		folding->nodes =
			hawk_workspace_lane(dominators->workspace, HAWK_DOMINATORS_LANE_FREE);
	else
		folding->nodes = own = malloc(((size_t)dominators->count + 1) * sizeof(*own));
	if (!folding->nodes)
		return &hawk_enomem;
	err = find_leading(folding->graph, folding->edges, folding->groups, folding->nodes,
			   &folding->leading);
	hawk_progress_begin(&progress, "folding blocks by site", dominators->count + 1);
	if (!err)
		err = fold_blocks(folding);
	hawk_progress_end(&progress);
	leading_deinit(&folding->leading);
	if (!err && folding->keeping)
		err = keep_tree(folding);
	return err;
}

static struct hawk_error *fold_along(struct hawk_block_graph *graph, enum hawk_edges edges,
				     const struct hawk_dominators *dominators,
				     const uint32_t *groups, const uint64_t *chosen,
				     struct hawk_site_tree *tree)
{
	struct folding folding = {
		.graph = graph,
		.dominators = dominators,
		.edges = edges,
		.groups = groups,
		.chosen = chosen,
		.tree = tree,
	};
	struct hawk_error *err = hawk_site_tree_begin(tree);

	return err ? err : fold_dominators(&folding);
}

/** Into `ret`, which is owned. */
static struct hawk_error *make_fold(struct hawk_block_graph *graph, enum hawk_edges edges,
				    const uint32_t *groups, const uint64_t *chosen,
				    struct hawk_tree_fold *ret)
{
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);
	struct hawk_site_tree tree = {.tails = !chosen};
	struct hawk_dominators dominators = {0};
	struct hawk_error *err;

	if (edges == HAWK_EDGES_ALL) {
		err = hawk_block_graph_need(graph, HAWK_PART_RETAINED);
		if (!err)
			err = fold_along(graph, edges, &graph->dominators, groups, chosen, &tree);
		return hawk_tree_fold_take(&tree, err, number, NULL, ret);
	}
	err = hawk_block_graph_start_dominators(graph, &dominators);
	if (err)
		return err;
	err = fold_along(graph, edges, &dominators, groups, chosen, &tree);
	hawk_block_graph_drop_start_dominators(graph, &dominators);
	return hawk_tree_fold_take(&tree, err, number, NULL, ret);
}

enum { SIDES = 2 };

/** Trees by all pointers, and by start pointers, while they are made. */
struct sides {
	enum hawk_edges edges[SIDES];
	struct hawk_tree_fold *kept[SIDES];
	struct hawk_tree_fold made[SIDES];
	struct hawk_tree_sums sums[SIDES];
	unsigned count;
};

/** From what is kept, of all blocks, unless `anew`. */
static struct hawk_error *make_sides(struct hawk_block_graph *graph, const uint32_t *groups,
				     const uint64_t *chosen, bool anew, struct sides *sides)
{
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < sides->count && !err; i++) {
		bool is_kept = !chosen && !anew && hawk_tree_fold_fits(sides->kept[i], number);

		sides->sums[i].fold = is_kept ? sides->kept[i] : &sides->made[i];
		if (is_kept)
			continue;
		hawk_tree_fold_deinit(&sides->made[i]);
		err = make_fold(graph, sides->edges[i], groups, chosen, &sides->made[i]);
	}
	return err;
}

static struct hawk_error *make_tree(struct hawk_block_graph *graph, const uint32_t *groups,
				    const uint64_t *chosen, unsigned count,
				    struct hawk_site_tree *ret)
{
	struct hawk_tree_folds *folds = &graph->folds;
	struct sides sides = {
		.edges = {HAWK_EDGES_ALL, HAWK_EDGES_START_ONLY},
		.kept = {&folds->retained, &folds->start_retained},
		.count = count,
	};
	struct hawk_error *err = make_sides(graph, groups, chosen, false, &sides);

	if (!err && !hawk_site_tree_grow(graph, groups, sides.sums, count, NULL, ret, &err) &&
	    !err) {
		/* One that was kept is none. */
		err = make_sides(graph, groups, chosen, true, &sides);
		if (!err)
			hawk_site_tree_grow(graph, groups, sides.sums, count, NULL, ret, &err);
	}
	for (unsigned i = 0; i < count; i++) {
		if (!err && !chosen && sides.made[i].nodes)
			hawk_tree_fold_keep(&sides.made[i], HAWK_TREE_FOLD_NODES_FEW,
					    sides.kept[i]);
		hawk_tree_fold_deinit(&sides.made[i]);
	}
	return err;
}

struct hawk_error *hawk_site_tree_retained(struct hawk_block_graph *graph, const uint32_t *groups,
					   const uint64_t *chosen, struct hawk_site_tree *ret)
{
	return make_tree(graph, groups, chosen, 1, ret);
}

struct hawk_error *hawk_site_tree_retained_both(struct hawk_block_graph *graph,
						const uint32_t *groups, const uint64_t *chosen,
						struct hawk_site_tree *ret)
{
	return make_tree(graph, groups, chosen, SIDES, ret);
}

/** Whether a tree has more than `most` steps, which is no error where it is kept only if it has
 * not; then it is gone. */
static bool is_too_large(struct hawk_site_tree *tree, struct hawk_error *err)
{
	if (!err || !tree->most || tree->count < tree->most)
		return false;
	hawk_error_destroy(err);
	hawk_site_tree_deinit(tree);
	return true;
}

/** Keeps a tree of all blocks, and the order that goes with it. */
static struct hawk_error *keep_dominators(struct hawk_block_graph *graph,
					  const struct hawk_dominators *dominators,
					  enum hawk_edges edges, const uint32_t *groups,
					  uint32_t most, struct hawk_tree_fold *fold,
					  struct hawk_tree_order *order)
{
	struct hawk_site_tree tree = {.tails = true, .most = most};
	struct keeping keeping = {
		.groups = hawk_tree_fold_groups(groups, graph->roots.count),
		.fold = fold,
		.order = order,
	};
	struct folding folding = {
		.graph = graph,
		.dominators = dominators,
		.edges = edges,
		.groups = groups,
		.tree = &tree,
		.keeping = &keeping,
	};
	struct hawk_error *err = hawk_site_tree_begin(&tree);

	if (!err)
		err = fold_dominators(&folding);
	if (is_too_large(&tree, err))
		return NULL;
	hawk_site_tree_deinit(&tree);
	return err;
}

static struct hawk_error *keep_by_start(struct hawk_block_graph *graph,
					const struct hawk_dominators *dominators)
{
	uint64_t bytes = ((uint64_t)graph->index.count + 1) * sizeof(uint64_t);
	struct hawk_area *area = &graph->folds.by_start_area;
	struct hawk_error *err = hawk_area_create(area, bytes);
	uint64_t *by_start;

	if (!err)
		err = hawk_area_grow(area, bytes);
	if (err) {
		hawk_area_destroy(area);
		return err;
	}
	by_start = area->bytes;
	/* Once for all parts of a carved block: it looks at each of them. */
	for (uint32_t i = 0; i < graph->index.count; i++)
		if (hawk_block_index_counts(&graph->index, i))
			by_start[i] = hawk_block_graph_retained(graph, dominators, i);
	graph->folds.by_start = by_start;
	return NULL;
}

/** Those of `order`, for these groups. */
static bool has_tree(const struct hawk_tree_fold *fold, const struct hawk_tree_order *order,
		     uint64_t number)
{
	return hawk_tree_fold_fits(fold, number) && hawk_tree_order_fits(order, fold);
}

struct hawk_error *hawk_tree_folds_need_start(struct hawk_block_graph *graph,
					      const uint32_t *groups, uint32_t most)
{
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);
	struct hawk_tree_folds *folds = &graph->folds;
	bool is_there = has_tree(&folds->start_retained, &folds->start_order, number);
	struct hawk_dominators dominators = {0};
	struct hawk_error *err;

	if (is_there && (graph->start_is_all || folds->by_start))
		return NULL;
	err = hawk_block_graph_start_dominators(graph, &dominators);
	if (err)
		return err;
	if (!is_there)
		err = keep_dominators(graph, &dominators, HAWK_EDGES_START_ONLY, groups, most,
				      &folds->start_retained, &folds->start_order);
	if (!err && !graph->start_is_all && !folds->by_start)
		err = keep_by_start(graph, &dominators);
	hawk_block_graph_drop_start_dominators(graph, &dominators);
	return err;
}

/** The node of every block along its path. */
static struct hawk_error *keep_path_steps(struct hawk_block_graph *graph, const uint32_t *groups,
					  uint32_t most)
{
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);
	struct hawk_tree_folds *folds = &graph->folds;
	struct hawk_site_tree tree = {.tails = true, .most = most};
	struct hawk_tree_steps steps = {.groups = number};
	CLEANUP(free_ptr) uint32_t *numbers = NULL;
	struct hawk_tree_fold fold = {0};
	uint64_t bytes = ((uint64_t)graph->index.count + 1) * sizeof(uint32_t);
	struct hawk_error *err = hawk_area_create(&steps.area, bytes);

	if (!err)
		err = hawk_area_grow(&steps.area, bytes);
	if (!err)
		err = hawk_site_tree_fold_paths(graph, groups, &tree, steps.area.bytes);
	if (is_too_large(&tree, err)) {
		hawk_tree_steps_deinit(&steps);
		return NULL;
	}
	err = hawk_tree_fold_take(&tree, err, number, &numbers, &fold);
	if (err) {
		hawk_tree_steps_deinit(&steps);
		return err;
	}
	for (uint32_t *node = steps.area.bytes, *end = node + graph->index.count; node < end;
	     node++)
		*node = numbers[*node];
	hawk_tree_fold_keep(&fold, UINT32_MAX, &folds->paths);
	hawk_tree_steps_deinit(&folds->path_steps);
	steps.nodes = steps.area.bytes;
	folds->path_steps = steps;
	return NULL;
}

struct hawk_error *hawk_tree_folds_need_orders(struct hawk_block_graph *graph,
					       const uint32_t *groups, uint32_t most)
{
	uint64_t number = hawk_tree_fold_groups(groups, graph->roots.count);
	struct hawk_tree_folds *folds = &graph->folds;
	struct hawk_error *err = NULL;

	if (!has_tree(&folds->retained, &folds->order, number))
		err = keep_dominators(graph, &graph->dominators, HAWK_EDGES_ALL, groups, most,
				      &folds->retained, &folds->order);
	if (!err && graph->parts & HAWK_PART_PATHS &&
	    !(hawk_tree_fold_fits(&folds->paths, number) &&
	      hawk_tree_steps_fit(&folds->path_steps, &folds->paths)))
		err = keep_path_steps(graph, groups, most);
	return err;
}
