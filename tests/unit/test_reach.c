/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leak kinds of heaps whose kinds are known; test_dominators.c tries thousands at random.
 */
#include "test.h"
#include "synthetic_graph.h"

TEST(the_leader_of_a_lost_cycle_is_its_lowest_block)
{
	struct graph_world *world = graph_world_create();
	struct hawk_reach reach;

	for (unsigned i = 0; i < 5; i++)
		graph_world_add(world, 32, 0, 0);
	/* 2 -> 4 -> 1 -> 2 is the cycle, 3 -> 1 a block that leads into it, 2 -> 0 a part of it. */
	graph_world_point(world, 2, 0, 4, 0);
	graph_world_point(world, 4, 8, 1, 8);
	graph_world_point(world, 1, 0, 2, 0);
	graph_world_point(world, 2, 8, 0, 0);
	graph_world_open(world, 1, SIZE_MAX);
	check(hawk_reach_make(&world->graph, HAWK_EDGES_ALL, NULL, &reach));
	assert_int_equal(reach.kinds[0], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.kinds[1], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(reach.kinds[2], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.kinds[3], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(reach.kinds[4], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.sums[HAWK_REACH_INDIRECTLY_LOST].bytes, 96);
	hawk_reach_deinit(&reach);
	graph_world_destroy(world);
}
