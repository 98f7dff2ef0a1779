/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic_forest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hawk_tree_folds.h"
#include "synthetic_heap.h"

static void add_top(struct synthetic_forest *forest, uint32_t block, uint64_t random)
{
	struct hawk_roots *roots = &forest->graph.roots;

	forest->parent[block] = UINT32_MAX;
	if (random % 4 == 0)
		return; /* lost */
	forest->groups[roots->count] = (uint32_t)(random >> 8) % SYNTHETIC_FOREST_GROUPS;
	forest->roots[roots->count++] = (struct hawk_root){
		.edge = block << 1,
		.kind = random >> 16 & 1 ? HAWK_ROOT_MODULE : HAWK_ROOT_STACK,
	};
	forest->found[block / 64] |= UINT64_C(1) << block % 64;
}

/** Long chains of alternating sites, with branches. */
static void fill(struct synthetic_forest *forest, uint32_t most, uint64_t *seed)
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
		forest->traces[i] = (random >> 32) % 200 ? (uint32_t)(random >> 24) %
								   (SYNTHETIC_FOREST_SITES - 1)
							 : SYNTHETIC_FOREST_SITES - 1;
		if (!i || random % (3 * branches) == 0) {
			add_top(forest, i, synthetic_random(seed));
			continue;
		}
		forest->parent[i] = random % branches ? i - 1 : (uint32_t)(random >> 8) % i;
		/* Where there are few steps, threads have sums of their own. */
		if (most > SYNTHETIC_FOREST_SMALL && synthetic_random(seed) % 100)
			forest->traces[i] = forest->traces[forest->parent[i]];
		if (forest->found[forest->parent[i] / 64] >> forest->parent[i] % 64 & 1)
			forest->found[i / 64] |= UINT64_C(1) << i % 64;
	}
}

static void add_edges(struct synthetic_forest *forest)
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

static uint32_t root_of(const struct synthetic_forest *forest, uint32_t block)
{
	uint32_t root = 0;

	while (forest->roots[root].edge >> 1 != block)
		root++;
	return root;
}

static void add_paths(struct synthetic_forest *forest)
{
	struct hawk_paths *paths = &forest->graph.paths;
	uint32_t place[SYNTHETIC_FOREST_BLOCKS];

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

static void add_dominators(struct synthetic_forest *forest)
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

struct synthetic_forest *synthetic_forest_open(uint32_t most, uint64_t *seed)
{
	struct synthetic_forest *forest = calloc(1, sizeof(*forest));
	struct hawk_block_graph *graph = &forest->graph;

	for (uint32_t i = 0; i < SYNTHETIC_FOREST_SITES; i++)
		forest->site_of_trace[i] = i;
	forest->heap.site_of_trace = forest->site_of_trace;
	forest->heap.trace_count = forest->heap.site_count = SYNTHETIC_FOREST_SITES;
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

void synthetic_forest_close(struct synthetic_forest *forest)
{
	hawk_tree_folds_deinit(&forest->graph.folds);
	free(forest);
}

void synthetic_forest_choose(const struct synthetic_forest *forest, unsigned how, uint64_t *seed,
			     uint64_t *blocks)
{
	memset(blocks, 0, SYNTHETIC_FOREST_WORDS * sizeof(*blocks));
	for (uint32_t i = 0; i < forest->graph.index.count; i++) {
		bool few = synthetic_random(seed) % 300 == 0;
		bool some = synthetic_random(seed) % 3 == 0;
		bool first = i < 3;
		const bool chosen[SYNTHETIC_FOREST_CHOICES] = {few, some, !few,
							       forest->sizes[i]<30, first, how> 4};

		blocks[i / 64] |= (uint64_t)chosen[how % SYNTHETIC_FOREST_CHOICES] << i % 64;
	}
}

void synthetic_expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

void synthetic_expect_same_figures(const struct hawk_site_tree *got, uint32_t a,
				   const struct hawk_site_tree *want, uint32_t b)
{
	const struct hawk_site_tree_node *left = &got->nodes[a], *right = &want->nodes[b];

	assert_int_equal(left->kind, right->kind);
	assert_int_equal(left->key, right->key);
	assert_int_equal(left->depth, right->depth);
	assert_int_equal(left->flat_objects, right->flat_objects);
	assert_int_equal(left->flat_bytes, right->flat_bytes);
	assert_int_equal(left->cum_objects, right->cum_objects);
	assert_int_equal(left->cum_bytes, right->cum_bytes);
	if (want->start)
		assert_memory_equal(&got->start[a], &want->start[b], sizeof(*want->start));
}

void synthetic_expect_same_node(const struct hawk_site_tree *got, uint32_t a,
				const struct hawk_site_tree *want, uint32_t b)
{
	const struct hawk_site_tree_node *left = &got->nodes[a], *right = &want->nodes[b];
	uint32_t i = left->first_child, j = right->first_child;

	synthetic_expect_same_figures(got, a, want, b);
	assert_int_not_equal(left->kind, HAWK_TREE_TAIL);
	for (; i && j; i = got->nodes[i].next_sibling, j = want->nodes[j].next_sibling)
		synthetic_expect_same_node(got, i, want, j);
	assert_int_equal(i, 0);
	assert_int_equal(j, 0);
}

void synthetic_expect_same_trees(struct hawk_site_tree *got, struct hawk_site_tree *want)
{
	assert_int_equal(got->count, want->count);
	assert_int_equal(!got->start, !want->start);
	assert_memory_equal(got->nodes, want->nodes, got->count * sizeof(*got->nodes));
	synthetic_expect_same_node(got, 0, want, 0);
	hawk_site_tree_deinit(got);
	hawk_site_tree_deinit(want);
}
