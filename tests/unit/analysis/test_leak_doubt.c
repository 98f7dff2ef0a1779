/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leak kinds where something is missing or damaged: nothing is called lost.
 */
#include "analysis/leaks_fixture.h"

TEST(nothing_is_called_lost_where_memory_is_missing)
{
	uint64_t seed = 99;
	unsigned downgraded = 0;

	for (unsigned i = 0; i < 160; i++) {
		struct leaks_world leaks = {.world = graph_world_create()};
		size_t cut;

		graph_world_fill(leaks.world, &seed);
		cut = (GRAPH_HEAP_BYTES + GRAPH_STACK_BYTES) * (size_t)(i % 16 + 1) / 17 + 1024;
		open_world(&leaks, cut, HAWK_HEURISTICS_ALL);
		make(&leaks, ALL_KINDS, NULL);
		assert_int_equal(leaks.leaks.downgraded,
				 !hawk_roots_complete(&leaks.world->graph.roots));
		if (leaks.leaks.downgraded) {
			assert_int_equal(leaks.leaks.sums[HAWK_REACH_DEFINITELY_LOST].objects, 0);
			assert_int_equal(leaks.leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects, 0);
			assert_true(leaks.leaks.downgrade.objects <=
				    leaks.leaks.sums[HAWK_REACH_POSSIBLY].objects);
			downgraded += leaks.leaks.downgrade.objects > 0;
		}
		close_world(&leaks);
	}
	assert_true(downgraded > 20);
}

TEST(nothing_is_called_lost_where_blocks_were_taken_back_unnoticed)
{
	struct leaks_world leaks = {.world = graph_world_create()};

	graph_world_add(leaks.world, 32, 0, 0);
	graph_world_add(leaks.world, 32, 0, 0);
	graph_world_point(leaks.world, 0, 0, 1, 0);
	open_world(&leaks, SIZE_MAX, 0);
	assert_int_equal(hawk_leaks_doubt(&leaks.graph), HAWK_LEAKS_NO_DOUBT);
	leaks.heap.discarded_heaps = 1;
	assert_int_equal(hawk_leaks_doubt(&leaks.graph), HAWK_LEAKS_HEAPS_DISCARDED);
	make(&leaks, ALL_KINDS, NULL);
	assert_true(leaks.leaks.downgraded);
	assert_int_equal(leaks.leaks.downgrade.objects, 2);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_POSSIBLY].objects, 2);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_DEFINITELY_LOST].objects, 0);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects, 0);
	close_world(&leaks);
}

TEST(nothing_is_called_lost_where_headers_were_overwritten)
{
	struct hawk_heap_span unsound = {.start = 0, .end = 1, .kind = HAWK_SPAN_UNSOUND};
	struct leaks_world leaks = {.world = graph_world_create()};

	graph_world_add(leaks.world, 32, 0, 0);
	graph_world_add(leaks.world, 32, 0, 0);
	open_world(&leaks, SIZE_MAX, 0);
	leaks.heap.spans = (struct hawk_heap_spans){&unsound, 1, 1};
	assert_int_equal(hawk_leaks_doubt(&leaks.graph), HAWK_LEAKS_OVERWRITTEN);
	make(&leaks, ALL_KINDS, NULL);
	assert_int_equal(leaks.leaks.downgrade.objects, 2);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_DEFINITELY_LOST].objects, 0);
	close_world(&leaks);
}
