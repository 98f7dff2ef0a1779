/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators and leak kinds that several threads find are those of one, and take little memory.
 */
#include <stdio.h>

#include "test.h"
#include "hawk_parallel.h"
#include "synthetic_graph.h"

/** Of heaps that threads share. */
struct clusters {
	uint32_t count;
	uint32_t blocks; /**< in a cluster */
	uint32_t away;   /**< one edge in so many leads anywhere; 0 = none */
	uint32_t interior;
	uint32_t rootless; /**< one cluster in so many has no root */
};

static struct graph_shape *clusters_at_random(const struct clusters *clusters, uint64_t *seed)
{
	uint32_t count = clusters->count;
	struct graph_shape *shape = graph_shape_create(count, 4 * (uint64_t)count);
	struct hawk_graph *graph = &shape->graph;

	for (uint32_t first = 0; first < count; first += clusters->blocks)
		if (!clusters->rootless || synthetic_random(seed) % clusters->rootless)
			graph_shape_root(shape, first);
	/* Not in the order of addresses. */
	for (size_t i = shape->graph.roots.count; i-- > 1;) {
		size_t other = synthetic_random(seed) % (i + 1);
		struct hawk_root root = shape->graph.roots.items[i];

		shape->graph.roots.items[i] = shape->graph.roots.items[other];
		shape->graph.roots.items[other] = root;
	}
	for (uint32_t block = 0; block < count; block++)
		for (unsigned i = synthetic_random(seed) % 4; i; i--) {
			uint32_t base = block - block % clusters->blocks;
			uint32_t target =
				base + (uint32_t)(synthetic_random(seed) % clusters->blocks);

			if (clusters->away && !(synthetic_random(seed) % clusters->away))
				target = (uint32_t)(synthetic_random(seed) % count);
			graph_shape_edge(shape, block, target < count ? target : count - 1);
			if (clusters->interior && !(synthetic_random(seed) % clusters->interior))
				graph->edges[graph->edge_count - 1] |= HAWK_EDGE_INTERIOR;
		}
	return shape;
}

/** All that reach and dominators come to. */
struct outcome {
	struct hawk_reach all;
	struct hawk_dominators dominators;
	uint32_t *numbers[3];
	uint64_t *retained;
	uint64_t sums[GRAPH_TRACES];
};

static void make_outcome(struct graph_shape *shape, struct outcome *ret)
{
	struct hawk_dominators *dominators = &ret->dominators;
	size_t bytes = ((size_t)shape->graph.count + 1) * sizeof(uint32_t);
	const uint32_t *lanes[3];

	*ret = (struct outcome){0};
	check(hawk_reach_make(&shape->graph, HAWK_EDGES_ALL, NULL, &ret->all));
	check(hawk_dominators_make(&shape->graph, &ret->all, dominators));
	check(hawk_dominators_retained_by_site(dominators, &shape->found, NULL, ret->sums));
	dominators->blocks[0] = dominators->dominators[0] = 0;
	lanes[0] = dominators->blocks;
	lanes[1] = dominators->dominators;
	lanes[2] = dominators->sizes;
	for (unsigned i = 0; i < 3; i++) {
		ret->numbers[i] = malloc(bytes);
		assert_non_null(ret->numbers[i]);
		memcpy(ret->numbers[i], lanes[i], bytes);
	}
	ret->retained = malloc(2 * bytes);
	assert_non_null(ret->retained);
	memcpy(ret->retained, dominators->retained, 2 * bytes);
}

static void expect_same_outcome(const struct outcome *outcome, const struct outcome *expected,
				uint32_t count)
{
	size_t bytes = ((size_t)count + 1) * sizeof(uint32_t);

	for (unsigned i = 0; i < 3; i++)
		assert_memory_equal(outcome->numbers[i], expected->numbers[i], bytes);
	assert_memory_equal(outcome->retained, expected->retained, 2 * bytes);
	assert_memory_equal(outcome->sums, expected->sums, sizeof(outcome->sums));
	assert_memory_equal(outcome->all.kinds, expected->all.kinds, count);
	assert_memory_equal(outcome->all.sums, expected->all.sums, sizeof(outcome->all.sums));
}

static void outcome_deinit(struct outcome *outcome)
{
	for (unsigned i = 0; i < 3; i++)
		free(outcome->numbers[i]);
	free(outcome->retained);
	hawk_dominators_deinit(&outcome->dominators);
	hawk_reach_deinit(&outcome->all);
}

static const struct clusters shared_heaps[] = {
	{30000, 20, 0, 0, 0},
	{30000, 20, 0, 300, 50},
	{30000, 64, 1000, 0, 50},
	{30000, 64, 5000, 3000, 50},
	{30000, 300, 30000, 0, 2},
	{30000, 3000, 0, 1000, 0},
	{30000, 3000, 50, 0, 5},
	{30000, 30000, 0, 0, 0},
	{30000, 30000, 0, 0, 1},
	{30000, 20, 20, 20, 20},
	{30000, 1, 0, 0, 2},
	{30000, 500, 100, 10000, 0},
	{30000, 3, 2, 100, 3},
	/* Two searches that find the same. */
	{300000, 150000, 2, 0, 0},
	{300000, 1000, 1, 0, 0},
	{200000, 64, 100, 1000, 30},
};

enum { SHARED_HEAPS = sizeof(shared_heaps) / sizeof(shared_heaps[0]) };

/* What is found in this workspace is what one thread finds. */
static void expect_outcome(struct graph_shape *shape, const struct outcome *expected)
{
	struct outcome outcome;

	make_outcome(shape, &outcome);
	expect_same_outcome(&outcome, expected, shape->graph.count);
	outcome_deinit(&outcome);
}

TEST(dominators_are_the_same_with_any_number_of_threads)
{
	uint64_t seed = 17;

	for (size_t i = 0; i < SHARED_HEAPS; i++) {
		struct graph_shape *shape = clusters_at_random(&shared_heaps[i], &seed);
		struct outcome expected;

		graph_shape_finish(shape);
		make_outcome(shape, &expected);
		for (unsigned threads = 2; threads < 11; threads += threads < 4 ? 1 : 6) {
			hawk_parallel_set_threads(threads);
			expect_outcome(shape, &expected);
		}
		outcome_deinit(&expected);
		graph_shape_destroy(shape);
	}
}
