/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folds blocks along dominators: every block gets a node of the tree, its dominator's first.
 *
 * A block without dominator goes below the group of roots that alone leads to it: it would be freed
 * with that group. So a variable that holds a structure by two pointers (the head and the end of a
 * list, the buckets and the first node of a hash table) owns it, though none of the structure's
 * blocks dominates it. A variable that points into another variable's structure does not. Stacks
 * count only for blocks that no lasting root leads to. Registers and the red zone, whose words are
 * copies and leftovers for the most part, count only for blocks that nothing else leads to.
 *
 * Owners are found by a flood from lasting roots, then from stacks over what is left, then from the
 * others. A block has no owner, then one, then several; at each change it goes onto the stack, and
 * passes the change on to its targets. The outcome does not depend on the order.
 */
#include "hawk/analysis/site_tree.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/analysis/selection.h"
#include "hawk/base/area.h"
#include "hawk/base/cleanup.h"
#include "hawk/graph/flood.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"
#include "site_tree_nodes.h"

static const uint32_t GONE = UINT32_C(1) << 31; /* beside a node: the block goes with chosen ones */

enum { BLOCKS_AHEAD = 16 };

/** In place of a group. */
static const uint32_t OWNER_NONE = UINT32_MAX, OWNERS_SEVERAL = UINT32_MAX - 1;

/** How long roots last, the longest first. */
enum { LASTING, STACKED, FLEETING, RANKS };

static unsigned rank_of(const struct hawk_target *target, const struct hawk_root *root)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);
	uint64_t sp;

	if (root->kind == HAWK_ROOT_REGISTER)
		return FLEETING;
	if (root->kind != HAWK_ROOT_STACK)
		return LASTING;
	sp = hawk_target_stack_start(target, &threads[root->owner]);
	return root->address < sp && sp - root->address <= hawk_target_arch(target)->red_zone_bytes
		       ? FLEETING
		       : STACKED;
}

struct flood {
	struct hawk_flood ways; /* first; each block goes onto its stack twice at most */
	uint32_t *of;
	uint64_t *met; /* a bit for every block that an earlier flood has met */
};

static void meet(struct hawk_flood *ways, uint32_t block, uint32_t owner)
{
	struct flood *flood = (struct flood *)ways;
	uint32_t before = flood->of[block];

	if (before == owner || before == OWNERS_SEVERAL || hawk_block_is_chosen(flood->met, block))
		return;
	flood->of[block] = before == OWNER_NONE ? owner : OWNERS_SEVERAL;
	hawk_flood_push(ways, block);
}

static void offer(struct flood *flood, uint32_t block, uint32_t owner)
{
	hawk_prefetch(&flood->of[block]);
	hawk_flood_offer(&flood->ways, block, owner, meet);
}

static void expand(struct hawk_flood *ways, uint32_t block)
{
	struct flood *flood = (struct flood *)ways;
	const uint32_t *edges = ways->graph->edges;
	uint32_t end = ways->graph->offsets[block + 1];
	uint32_t owner = flood->of[block];

	for (uint32_t i = ways->graph->offsets[block]; i < end; i++)
		offer(flood, edges[i] >> 1, owner);
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

/** Roots and owners of blocks. */
struct leading {
	uint32_t *owners;        /**< by block, until it has its node of the tree; not owned */
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

/** Adds the roots of a rank, but for blocks that a longer lasting root reaches. */
static void add_pointed(const struct hawk_graph *graph, const struct flood *flood, unsigned rank,
			struct leading *leading)
{
	const struct hawk_roots *roots = &graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		const struct hawk_root *root = &roots->items[i];
		uint32_t block = root->edge >> 1;

		if (rank_of(graph->heap->target, root) == rank &&
		    !hawk_block_is_chosen(flood->met, block))
			leading->pointed[leading->count++] = (struct pointed){
				.block = block, .weight = weight(root->kind), .root = i};
	}
}

/** Floods from the roots added since number `first`, then marks what was met. */
static void flood_from(struct flood *flood, const struct leading *leading, size_t first,
		       const uint32_t *groups)
{
	uint64_t count = flood->ways.graph->heap->index.count;

	for (size_t i = first; i < leading->count; i++)
		offer(flood, leading->pointed[i].block, groups[leading->pointed[i].root]);
	hawk_flood_run(&flood->ways, meet, expand);
	for (uint64_t block = 0; block < count; block++)
		flood->met[block / 64] |= (uint64_t)(flood->of[block] != OWNER_NONE) << block % 64;
}

/** Fills the owners, with a group for each block or one of the above, and the roots, the caller's
 * also after an error. O(edges), whatever the shape: a block changes twice at most. */
static struct hawk_error *find_leading(const struct hawk_graph *graph, const uint32_t *groups,
				       struct leading *leading)
{
	uint64_t count = graph->heap->index.count;
	CLEANUP(free_ptr) uint64_t *met = calloc(count / 64 + 1, sizeof(*met));
	struct flood flood = {.ways.graph = graph, .of = leading->owners, .met = met};
	struct hawk_area stack = {0};
	struct hawk_progress progress;
	struct hawk_error *err;

	leading->pointed = malloc((graph->roots.count + 1) * sizeof(*leading->pointed));
	if (!met || !leading->pointed)
		return &hawk_enomem;
	err = hawk_area_create_sparse(&stack, (2 * count + 1) * sizeof(uint32_t));
	if (err)
		return err;
	flood.ways.stack = stack.bytes;
	hawk_progress_begin(&progress, "finding roots of blocks", 2 * count);
	memset(flood.of, 0xff, count * sizeof(*flood.of));
	for (unsigned rank = 0; rank < RANKS; rank++) {
		size_t first = leading->count;

		add_pointed(graph, &flood, rank, leading);
		flood_from(&flood, leading, first, groups);
	}
	hawk_progress_end(&progress);
	hawk_area_destroy(&stack);
	if (leading->count)
		qsort(leading->pointed, leading->count, sizeof(*leading->pointed), compare_pointed);
	return NULL;
}

/** Returns the most telling root that points to `block`; NULL if none does. */
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

/** State of folding along dominators, one way. */
struct folding {
	const struct hawk_graph *graph;
	const struct hawk_dominators *dominators;
	const uint32_t *groups;
	const uint64_t *chosen; /**< NULL = all */
	uint32_t *nodes; /**< by block, with GONE, in place of owners; dominators come first */
	struct leading leading;
	struct hawk_site_tree *tree;
};

/** The node for a block that no other block dominates. */
static struct hawk_error *step_top(const struct folding *folding, uint32_t block, uint32_t *ret)
{
	struct hawk_site_tree *tree = folding->tree;
	uint32_t owner = folding->leading.owners[block];
	const struct pointed *pointed;

	if (owner == OWNER_NONE)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_LOST, 0, ret);
	if (owner < OWNERS_SEVERAL)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_ROOT, owner, ret);
	pointed = find_pointed(&folding->leading, block);
	if (!pointed)
		return hawk_site_tree_step(tree, 0, HAWK_TREE_SHARED, 0, ret);
	return hawk_site_tree_step(tree, 0, HAWK_TREE_SEVERAL, folding->groups[pointed->root], ret);
}

/** Prefetches a block's data some way ahead of the folding. */
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
			hawk_site_tree_count(folding->graph->heap, folding->tree, node, block);
	}
	return NULL;
}

struct hawk_error *hawk_site_tree_add_retained(const struct hawk_graph *graph,
					       const struct hawk_dominators *dominators,
					       const uint32_t *groups, const uint64_t *chosen,
					       struct hawk_site_tree *tree)
{
	uint64_t bytes = ((uint64_t)dominators->count + 1) * sizeof(uint32_t);
	struct hawk_area nodes = {0};
	struct folding folding = {
		.graph = graph,
		.dominators = dominators,
		.groups = groups,
		.chosen = chosen,
		.tree = tree,
	};
	struct hawk_progress progress;
	struct hawk_error *err = tree->count ? NULL : hawk_site_tree_begin(tree);

	if (!err)
		err = hawk_area_create(&nodes, bytes);
	if (!err)
		err = hawk_area_grow(&nodes, bytes);
	folding.nodes = folding.leading.owners = nodes.bytes;
	if (!err)
		err = find_leading(graph, groups, &folding.leading);
	hawk_progress_begin(&progress, "folding blocks by site", dominators->count + 1);
	if (!err)
		err = fold_blocks(&folding);
	hawk_progress_end(&progress);
	free(folding.leading.pointed);
	hawk_area_destroy(&nodes);
	return err;
}
