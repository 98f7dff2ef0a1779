/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators by all pointers from those by start pointers where leaks are leaks by start pointers
 * only: many at once, and such that what holds them climbs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "synthetic_graph.h"

static void expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum { MANY = 1000000 };

/* A chain that is held, and leaks that point into it. By all pointers its first block holds them.
 */
static struct graph_shape *chain_with_leaks(uint32_t chain, uint32_t leaks)
{
	struct graph_shape *shape = graph_shape_create(chain + leaks, chain + 2 * (uint64_t)leaks);

	graph_shape_root(shape, 0);
	for (uint32_t i = 0; i < leaks; i++) {
		graph_shape_edge(shape, 0, chain + i);
		shape->graph.edges[i] |= HAWK_EDGE_INTERIOR;
	}
	for (uint32_t i = 0; i + 1 < chain; i++)
		graph_shape_edge(shape, i, i + 1);
	for (uint32_t i = 0; i < leaks; i++)
		graph_shape_edge(shape, chain + i, (i + 1) * (chain / (leaks + 1)));
	return shape;
}

static void leaks_that_point_into_a_chain_take_linear_time(void **state)
{
	enum { LEAKS = MANY / 100, STRETCH = MANY / (LEAKS + 1) };
	static const struct hawk_explained none;
	struct graph_shape *shape = chain_with_leaks(MANY, LEAKS);
	struct hawk_dominators dominators;
	struct hawk_reach all;
	uint64_t sums[GRAPH_TRACES] = {0};
	double start;

	(void)state;
	graph_shape_finish(shape); /* for the workspace */
	start = cpu_seconds();
	expect_no_error(hawk_dominators_make_reaching(&shape->index, &shape->graph, &shape->roots,
						      &none, &shape->workspace, &all, &dominators));
	assert_int_equal(dominators.base.apart, MANY + 1);
	for (uint32_t i = 1; i <= LEAKS; i++) {
		/* Chains are numbered along. */
		assert_int_equal(dominators.blocks[1 + i * STRETCH], i * STRETCH);
		assert_int_equal(dominators.dominators[1 + i * STRETCH], 0);
		if (i < LEAKS)
			assert_int_equal(dominators.retained[1 + i * STRETCH], 16 * STRETCH);
	}
	if (hawk_dominators_extend(&dominators, &shape->index, &shape->graph, &shape->roots, &all,
				   &graph_by_trace, sums) != HAWK_DOMINATORS_OTHER)
		for (uint32_t i = 1; i <= LEAKS; i++)
			assert_int_equal(dominators.dominators[1 + i * STRETCH], 1);
	assert_true(cpu_seconds() - start < 20);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&all);
	graph_shape_destroy(shape);
}

/* Leaks by start pointers, each of which points to the one that is looked at before it, and is held
 * by an interior pointer from a block that is one higher in a chain: what holds the first one
 * climbs by one block at a time. Beside them many interior pointers that change nothing. */
static struct graph_shape *leaks_that_climb(uint32_t leaks, uint32_t others)
{
	uint32_t first_holder = 1 + leaks, first_leak = first_holder + leaks;
	uint32_t first_other = first_leak + leaks;
	struct graph_shape *shape = graph_shape_create(first_other + others,
						       4 * (uint64_t)leaks + 2 * (uint64_t)others);

	graph_shape_root(shape, 0);
	graph_shape_edge(shape, 0, 1);
	for (uint32_t i = 0; i < others; i++)
		graph_shape_edge(shape, 0, first_other + i);
	for (uint32_t i = 1; i <= leaks; i++) {
		if (i < leaks)
			graph_shape_edge(shape, i, i + 1);
		graph_shape_edge(shape, i, first_holder + leaks - i);
	}
	for (uint32_t i = 0; i < leaks; i++) {
		graph_shape_edge(shape, first_holder + i, first_leak + i);
		shape->graph.edges[shape->graph.edge_count - 1] |= HAWK_EDGE_INTERIOR;
	}
	for (uint32_t i = 1; i < leaks; i++)
		graph_shape_edge(shape, first_leak + i, first_leak + i - 1);
	for (uint32_t i = 0; i + 1 < others; i++) {
		graph_shape_edge(shape, first_other + i, first_other + i + 1);
		shape->graph.edges[shape->graph.edge_count - 1] |= HAWK_EDGE_INTERIOR;
	}
	return shape;
}

static enum hawk_dominators_extension extension_of_climbing_leaks(uint32_t leaks)
{
	enum { OTHERS = 10000 };
	static const struct hawk_explained none;
	struct graph_shape *shape = leaks_that_climb(leaks, OTHERS);
	enum hawk_dominators_extension extension;
	struct hawk_dominators dominators;
	struct hawk_reach all;
	uint64_t sums[GRAPH_TRACES] = {0};

	graph_shape_finish(shape); /* for the workspace */
	expect_no_error(hawk_dominators_make_reaching(&shape->index, &shape->graph, &shape->roots,
						      &none, &shape->workspace, &all, &dominators));
	assert_true(dominators.base.extendable);
	assert_true(dominators.base.apart <= dominators.count);
	expect_no_error(hawk_dominators_retained_by_group(&dominators, &shape->index,
							  &graph_by_trace, sums));
	extension = hawk_dominators_extend(&dominators, &shape->index, &shape->graph, &shape->roots,
					   &all, &graph_by_trace, sums);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&all);
	graph_shape_destroy(shape);
	return extension;
}

/* Each climb is a round over all interior pointers, and costs few steps: steps alone would allow
 * hundreds. */
static void leaks_that_climb_often_are_searched_anew(void **state)
{
	(void)state;
	for (uint32_t leaks = 1; leaks <= 4; leaks++)
		assert_int_equal(extension_of_climbing_leaks(leaks), HAWK_DOMINATORS_EXTENDED);
	for (uint32_t leaks = 12; leaks <= 40; leaks += 14)
		assert_int_equal(extension_of_climbing_leaks(leaks), HAWK_DOMINATORS_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaks_that_point_into_a_chain_take_linear_time),
		cmocka_unit_test(leaks_that_climb_often_are_searched_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
