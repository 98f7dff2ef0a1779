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
#include "synthetic_forest.h"

enum { HEAPS = 300 };

static void choose(const struct synthetic_forest *forest, uint64_t sites, uint64_t *blocks)
{
	memset(blocks, 0, SYNTHETIC_FOREST_WORDS * sizeof(*blocks));
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
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_tree plain, first, again;
		uint64_t all[SYNTHETIC_FOREST_WORDS];

		memset(all, 0xff, sizeof(all));
		assert_false(hawk_site_tree_is_kept(graph, HAWK_FOLD_PATHS, forest->groups));
		synthetic_expect_no_error(hawk_site_tree_paths(graph, forest->groups, all, &plain));
		synthetic_expect_no_error(
			hawk_site_tree_paths(graph, forest->groups, NULL, &first));
		assert_true(hawk_site_tree_is_kept(graph, HAWK_FOLD_PATHS, forest->groups));
		graph->parts &= ~(unsigned)HAWK_PART_PATHS; /* nobody looks at blocks now */
		synthetic_expect_no_error(
			hawk_site_tree_paths(graph, forest->groups, NULL, &again));
		deep += depth_of(&plain) == HAWK_SITE_TREE_DEPTH;
		synthetic_expect_same_node(&first, 0, &plain, 0);
		synthetic_expect_same_trees(&first, &again);
		hawk_site_tree_deinit(&plain);
		synthetic_expect_no_error(
			hawk_site_tree_retained_both(graph, forest->groups, all, &plain));
		synthetic_expect_no_error(
			hawk_site_tree_retained_both(graph, forest->groups, NULL, &first));
		synthetic_expect_same_trees(&first, &plain);
		assert_true(hawk_site_tree_is_kept(graph, HAWK_FOLD_RETAINED_BOTH, forest->groups));
		synthetic_forest_close(forest);
	}
	assert_in_range(deep, HEAPS / 20, HEAPS - HEAPS / 20);
}

static void trees_of_sites_are_those_of_their_blocks(void **state)
{
	unsigned told = 0, untold = 0;
	uint64_t seed = 91;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_tree got, want;
		struct hawk_error *err;
		uint64_t blocks[SYNTHETIC_FOREST_WORDS];

		synthetic_expect_no_error(hawk_site_tree_paths(graph, forest->groups, NULL, &got));
		hawk_site_tree_deinit(&got);
		synthetic_expect_no_error(
			hawk_site_tree_retained_both(graph, forest->groups, NULL, &got));
		hawk_site_tree_deinit(&got);
		for (uint64_t sites = 0; sites < 1 << SYNTHETIC_FOREST_SITES; sites++) {
			bool is_told;

			choose(forest, sites, blocks);
			synthetic_expect_no_error(
				hawk_site_tree_paths(graph, forest->groups, blocks, &want));
			assert_true(hawk_site_tree_of_sites(graph, HAWK_FOLD_PATHS, forest->groups,
							    &sites, NULL, &got, &err));
			synthetic_expect_same_trees(&got, &want);
			is_told = hawk_site_tree_of_sites(graph, HAWK_FOLD_RETAINED_BOTH,
							  forest->groups, &sites, NULL, &got, &err);
			synthetic_expect_no_error(err);
			told += is_told;
			untold += !is_told;
			if (!is_told)
				continue;
			synthetic_expect_no_error(
				hawk_site_tree_retained_both(graph, forest->groups, blocks, &want));
			synthetic_expect_same_trees(&got, &want);
		}
		synthetic_forest_close(forest);
	}
	assert_true(told > HEAPS && untold > 0);
}

static void other_groups_of_roots_make_another_tree(void **state)
{
	uint64_t seed = 92;
	unsigned differ = 0;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_site_tree got, want;
		uint64_t all[SYNTHETIC_FOREST_WORDS];

		memset(all, 0xff, sizeof(all));
		synthetic_expect_no_error(
			hawk_site_tree_retained(graph, forest->groups, NULL, &got));
		hawk_site_tree_deinit(&got);
		if (graph->roots.count) {
			forest->groups[0] = SYNTHETIC_FOREST_GROUPS;
			assert_false(
				hawk_site_tree_is_kept(graph, HAWK_FOLD_RETAINED, forest->groups));
			differ++;
		}
		synthetic_expect_no_error(
			hawk_site_tree_retained(graph, forest->groups, NULL, &got));
		synthetic_expect_no_error(
			hawk_site_tree_retained(graph, forest->groups, all, &want));
		synthetic_expect_same_trees(&got, &want);
		synthetic_forest_close(forest);
	}
	assert_true(differ > HEAPS / 2);
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

	synthetic_expect_same_figures(got, a, want, b);
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
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		const struct hawk_tree_view view = {
			.top = i % 7 ? i % 4 : SIZE_MAX,
			.depth = i % 5 ? i % 9 : SIZE_MAX,
			.share = i % 3 ? 5 << i % 4 : 0,
		};
		struct hawk_site_tree got, want;
		struct hawk_error *err;
		uint64_t blocks[SYNTHETIC_FOREST_WORDS];

		synthetic_expect_no_error(
			hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		synthetic_expect_no_error(
			hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		synthetic_forest_choose(forest, i, &seed, blocks);
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
		synthetic_forest_close(forest);
	}
	assert_true(left_out > HEAPS / 10);
	assert_true(smaller > HEAPS / 10);
}

static void trees_with_more_steps_than_wanted_are_not_kept(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 10; i++) {
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_block_graph *graph = &forest->graph;
		struct hawk_tree_folds *folds = &graph->folds;
		uint32_t paths, retained;

		synthetic_expect_no_error(
			hawk_tree_folds_need_orders(graph, forest->groups, UINT32_MAX));
		synthetic_expect_no_error(
			hawk_tree_folds_need_start(graph, forest->groups, UINT32_MAX));
		paths = folds->paths.count;
		retained = folds->retained.count;
		hawk_tree_folds_deinit(folds);
		synthetic_expect_no_error(
			hawk_tree_folds_need_orders(graph, forest->groups, paths - 1));
		synthetic_expect_no_error(
			hawk_tree_folds_need_start(graph, forest->groups, retained - 1));
		assert_null(folds->paths.nodes);
		assert_null(folds->path_steps.nodes);
		assert_null(folds->start_retained.nodes);
		assert_null(folds->start_order.blocks);
		synthetic_expect_no_error(hawk_tree_folds_need_orders(
			graph, forest->groups, paths > retained ? paths : retained));
		assert_int_equal(folds->paths.count, paths);
		assert_int_equal(folds->retained.count, retained);
		assert_non_null(folds->path_steps.nodes);
		assert_non_null(folds->order.blocks);
		synthetic_forest_close(forest);
	}
}

/** As from a file, with one number changed. */
static bool grows_with(struct synthetic_forest *forest, uint32_t node, uint32_t end, uint32_t kind,
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
	synthetic_expect_no_error(err);
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
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		const struct hawk_tree_fold *fold = &forest->graph.folds.paths;
		uint32_t last;

		synthetic_expect_no_error(
			hawk_tree_folds_need_orders(&forest->graph, forest->groups, UINT32_MAX));
		last = fold->nodes[1].end;
		assert_true(grows_with(forest, 1, last, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, 0, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, 1, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, fold->count + 1, HAWK_TREE_LOST, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_ALL, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_TAIL, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_KINDS, 0));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_SITE, SYNTHETIC_FOREST_SITES));
		assert_false(grows_with(forest, 1, last, HAWK_TREE_ROOT, SYNTHETIC_FOREST_GROUPS));
		assert_false(grows_with(forest, 0, fold->count + 1, HAWK_TREE_ALL, 0));
		if (last < fold->count) { /* 2 is below 1: it ends where that does, or before */
			nested++;
			assert_false(grows_with(forest, 2, last + 1, HAWK_TREE_SITE, 0));
		}
		synthetic_forest_close(forest);
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
		struct synthetic_forest *forest =
			synthetic_forest_open(SYNTHETIC_FOREST_SMALL, &seed);
		struct hawk_tree_folds *folds = &forest->graph.folds;
		struct hawk_tree_fold_node *nodes;
		struct hawk_site_tree before, after;

		synthetic_expect_no_error(hawk_site_tree_retained_both(
			&forest->graph, forest->groups, NULL, &before));
		nodes = folds->retained.owned;
		folds->retained.owned = NULL;
		nodes[1].end = 0;
		free(folds->start_retained.owned);
		folds->start_retained = (struct hawk_tree_fold){0};
		synthetic_expect_no_error(
			hawk_site_tree_retained_both(&forest->graph, forest->groups, NULL, &after));
		free(nodes);
		assert_int_equal(after.count, before.count);
		assert_memory_equal(after.nodes, before.nodes,
				    before.count * sizeof(*before.nodes));
		hawk_site_tree_deinit(&before);
		hawk_site_tree_deinit(&after);
		synthetic_forest_close(forest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_of_all_blocks_come_again_as_they_were),
		cmocka_unit_test(trees_of_sites_are_those_of_their_blocks),
		cmocka_unit_test(other_groups_of_roots_make_another_tree),
		cmocka_unit_test(what_is_shown_of_a_tree_is_what_all_of_it_has_there),
		cmocka_unit_test(trees_with_more_steps_than_wanted_are_not_kept),
		cmocka_unit_test(no_tree_grows_from_wrong_steps),
		cmocka_unit_test(a_tree_that_is_none_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
