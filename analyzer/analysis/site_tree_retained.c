/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks folded along dominators: every block gets a node of the tree, its dominator's first.
 */
#include "hawk_site_tree.h"

#include <string.h>

#include "hawk_area.h"
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
static struct hawk_error *find_leading(const struct hawk_graph *graph, enum hawk_edges edges,
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
			.block = hawk_block_index_whole(&graph->heap->index, block),
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
	const struct hawk_graph *graph;
	const struct hawk_dominators *dominators;
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
		return hawk_site_tree_step(tree, 0, HAWK_TREE_LOST, 0, ret);
	if (owner < HAWK_OWNERS_SEVERAL)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_ROOT, owner, ret);
	pointed = find_pointed(&folding->leading,
			       hawk_block_index_whole(&folding->graph->heap->index, block));
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
	hawk_prefetch(&folding->graph->heap->index.traces[block]);
	hawk_prefetch(&folding->graph->heap->index.sizes[block]);
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
			err = hawk_site_tree_step_site(
				folding->tree, node, hawk_heap_site_at(folding->graph->heap, block),
				&node);
		if (err)
			return err;
		nodes[block] = node | gone;
		if (gone)
			hawk_site_tree_count(folding->graph->heap, folding->tree,
					     folding->dominators->edges == HAWK_EDGES_START_ONLY,
					     node, block);
	}
	return NULL;
}

static struct hawk_error *fold(struct folding *folding)
{
	uint64_t bytes = ((uint64_t)folding->dominators->count + 1) * sizeof(uint32_t);
	struct hawk_area nodes = {0};
	struct hawk_progress progress;
	struct hawk_error *err = hawk_area_create(&nodes, bytes);

	if (!err)
		err = hawk_area_grow(&nodes, bytes);
	folding->nodes = nodes.bytes;
	if (!err)
		err = find_leading(folding->graph, folding->dominators->edges, folding->groups,
				   folding->nodes, &folding->leading);
	hawk_progress_begin(&progress, "folding blocks by site", folding->dominators->count + 1);
	if (!err)
		err = fold_blocks(folding);
	hawk_progress_end(&progress);
	leading_deinit(&folding->leading);
	hawk_area_destroy(&nodes);
	return err;
}

struct hawk_error *hawk_site_tree_add_retained(const struct hawk_graph *graph,
					       const struct hawk_dominators *dominators,
					       const uint32_t *groups, const uint64_t *chosen,
					       struct hawk_site_tree *tree)
{
	struct folding folding = {
		.graph = graph,
		.dominators = dominators,
		.groups = groups,
		.chosen = chosen,
		.tree = tree,
	};
	struct hawk_error *err = tree->count ? NULL : hawk_site_tree_begin(tree);

	return err ? err : fold(&folding);
}
