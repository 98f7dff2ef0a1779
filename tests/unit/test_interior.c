/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list of interior edges against a walk without one, and against a look at every edge.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "hawk_interior.h"
#include "synthetic_graph.h"

/* About `per` edges for each block, in bursts; one in `interior` is interior, one in 8 of a block
 * to itself. */
static struct graph_shape *shape_at_random(uint32_t count, unsigned per, unsigned interior,
					   uint64_t *seed)
{
	struct graph_shape *shape = graph_shape_create(count, 40 * (uint64_t)per * count);

	for (uint32_t block = 0; block < count; block++) {
		uint64_t edges = synthetic_random(seed) % (2 * per + 1);

		if (!(synthetic_random(seed) % 500))
			edges *= 20;
		for (; edges; edges--) {
			bool own = !(synthetic_random(seed) % 8);

			graph_shape_edge(shape, block,
					 own ? block : (uint32_t)(synthetic_random(seed) % count));
			if (!(synthetic_random(seed) % interior))
				shape->graph.edges[shape->graph.edge_count - 1] |=
					HAWK_EDGE_INTERIOR;
		}
	}
	graph_shape_finish(shape);
	return shape;
}

/* Every interior edge, but for those of a block to itself if it is listed. */
static void expect_walk(const struct hawk_interior *interior, const struct graph_shape *shape)
{
	const struct hawk_graph *graph = &shape->graph;
	struct hawk_interior_walk walk = {.interior = interior};

	for (uint32_t block = 0; block < graph->count; block++)
		for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
			if (!(graph->edges[i] & HAWK_EDGE_INTERIOR) ||
			    (interior->listed && graph->edges[i] >> 1 == block))
				continue;
			assert_true(hawk_interior_next(&walk));
			assert_int_equal(walk.edge, i);
			assert_int_equal(hawk_interior_source(&walk), block);
			assert_int_equal(hawk_interior_target(&walk), graph->edges[i] >> 1);
		}
	assert_false(hawk_interior_next(&walk));
	assert_false(hawk_interior_next(&walk));
}

static void expect_listed(const struct graph_shape *shape, bool listed)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct hawk_interior interior;

		hawk_interior_init(&interior, &shape->graph, threads);
		assert_int_equal(interior.listed, listed);
		expect_walk(&interior, shape);
		hawk_interior_deinit(&interior);
		assert_false(interior.listed);
	}
}

static void few_interior_edges_are_listed_with_their_sources(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (uint32_t count = 1; count < 100000; count = 7 * count + 3) {
		struct graph_shape *shape = shape_at_random(count, 2, 200, &seed);

		expect_listed(shape, true);
		graph_shape_destroy(shape);
	}
}

static void many_interior_edges_are_walked(void **state)
{
	uint64_t seed = 6;
	struct graph_shape *shape = shape_at_random(50000, 2, 10, &seed);

	(void)state;
	expect_listed(shape, false);
	graph_shape_destroy(shape);
}

/* Such as strings make that hold their own bytes. */
static void interior_edges_of_blocks_to_themselves_need_no_list(void **state)
{
	enum { COUNT = 100000 };
	struct graph_shape *shape = graph_shape_create(COUNT, COUNT);

	(void)state;
	for (uint32_t block = 0; block < COUNT; block++) {
		graph_shape_edge(shape, block, block);
		shape->graph.edges[block] |= HAWK_EDGE_INTERIOR;
	}
	graph_shape_finish(shape);
	expect_listed(shape, true);
	graph_shape_destroy(shape);
}

static void graphs_without_interior_edges_have_an_empty_list(void **state)
{
	struct graph_shape *shape = graph_shape_create(0, 0);
	struct hawk_interior zeros = {0};

	(void)state;
	graph_shape_finish(shape);
	expect_listed(shape, true);
	graph_shape_destroy(shape);
	hawk_interior_deinit(&zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_interior_edges_are_listed_with_their_sources),
		cmocka_unit_test(many_interior_edges_are_walked),
		cmocka_unit_test(interior_edges_of_blocks_to_themselves_need_no_list),
		cmocka_unit_test(graphs_without_interior_edges_have_an_empty_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
