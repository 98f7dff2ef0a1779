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

#include "hawk_block_graph.h"
#include "hawk_site_tree.h"
#include "hawk_tree_folds.h"
#include "synthetic_heap.h"

enum {
	HEAPS = 300,
	BLOCKS_MAX = 400,
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
	uint32_t blocks[BLOCKS_MAX + 1], dominators[BLOCKS_MAX + 1];
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
static void fill(struct forest *forest, uint64_t *seed)
{
	uint32_t count = 1 + (uint32_t)(synthetic_random(seed) % BLOCKS_MAX);
	uint32_t branches = 1 + (uint32_t)(synthetic_random(seed) % 40);

	forest->graph.index.count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t random = synthetic_random(seed);

		forest->sizes[i] = 1 + (uint32_t)(random >> 40 & 63);
		/* One site is rare. */
		forest->traces[i] =
			(random >> 32) % 200 ? (uint32_t)(random >> 24) % (SITES - 1) : SITES - 1;
		if (!i || random % (3 * branches) == 0) {
			add_top(forest, i, synthetic_random(seed));
			continue;
		}
		forest->parent[i] = random % branches ? i - 1 : (uint32_t)(random >> 8) % i;
		if (forest->found[forest->parent[i] / 64] >> forest->parent[i] % 64 & 1)
			forest->found[i / 64] |= UINT64_C(1) << i % 64;
	}
}

static void add_edges(struct forest *forest)
{
	uint32_t count = forest->graph.index.count, used = 0;

	for (uint32_t i = 0; i < count; i++) {
		forest->offsets[i] = used;
		for (uint32_t child = i + 1; child < count; child++)
			if (forest->parent[child] == i)
				forest->edges[used++] = child << 1;
	}
	forest->offsets[count] = used;
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
	dominators->blocks = forest->blocks;
	dominators->dominators = forest->dominators;
}

static struct forest *open_forest(uint64_t *seed)
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
	fill(forest, seed);
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
							    &sites, &got, &err));
			expect_same_trees(&got, &want);
			is_told = hawk_site_tree_of_sites(graph, HAWK_FOLD_RETAINED_BOTH,
							  forest->groups, &sites, &got, &err);
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
		expect_no_error(hawk_tree_folds_need_start(graph, forest->groups));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_of_all_blocks_come_again_as_they_were),
		cmocka_unit_test(trees_of_sites_are_those_of_their_blocks),
		cmocka_unit_test(other_groups_of_roots_make_another_tree),
		cmocka_unit_test(what_a_carved_block_retains_is_found_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
