/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees, and what sites retain, of chosen blocks: by the order of all blocks it is what the blocks
 * themselves say, with any number of threads; numbers of a wrong order do no harm.
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
#include "synthetic_forest.h"
#include "synthetic_heap.h"

enum {
	HEAPS = 300,
	LARGE_HEAPS = 6,
};

/** Parts of the block that `first` is, and the same bit for all of them. */
static void carve_some(struct synthetic_forest *forest, struct hawk_block_part *parts,
		       uint64_t *seed)
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
static void expect_retained(const struct synthetic_forest *forest, const uint64_t *blocks,
			    const struct hawk_site_retained *got)
{
	static bool above[SYNTHETIC_FOREST_BLOCKS]
			 [SYNTHETIC_FOREST_SITES]; /* a chosen one of the site is, or it is one
						      itself */
	uint64_t want[SYNTHETIC_FOREST_SITES] = {0};

	for (uint32_t i = 0; i < forest->graph.index.count; i++) {
		uint32_t parent = forest->parent[i], site = forest->traces[i];

		for (uint32_t j = 0; j < SYNTHETIC_FOREST_SITES; j++)
			above[i][j] = parent != UINT32_MAX && above[parent][j];
		if (!(blocks[i / 64] >> i % 64 & 1))
			continue;
		if (!above[i][site])
			want[site] += forest->retained[i + 1];
		above[i][site] = true;
	}
	for (uint32_t i = 0; i < SYNTHETIC_FOREST_SITES; i++) {
		assert_int_equal(got[i].all_pointers, want[i]);
		assert_int_equal(got[i].start_pointers, want[i]);
	}
}

static void expect_chosen(struct synthetic_forest *forest, const uint64_t *blocks)
{
	struct hawk_block_graph *graph = &forest->graph;
	struct hawk_site_retained *retained = NULL;
	struct hawk_site_tree got, want;
	struct hawk_error *err;

	synthetic_expect_no_error(hawk_site_tree_paths(graph, forest->groups, blocks, &want));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_PATHS, forest->groups, blocks, NULL,
					     &got, &err));
	synthetic_expect_same_trees(&got, &want);
	synthetic_expect_no_error(hawk_site_tree_retained(graph, forest->groups, blocks, &want));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED, forest->groups, blocks,
					     NULL, &got, &err));
	synthetic_expect_same_trees(&got, &want);
	synthetic_expect_no_error(
		hawk_site_tree_retained_both(graph, forest->groups, blocks, &want));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED_BOTH, forest->groups, blocks,
					     NULL, &got, &err));
	synthetic_expect_same_trees(&got, &want);
	assert_true(hawk_block_graph_retained_in_order(graph, blocks, &retained, &err));
	expect_retained(forest, blocks, retained);
	free(retained);
}

static void expect_all_choices(uint32_t most, unsigned heaps, uint64_t seed)
{
	static struct hawk_block_part parts[SYNTHETIC_FOREST_BLOCKS];
	unsigned threads = 0;

	for (unsigned i = 0; i < heaps; i++) {
		struct synthetic_forest *forest = synthetic_forest_open(most, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		uint64_t blocks[SYNTHETIC_FOREST_WORDS];

		if (i % 3 == 1)
			carve_some(forest, parts, &seed);
		synthetic_expect_no_error(
			hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		synthetic_expect_no_error(
			hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		assert_ptr_equal(graph->folds.start_order.blocks, graph->folds.order.blocks);
		for (unsigned how = 0; how < SYNTHETIC_FOREST_CHOICES; how++) {
			synthetic_forest_choose(forest, how, &seed, blocks);
			graph->threads = ++threads % 2; /* one, or all that there are */
			expect_chosen(forest, blocks);
		}
		synthetic_forest_close(forest);
	}
}

static void trees_of_chosen_blocks_come_from_the_order_of_all(void **state)
{
	(void)state;
	expect_all_choices(SYNTHETIC_FOREST_SMALL, HEAPS / 3, 94);
}

static void threads_share_the_order_of_all(void **state)
{
	(void)state;
	expect_all_choices(SYNTHETIC_FOREST_BLOCKS, LARGE_HEAPS, 95);
}

static void an_order_is_of_the_tree_that_it_was_made_with(void **state)
{
	uint64_t seed = 96, all[SYNTHETIC_FOREST_WORDS];
	struct synthetic_forest *forest = synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
	struct hawk_block_graph *graph = &forest->graph;
	struct hawk_site_retained *retained;
	struct hawk_site_tree tree;
	struct hawk_error *err;

	(void)state;
	memset(all, 0, sizeof(all));
	synthetic_expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
	hawk_block_graph_note_folds(graph);
	assert_true(graph->parts & HAWK_PART_ORDER);
	assert_false(hawk_block_graph_retained_in_order(graph, all, &retained, &err));
	assert_null(err);
	assert_true(graph->roots.count);
	forest->groups[0] = SYNTHETIC_FOREST_GROUPS;
	synthetic_expect_no_error(hawk_site_tree_retained(graph, forest->groups, NULL, &tree));
	hawk_site_tree_deinit(&tree);
	assert_true(hawk_site_tree_is_kept(graph, HAWK_FOLD_RETAINED, forest->groups));
	assert_false(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED, forest->groups, all, NULL,
					      &tree, &err));
	assert_null(err);
	hawk_block_graph_note_folds(graph);
	assert_false(graph->parts & HAWK_PART_ORDER);
	synthetic_expect_no_error(hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
	assert_true(hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED, forest->groups, all, NULL,
					     &tree, &err));
	hawk_site_tree_deinit(&tree);
	synthetic_forest_close(forest);
}

/** Whatever numbers a damaged file has. */
static void numbers_of_a_wrong_order_stay_in_bounds(void **state)
{
	uint64_t seed = 97;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_retained *retained;
		struct hawk_site_tree tree;
		uint64_t blocks[SYNTHETIC_FOREST_WORDS];
		struct hawk_error *err;

		synthetic_expect_no_error(
			hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		synthetic_expect_no_error(
			hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		for (uint32_t j = 0; j < 3 * graph->index.count; j++)
			if (synthetic_random(&seed) % 4 == 0)
				((uint32_t *)graph->folds.order.area.bytes)[j] =
					(uint32_t)(synthetic_random(&seed) >> (8 + j % 24));
		for (uint32_t j = 0; j < graph->index.count; j += 3)
			((uint32_t *)graph->folds.path_steps.area.bytes)[j] =
				(uint32_t)synthetic_random(&seed);
		synthetic_forest_choose(forest, i, &seed, blocks);
		if (hawk_site_tree_of_chosen(graph, HAWK_FOLD_RETAINED_BOTH, forest->groups, blocks,
					     NULL, &tree, &err))
			hawk_site_tree_deinit(&tree);
		if (hawk_site_tree_of_chosen(graph, HAWK_FOLD_PATHS, forest->groups, blocks, NULL,
					     &tree, &err))
			hawk_site_tree_deinit(&tree);
		assert_true(hawk_block_graph_retained_in_order(graph, blocks, &retained, &err));
		free(retained);
		synthetic_forest_close(forest);
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
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_block_part parts[SYNTHETIC_FOREST_BLOCKS];
		struct hawk_dominators start;

		carve(&graph->index, parts);
		graph->parts &= ~(unsigned)HAWK_PART_RETAINED;
		graph->dominators = (struct hawk_dominators){0};
		graph->start_is_all = false;
		synthetic_expect_no_error(
			hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		synthetic_expect_no_error(hawk_block_graph_start_dominators(graph, &start));
		assert_int_equal(graph->folds.by_start[0],
				 hawk_block_graph_retained(graph, &start, 0));
		for (uint32_t block = 1; block < graph->index.count; block++)
			assert_int_equal(graph->folds.by_start[block], 0);
		carved += graph->folds.by_start[0] && graph->index.count > 1;
		hawk_block_graph_drop_start_dominators(graph, &start);
		hawk_workspace_destroy(&graph->workspace);
		synthetic_forest_close(forest);
	}
	assert_true(carved > HEAPS / 20);
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
	synthetic_expect_no_error(
		hawk_tree_order_make(&graph.index, &dominators, nodes, MANY_STEPS, NULL, &order));
	synthetic_expect_no_error(hawk_tree_order_sum_nodes(&graph, &order, &fold, all, &sums));
	for (uint32_t i = 0; i < ORDERED; i++) {
		assert_int_equal(sums[nodes[i]].objects, 1);
		assert_int_equal(sums[nodes[i]].bytes, 7 * i);
	}
	free(sums);
	hawk_tree_order_deinit(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_carved_block_retains_is_found_once),
		cmocka_unit_test(trees_of_chosen_blocks_come_from_the_order_of_all),
		cmocka_unit_test(threads_share_the_order_of_all),
		cmocka_unit_test(an_order_is_of_the_tree_that_it_was_made_with),
		cmocka_unit_test(numbers_of_a_wrong_order_stay_in_bounds),
		cmocka_unit_test(steps_of_trees_with_many_nodes_have_room_for_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
