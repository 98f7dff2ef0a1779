/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees that are kept: what is made of them is what the blocks themselves say, for all of them and
 * for those of some sites, however deep the heap is.
 *
 * Every block of these heaps has one pointer to it at most, so that paths and dominators are the
 * same forest, which is known beforehand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hawk_block_choice.h"
#include "hawk_site_tree.h"
#include "hawk_tree_folds.h"
#include "synthetic_heap.h"

enum {
	HEAPS = 300,
	LARGE_HEAPS = 6,
	SMALL_MAX = 400,
	BLOCKS_MAX = 30000, /**< enough for two threads */
	CHOICES = 6,
	SITES = 4,
	GROUPS = 3,
	WORDS = BLOCKS_MAX / 64 + 1,
};

struct forest {
	struct hawk_heap heap;
	struct hawk_block_graph graph;
	uint32_t site_of_trace[SITES];
	uint32_t sizes[BLOCKS_MAX], traces[BLOCKS_MAX];
	uint32_t parent[BLOCKS_MAX]; /**< UINT32_MAX = a root, or nothing */
	uint32_t offsets[BLOCKS_MAX + 1], edges[BLOCKS_MAX];
	struct hawk_root roots[BLOCKS_MAX];
	uint32_t groups[BLOCKS_MAX];
	/* By number, from 1 on. */
	uint32_t blocks[BLOCKS_MAX + 1], dominators[BLOCKS_MAX + 1], subtrees[BLOCKS_MAX + 1];
	uint64_t retained[BLOCKS_MAX + 1];
	uint32_t order[BLOCKS_MAX], from[BLOCKS_MAX];
	uint64_t found[WORDS];
};

static void expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

static void add_top(struct forest *forest, uint32_t block, uint64_t random)
{
	struct hawk_roots *roots = &forest->graph.roots;

	forest->parent[block] = UINT32_MAX;
	if (random % 4 == 0)
		return; /* lost */
	forest->groups[roots->count] = (uint32_t)(random >> 8) % GROUPS;
	forest->roots[roots->count++] = (struct hawk_root){
		.edge = block << 1,
		.kind = random >> 16 & 1 ? HAWK_ROOT_MODULE : HAWK_ROOT_STACK,
	};
	forest->found[block / 64] |= UINT64_C(1) << block % 64;
}

/** Long chains of alternating sites, with branches. */
static void fill(struct forest *forest, uint32_t most, uint64_t *seed)
{
	uint32_t count = 1 + (uint32_t)(synthetic_random(seed) % most);
	uint32_t branches = 1 + (uint32_t)(synthetic_random(seed) % 40);

	forest->graph.index.count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t random = synthetic_random(seed);

		forest->sizes[i] = 1 + (uint32_t)(random >> 40 & 63);
		if (!(random >> 48 & 15))
			forest->sizes[i] += 4060 + (uint32_t)(random >> 52 & 1);
		/* One site is rare. */
		forest->traces[i] =
			(random >> 32) % 200 ? (uint32_t)(random >> 24) % (SITES - 1) : SITES - 1;
		if (!i || random % (3 * branches) == 0) {
			add_top(forest, i, synthetic_random(seed));
			continue;
		}
		forest->parent[i] = random % branches ? i - 1 : (uint32_t)(random >> 8) % i;
		/* Where there are few steps, threads have sums of their own. */
		if (most > SMALL_MAX && synthetic_random(seed) % 100)
			forest->traces[i] = forest->traces[forest->parent[i]];
		if (forest->found[forest->parent[i] / 64] >> forest->parent[i] % 64 & 1)
			forest->found[i / 64] |= UINT64_C(1) << i % 64;
	}
}

static void add_edges(struct forest *forest)
{
	uint32_t count = forest->graph.index.count, used = 0;

	for (uint32_t i = 0; i < count; i++)
		if (forest->parent[i] != UINT32_MAX)
			forest->offsets[forest->parent[i]]++;
	for (uint32_t i = 0; i <= count; i++) {
		used += forest->offsets[i];
		forest->offsets[i] = used;
	}
	for (uint32_t i = count; i-- > 0;)
		if (forest->parent[i] != UINT32_MAX)
			forest->edges[--forest->offsets[forest->parent[i]]] = i << 1;
}

static uint32_t root_of(const struct forest *forest, uint32_t block)
{
	uint32_t root = 0;

	while (forest->roots[root].edge >> 1 != block)
		root++;
	return root;
}

static void add_paths(struct forest *forest)
{
	struct hawk_paths *paths = &forest->graph.paths;
	uint32_t place[BLOCKS_MAX];

	for (uint32_t i = 0; i < forest->graph.index.count; i++) {
		if (!(forest->found[i / 64] >> i % 64 & 1))
			continue;
		place[i] = paths->count;
		forest->order[paths->count] = i;
		forest->from[paths->count++] = forest->parent[i] == UINT32_MAX
						       ? HAWK_PATH_FROM_ROOT | root_of(forest, i)
						       : place[forest->parent[i]];
	}
	paths->order = forest->order;
	paths->from = forest->from;
	paths->found = forest->found;
	paths->index = &forest->graph.index;
}

static void add_dominators(struct forest *forest)
{
	struct hawk_dominators *dominators = &forest->graph.dominators;

	dominators->count = forest->graph.index.count;
	for (uint32_t i = 0; i < dominators->count; i++) {
		forest->blocks[i + 1] = i;
		forest->dominators[i + 1] = forest->parent[i] + 1; /* of UINT32_MAX: 0 */
	}
	for (uint32_t i = dominators->count; i > 0; i--) {
		forest->subtrees[i]++;
		forest->retained[i] += forest->sizes[i - 1];
		forest->subtrees[forest->dominators[i]] += forest->subtrees[i];
		forest->retained[forest->dominators[i]] += forest->retained[i];
	}
	dominators->blocks = forest->blocks;
	dominators->dominators = forest->dominators;
	dominators->sizes = forest->subtrees;
	dominators->retained = forest->retained;
}

static struct forest *open_forest_of(uint32_t most, uint64_t *seed)
{
	struct forest *forest = calloc(1, sizeof(*forest));
	struct hawk_block_graph *graph = &forest->graph;

	for (uint32_t i = 0; i < SITES; i++)
		forest->site_of_trace[i] = i;
	forest->heap.site_of_trace = forest->site_of_trace;
	forest->heap.trace_count = forest->heap.site_count = SITES;
	graph->heap = &forest->heap;
	graph->index.sizes = forest->sizes;
	graph->index.traces = forest->traces;
	graph->roots.items = forest->roots;
	fill(forest, most, seed);
	add_edges(forest);
	graph->edges.count = graph->index.count;
	graph->edges.offsets = forest->offsets;
	graph->edges.edges = forest->edges;
	graph->edges.edge_count = forest->offsets[graph->index.count];
	add_paths(forest);
	add_dominators(forest);
	graph->start_is_all = true;
	graph->parts = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS | HAWK_PART_REACH |
		       HAWK_PART_RETAINED | HAWK_PART_PATHS;
	return forest;
}

static struct forest *open_forest(uint64_t *seed)
{
	return open_forest_of(SMALL_MAX, seed);
}

static void close_forest(struct forest *forest)
{
	hawk_tree_folds_deinit(&forest->graph.folds);
	free(forest);
}

static void expect_same_node(const struct hawk_site_tree *got, uint32_t a,
			     const struct hawk_site_tree *want, uint32_t b)
{
	const struct hawk_site_tree_node *left = &got->nodes[a], *right = &want->nodes[b];
	uint32_t i = left->first_child, j = right->first_child;

	assert_int_equal(left->kind, right->kind);
	assert_int_not_equal(left->kind, HAWK_TREE_TAIL);
	assert_int_equal(left->key, right->key);
	assert_int_equal(left->depth, right->depth);
	assert_int_equal(left->flat_objects, right->flat_objects);
	assert_int_equal(left->flat_bytes, right->flat_bytes);
	assert_int_equal(left->cum_objects, right->cum_objects);
	assert_int_equal(left->cum_bytes, right->cum_bytes);
	if (want->start)
		assert_memory_equal(&got->start[a], &want->start[b], sizeof(*want->start));
	for (; i && j; i = got->nodes[i].next_sibling, j = want->nodes[j].next_sibling)
		expect_same_node(got, i, want, j);
	assert_int_equal(i, 0);
	assert_int_equal(j, 0);
}

/** Both are gone then. */
static void expect_same_trees(struct hawk_site_tree *got, struct hawk_site_tree *want)
{
	assert_int_equal(got->count, want->count);
	assert_int_equal(!got->start, !want->start);
	assert_memory_equal(got->nodes, want->nodes, got->count * sizeof(*got->nodes));
	expect_same_node(got, 0, want, 0);
	hawk_site_tree_deinit(got);
	hawk_site_tree_deinit(want);
}

static void choose(const struct forest *forest, uint64_t sites, uint64_t *blocks)
{
	memset(blocks, 0, WORDS * sizeof(*blocks));
	for (uint32_t i = 0; i < forest->graph.index.count; i++)
		blocks[i / 64] |= (sites >> forest->traces[i] & 1) << i % 64;
}

static uint32_t depth_of(const struct hawk_site_tree *tree)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < tree->count; i++)
		if (tree->nodes[i].depth > most)
			most = tree->nodes[i].depth;
	return most;
}

static void trees_of_all_blocks_come_again_as_they_were(void **state)
{
	uint64_t seed = 90;
	unsigned deep = 0;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_tree plain, first, again;
		uint64_t all[WORDS];

		memset(all, 0xff, sizeof(all));
		assert_false(hawk_site_tree_is_kept(graph, HAWK_FOLD_PATHS, forest->groups));
		expect_no_error(hawk_site_tree_paths(graph, forest->groups, all, &plain));
		expect_no_error(hawk_site_tree_paths(graph, forest->groups, NULL, &first));
		assert_true(hawk_site_tree_is_kept(graph, HAWK_FOLD_PATHS, forest->groups));
		graph->parts &= ~(unsigned)HAWK_PART_PATHS; /* nobody looks at blocks now */
		expect_no_error(hawk_site_tree_paths(graph, forest->groups, NULL, &again));
		deep += depth_of(&plain) == HAWK_SITE_TREE_DEPTH;
		expect_same_node(&first, 0, &plain, 0);
		expect_same_trees(&first, &again);
		hawk_site_tree_deinit(&plain);
		expect_no_error(hawk_site_tree_retained_both(graph, forest->groups, all, &plain));
		expect_no_error(hawk_site_tree_retained_both(graph, forest->groups, NULL, &first));
		expect_same_trees(&first, &plain);
		assert_true(hawk_site_tree_is_kept(graph, HAWK_FOLD_RETAINED_BOTH, forest->groups));
		close_forest(forest);
	}
	assert_in_range(deep, HEAPS / 20, HEAPS - HEAPS / 20);
}

static void trees_of_sites_are_those_of_their_blocks(void **state)
{
	unsigned told = 0, untold = 0;
	uint64_t seed = 91;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_tree got, want;
		struct hawk_error *err;
		uint64_t blocks[WORDS];

		expect_no_error(hawk_site_tree_paths(graph, forest->groups, NULL, &got));
		hawk_site_tree_deinit(&got);
		expect_no_error(hawk_site_tree_retained_both(graph, forest->groups, NULL, &got));
		hawk_site_tree_deinit(&got);
		for (uint64_t sites = 0; sites < 1 << SITES; sites++) {
			bool is_told;

			choose(forest, sites, blocks);
			expect_no_error(hawk_site_tree_paths(graph, forest->groups, blocks, &want));
			assert_true(hawk_site_tree_of_sites(graph, HAWK_FOLD_PATHS, forest->groups,
							    &sites, NULL, &got, &err));
			expect_same_trees(&got, &want);
			is_told = hawk_site_tree_of_sites(graph, HAWK_FOLD_RETAINED_BOTH,
							  forest->groups, &sites, NULL, &got, &err);
			expect_no_error(err);
			told += is_told;
			untold += !is_told;
			if (!is_told)
				continue;
			expect_no_error(
				hawk_site_tree_retained_both(graph, forest->groups, blocks, &want));
			expect_same_trees(&got, &want);
		}
		close_forest(forest);
	}
	assert_true(told > HEAPS && untold > 0);
}

static void other_groups_of_roots_make_another_tree(void **state)
{
	uint64_t seed = 92;
	unsigned differ = 0;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_tree got, want;
		uint64_t all[WORDS];

		memset(all, 0xff, sizeof(all));
		expect_no_error(hawk_site_tree_retained(graph, forest->groups, NULL, &got));
		hawk_site_tree_deinit(&got);
		if (graph->roots.count) {
			forest->groups[0] = GROUPS;
			assert_false(
				hawk_site_tree_is_kept(graph, HAWK_FOLD_RETAINED, forest->groups));
			differ++;
		}
		expect_no_error(hawk_site_tree_retained(graph, forest->groups, NULL, &got));
		expect_no_error(hawk_site_tree_retained(graph, forest->groups, all, &want));
		expect_same_trees(&got, &want);
		close_forest(forest);
	}
	assert_true(differ > HEAPS / 2);
}

/** Few or many of the blocks, in all ways that there are to choose them; nothing behind the last.
 */
static void choose_some(const struct forest *forest, unsigned how, uint64_t *seed, uint64_t *blocks)
{
	memset(blocks, 0, WORDS * sizeof(*blocks));
	for (uint32_t i = 0; i < forest->graph.index.count; i++) {
		bool few = synthetic_random(seed) % 300 == 0;
		bool some = synthetic_random(seed) % 3 == 0;
		bool first = i < 3;
		const bool chosen[CHOICES] = {few, some, !few, forest->sizes[i]<30, first, how> 4};

		blocks[i / 64] |= (uint64_t)chosen[how % CHOICES] << i % 64;
	}
}

/** Parts of the block that `first` is, and the same bit for all of them. */
static void carve_some(struct forest *forest, struct hawk_block_part *parts, uint64_t *seed)
{
	struct hawk_block_index *index = &forest->graph.index;
	uint32_t first = (uint32_t)synthetic_random(seed) % index->count;
	uint32_t left = index->count - first;
	uint32_t count = 1 + (uint32_t)synthetic_random(seed) % (left < 100 ? left : 100);

	for (uint32_t i = 0; i < count; i++)
		parts[i] = (struct hawk_block_part){
			.number = first + i,
			.previous = i ? first + i - 1 : HAWK_BLOCK_NOWHERE,
			.next = i + 1 < count ? first + i + 1 : HAWK_BLOCK_NOWHERE,
			.first = first,
			.left_bytes = i ? 0 : 7777,
		};
	index->parts = parts;
	index->part_count = count;
}

/** By definition: the dominators of a block are its ancestors. */
static void expect_retained(const struct forest *forest, const uint64_t *blocks,
			    const struct hawk_site_retained *got)
{
	static bool above[BLOCKS_MAX][SITES]; /* a chosen one of the site is, or it is one itself */
	uint64_t want[SITES] = {0};

	for (uint32_t i = 0; i < forest->graph.index.count; i++) {
		uint32_t parent = forest->parent[i], site = forest->traces[i];

		for (uint32_t j = 0; j < SITES; j++)
			above[i][j] = parent != UINT32_MAX && above[parent][j];
		if (!(blocks[i / 64] >> i % 64 & 1))
			continue;
		if (!above[i][site])
			want[site] += forest->retained[i + 1];
		above[i][site] = true;
	}
	for (uint32_t i = 0; i < SITES; i++) {
		assert_int_equal(got[i].all_pointers, want[i]);
		assert_int_equal(got[i].start_pointers, want[i]);
	}
}

static void expect_chosen(struct forest *forest, const uint64_t *blocks)
{
	struct hawk_block_graph *graph = &forest->graph;
	struct hawk_site_retained *retained = NULL;
	struct hawk_site_tree got, want;
	struct hawk_error *err;

	expect_no_error(hawk_site_tree_paths(graph, forest->groups, blocks, &want));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_PATHS, forest->groups, blocks, NULL,
					     &got, &err));
	expect_same_trees(&got, &want);
	expect_no_error(hawk_site_tree_retained(graph, forest->groups, blocks, &want));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED, forest->groups, blocks,
					     NULL, &got, &err));
	expect_same_trees(&got, &want);
	expect_no_error(hawk_site_tree_retained_both(graph, forest->groups, blocks, &want));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED_BOTH, forest->groups, blocks,
					     NULL, &got, &err));
	expect_same_trees(&got, &want);
	assert_true(hawk_block_graph_retained_in_order(graph, blocks, &retained, &err));
	expect_retained(forest, blocks, retained);
	free(retained);
}

static void expect_all_choices(uint32_t most, unsigned heaps, uint64_t seed)
{
	static struct hawk_block_part parts[BLOCKS_MAX];
	unsigned threads = 0;

	for (unsigned i = 0; i < heaps; i++) {
		struct forest *forest = open_forest_of(most, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		uint64_t blocks[WORDS];

		if (i % 3 == 1)
			carve_some(forest, parts, &seed);
		expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		assert_ptr_equal(graph->folds.start_order.blocks, graph->folds.order.blocks);
		for (unsigned how = 0; how < CHOICES; how++) {
			choose_some(forest, how, &seed, blocks);
			graph->threads = ++threads % 2; /* one, or all that there are */
			expect_chosen(forest, blocks);
		}
		close_forest(forest);
	}
}

static void trees_of_chosen_blocks_come_from_the_order_of_all(void **state)
{
	(void)state;
	expect_all_choices(SMALL_MAX, HEAPS / 3, 94);
}

static void threads_share_the_order_of_all(void **state)
{
	(void)state;
	expect_all_choices(BLOCKS_MAX, LARGE_HEAPS, 95);
}

static void an_order_is_of_the_tree_that_it_was_made_with(void **state)
{
	uint64_t seed = 96, all[WORDS];
	struct forest *forest = open_forest_of(SMALL_MAX, &seed);
	struct hawk_block_graph *graph = &forest->graph;
	struct hawk_site_retained *retained;
	struct hawk_site_tree tree;
	struct hawk_error *err;

	(void)state;
	memset(all, 0, sizeof(all));
	expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
	hawk_block_graph_note_folds(graph);
	assert_true(graph->parts & HAWK_PART_ORDER);
	assert_false(hawk_block_graph_retained_in_order(graph, all, &retained, &err));
	assert_null(err);
	assert_true(graph->roots.count);
	forest->groups[0] = GROUPS;
	expect_no_error(hawk_site_tree_retained(graph, forest->groups, NULL, &tree));
	hawk_site_tree_deinit(&tree);
	assert_true(hawk_site_tree_is_kept(graph, HAWK_FOLD_RETAINED, forest->groups));
	assert_false(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED, forest->groups, all, NULL,
					      &tree, &err));
	assert_null(err);
	hawk_block_graph_note_folds(graph);
	assert_false(graph->parts & HAWK_PART_ORDER);
	expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED, forest->groups, all, NULL,
					     &tree, &err));
	hawk_site_tree_deinit(&tree);
	close_forest(forest);
}

/** Whatever numbers a damaged file has. */
static void numbers_of_a_wrong_order_stay_in_bounds(void **state)
{
	uint64_t seed = 97;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct forest *forest = open_forest_of(SMALL_MAX, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_retained *retained;
		struct hawk_site_tree tree;
		uint64_t blocks[WORDS];
		struct hawk_error *err;

		expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		for (uint32_t j = 0; j < 3 * graph->index.count; j++)
			if (synthetic_random(&seed) % 4 == 0)
				((uint32_t *)graph->folds.order.area.bytes)[j] =
					(uint32_t)(synthetic_random(&seed) >> (8 + j % 24));
		for (uint32_t j = 0; j < graph->index.count; j += 3)
			((uint32_t *)graph->folds.path_steps.area.bytes)[j] =
				(uint32_t)synthetic_random(&seed);
		choose_some(forest, i, &seed, blocks);
		if (hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED_BOTH, forest->groups, blocks,
					     NULL, &tree, &err))
			hawk_site_tree_deinit(&tree);
		if (hawk_site_tree_of_chosen(graph, HAWK_FOLD_PATHS, forest->groups, blocks, NULL,
					     &tree, &err))
			hawk_site_tree_deinit(&tree);
		assert_true(hawk_block_graph_retained_in_order(graph, blocks, &retained, &err));
		free(retained);
		close_forest(forest);
	}
}

/** All of the heap is one block, which `parts` were carved out of. */
static void carve(struct hawk_block_index *index, struct hawk_block_part *parts)
{
	for (uint32_t i = 0; i < index->count; i++)
		parts[i] = (struct hawk_block_part){
			.number = i,
			.previous = i ? i - 1 : HAWK_BLOCK_NOWHERE,
			.next = i + 1 < index->count ? i + 1 : HAWK_BLOCK_NOWHERE,
			.left_bytes = i ? 0 : index->sizes[0],
		};
	index->parts = parts;
	index->part_count = index->count;
}

/* To look at all parts for each of them would take hours where there are a million. */
static void what_a_carved_block_retains_is_found_once(void **state)
{
	uint64_t seed = 93;
	unsigned carved = 0;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 10; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_block_part parts[BLOCKS_MAX];
		struct hawk_dominators start;

		carve(&graph->index, parts);
		graph->parts &= ~(unsigned)HAWK_PART_RETAINED;
		graph->dominators = (struct hawk_dominators){0};
		graph->start_is_all = false;
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		expect_no_error(hawk_block_graph_start_dominators(graph, &start));
		assert_int_equal(graph->folds.by_start[0],
				 hawk_block_graph_retained(graph, &start, 0));
		for (uint32_t block = 1; block < graph->index.count; block++)
			assert_int_equal(graph->folds.by_start[block], 0);
		carved += graph->folds.by_start[0] && graph->index.count > 1;
		hawk_block_graph_drop_start_dominators(graph, &start);
		hawk_workspace_destroy(&graph->workspace);
		close_forest(forest);
	}
	assert_true(carved > HEAPS / 20);
}

/** What is shown of both is the same; `got` has at least that. */
static void expect_same_shown(const struct hawk_site_tree *got, uint32_t a,
			      const struct hawk_site_tree *want, uint32_t b,
			      const struct hawk_tree_view *view, unsigned *left_out)
{
	const struct hawk_site_tree_node *left = &got->nodes[a], *right = &want->nodes[b];
	uint32_t i = left->first_child, j = right->first_child;
	bool rest = false;
	size_t shown = 0;

	assert_int_equal(left->kind, right->kind);
	assert_int_equal(left->key, right->key);
	assert_int_equal(left->depth, right->depth);
	assert_int_equal(left->flat_objects, right->flat_objects);
	assert_int_equal(left->flat_bytes, right->flat_bytes);
	assert_int_equal(left->cum_objects, right->cum_objects);
	assert_int_equal(left->cum_bytes, right->cum_bytes);
	if (want->start)
		assert_memory_equal(&got->start[a], &want->start[b], sizeof(*want->start));
	if (right->depth >= view->depth)
		return;
	for (; i && j; i = got->nodes[i].next_sibling, j = want->nodes[j].next_sibling) {
		const struct hawk_site_tree_node *child = &want->nodes[j];
		bool small =
			view->share && child->cum_bytes < want->nodes[0].cum_bytes / view->share;

		/* As hawk_report_tree() does. Those behind it are told together. */
		rest |= (shown == view->top || (small && shown)) && child->next_sibling;
		if (rest) {
			(*left_out)++;
			assert_int_equal(got->nodes[i].cum_bytes, child->cum_bytes);
			continue;
		}
		shown++;
		expect_same_shown(got, i, want, j, view, left_out);
	}
	assert_int_equal(i, 0);
	assert_int_equal(j, 0);
}

static void what_is_shown_of_a_tree_is_what_all_of_it_has_there(void **state)
{
	const enum hawk_tree_fold_sort sorts[] = {HAWK_FOLD_PATHS, HAWK_FOLD_RETAINED,
						  HAWK_FOLD_RETAINED_BOTH};
	unsigned left_out = 0, smaller = 0;
	uint64_t seed = 98;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_block_graph *graph = &forest->graph;
		const struct hawk_tree_view view = {
			.top = i % 7 ? i % 4 : SIZE_MAX,
			.depth = i % 5 ? i % 9 : SIZE_MAX,
			.share = i % 3 ? 5 << i % 4 : 0,
		};
		struct hawk_site_tree got, want;
		struct hawk_error *err;
		uint64_t blocks[WORDS];

		expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		choose_some(forest, i, &seed, blocks);
		for (unsigned j = 0; j < sizeof(sorts) / sizeof(sorts[0]); j++) {
			assert_true(hawk_site_tree_of_chosen(graph, sorts[j], forest->groups,
							     blocks, NULL, &want, &err));
			assert_true(hawk_site_tree_of_chosen(graph, sorts[j], forest->groups,
							     blocks, &view, &got, &err));
			expect_same_shown(&got, 0, &want, 0, &view, &left_out);
			smaller += got.count < want.count;
			hawk_site_tree_deinit(&got);
			hawk_site_tree_deinit(&want);
		}
		close_forest(forest);
	}
	assert_true(left_out > HEAPS / 10);
	assert_true(smaller > HEAPS / 10);
}

static void trees_with_more_steps_than_wanted_are_not_kept(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 10; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_tree_folds *folds = &graph->folds;
		uint32_t paths, retained;

		expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		paths = folds->paths.count;
		retained = folds->retained.count;
		hawk_tree_folds_deinit(folds);
		expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, paths - 1));
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups, retained - 1));
		assert_null(folds->paths.nodes);
		assert_null(folds->path_steps.nodes);
		assert_null(folds->start_retained.nodes);
		assert_null(folds->start_order.blocks);
		expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups,
							    paths > retained ? paths : retained));
		assert_int_equal(folds->paths.count, paths);
		assert_int_equal(folds->retained.count, retained);
		assert_non_null(folds->path_steps.nodes);
		assert_non_null(folds->order.blocks);
		close_forest(forest);
	}
}

enum { MANY_STEPS = 3 << 20, ORDERED = 300 };

/* Fewer bits are left for bytes then. */
static void steps_of_trees_with_many_nodes_have_room_for_them(void **state)
{
	uint32_t sizes[ORDERED], traces[ORDERED] = {0}, nodes[ORDERED], blocks[ORDERED + 1];
	uint32_t above[ORDERED + 1] = {0}, subtrees[ORDERED + 1];
	const struct hawk_dominators dominators = {
		.count = ORDERED, .blocks = blocks, .dominators = above, .sizes = subtrees};
	const struct hawk_tree_fold fold = {.count = MANY_STEPS};
	struct hawk_block_graph graph = {.threads = 1};
	uint64_t all[ORDERED / 64 + 1];
	struct hawk_tree_order order;
	struct hawk_chosen *sums;

	(void)state;
	assert_int_equal(hawk_step_node_bits(1), 20);
	assert_int_equal(hawk_step_node_bits(1 << 20), 20);
	assert_int_equal(hawk_step_node_bits((1 << 20) + 1), 21);
	assert_int_equal(hawk_step_node_bits(MANY_STEPS), 22);
	assert_int_equal(hawk_step_node_bits(UINT32_MAX), 24);
	graph.index.count = ORDERED;
	graph.index.sizes = sizes;
	graph.index.traces = traces;
	for (uint32_t i = 0; i < ORDERED; i++) {
		sizes[i] = 7 * i; /* 1023 of them and more do not fit */
		nodes[i] = MANY_STEPS - 1 - i * 10000;
		blocks[i + 1] = i;
		subtrees[i + 1] = 1;
	}
	memset(all, 0xff, sizeof(all));
	all[ORDERED / 64] &= (UINT64_C(1) << ORDERED % 64) - 1;
	expect_no_error(
		hawk_tree_order_make(&graph.index, &dominators, nodes, MANY_STEPS, NULL, &order));
	expect_no_error(hawk_tree_order_sum_nodes(&graph, &order, &fold, all, &sums));
	for (uint32_t i = 0; i < ORDERED; i++) {
		assert_int_equal(sums[nodes[i]].objects, 1);
		assert_int_equal(sums[nodes[i]].bytes, 7 * i);
	}
	free(sums);
	hawk_tree_order_deinit(&order);
}

/** As from a file, with one number changed. */
static bool grows_with(struct forest *forest, uint32_t node, uint32_t end, uint32_t kind,
		       uint32_t key)
{
	struct hawk_tree_fold *fold = &forest->graph.folds.paths;
	struct hawk_tree_fold_node *nodes = fold->owned, before = nodes[node];
	struct hawk_site_tree tree;
	struct hawk_error *err;
	bool grown;

	nodes[node].end = end;
	nodes[node].kind = kind;
	nodes[node].key = key;
	fold->owned = NULL;
	grown = hawk_site_tree_of_sites(&forest->graph, HAWK_FOLD_PATHS, forest->groups, NULL, NULL,
					&tree, &err);
	expect_no_error(err);
	if (grown)
		hawk_site_tree_deinit(&tree);
	fold->owned = nodes;
	nodes[node] = before;
	return grown;
}

static void no_tree_grows_from_wrong_steps(void **state)
{
	uint64_t seed = 100;
	unsigned nested = 0;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 10; i++) {
		struct forest *forest = open_forest(&seed);
		const struct hawk_tree_fold *fold = &forest->graph.folds.paths;
		uint32_t last;

		expect_no_error(
			hawk_tree_folds_need_orders(&forest->graph, forest->groups, UINT32_MAX));
		last = fold->nodes[1].end;
		assert_true(grows_with(forest, 1, last, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, 0, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, 1, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, fold->count + 1, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_ALL, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_TAIL, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_KINDS, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_SITE, SITES));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_ROOT, GROUPS));
		assert_false(grows_with(forest, 0, fold->count + 1, HAWK_TREE_ALL, 0));
		if (last < fold->count) { /* 2 is below 1: it ends where that does, or before */
			nested++;
			assert_false(grows_with(forest, 2, last + 1, HAWK_TREE_SITE, 0));
		}
		close_forest(forest);
	}
	assert_true(nested > HEAPS / 100);
}

/** Of dominators by all pointers the tree is as from a file, and none; by start pointers none is
 * kept. */
static void a_tree_that_is_none_is_made_again(void **state)
{
	uint64_t seed = 200;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 10; i++) {
		struct forest *forest = open_forest(&seed);
		struct hawk_tree_folds *folds = &forest->graph.folds;
		struct hawk_tree_fold_node *nodes;
		struct hawk_site_tree before, after;

		expect_no_error(hawk_site_tree_retained_both(&forest->graph, forest->groups, NULL,
							     &before));
		nodes = folds->retained.owned;
		folds->retained.owned = NULL;
		nodes[1].end = 0;
		free(folds->start_retained.owned);
		folds->start_retained = (struct hawk_tree_fold){0};
		expect_no_error(
			hawk_site_tree_retained_both(&forest->graph, forest->groups, NULL, &after));
		free(nodes);
		assert_int_equal(after.count, before.count);
		assert_memory_equal(after.nodes, before.nodes,
				    before.count * sizeof(*before.nodes));
		hawk_site_tree_deinit(&before);
		hawk_site_tree_deinit(&after);
		close_forest(forest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_of_all_blocks_come_again_as_they_were),
		cmocka_unit_test(trees_of_sites_are_those_of_their_blocks),
		cmocka_unit_test(other_groups_of_roots_make_another_tree),
		cmocka_unit_test(what_a_carved_block_retains_is_found_once),
		cmocka_unit_test(trees_of_chosen_blocks_come_from_the_order_of_all),
		cmocka_unit_test(threads_share_the_order_of_all),
		cmocka_unit_test(an_order_is_of_the_tree_that_it_was_made_with),
		cmocka_unit_test(numbers_of_a_wrong_order_stay_in_bounds),
		cmocka_unit_test(what_is_shown_of_a_tree_is_what_all_of_it_has_there),
		cmocka_unit_test(trees_with_more_steps_than_wanted_are_not_kept),
		cmocka_unit_test(steps_of_trees_with_many_nodes_have_room_for_them),
		cmocka_unit_test(no_tree_grows_from_wrong_steps),
		cmocka_unit_test(a_tree_that_is_none_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
