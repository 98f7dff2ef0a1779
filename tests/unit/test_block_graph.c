/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph object that all verbs use: what it takes from a core in one sweep, what its parts
 * depend on, and that they do not depend on the number of threads.
 */
#include "hawk/base/parallel.h"
#include "test.h"
#include "hawk/analysis/site_graph.h"
#include "synthetic_site_world.h"

enum { HEAPS = 100 };

/** Everything that is made of a heap. */
struct everything {
	struct site_world fixture;
	struct hawk_dominators dominators;
	struct hawk_site_graph sites;
};

static void make_everything(struct everything *made, uint64_t seed, unsigned threads)
{
	struct graph_world *world = graph_world_create();

	graph_world_fill(world, &seed);
	site_world_open(&made->fixture, world);
	hawk_parallel_set_threads(threads);
	site_world_dominators(&made->fixture, HAWK_EDGES_ALL, &made->dominators);
	check(hawk_site_graph_make(&made->fixture.graph, NULL, &made->sites));
}

TEST(everything_is_the_same_with_one_thread_and_with_several)
{
	for (uint64_t seed = 0; seed < HEAPS; seed++) {
		struct everything made[2];
		uint32_t count;

		for (unsigned i = 0; i < 2; i++)
			make_everything(&made[i], seed, i + 1);
		count = made[0].fixture.heap.index.count;
		assert_int_equal(made[0].sites.edge_count, made[1].sites.edge_count);
		assert_int_equal(made[0].sites.place_count, made[1].sites.place_count);
		assert_memory_equal(made[0].sites.edges, made[1].sites.edges,
				    made[0].sites.edge_count * sizeof(*made[0].sites.edges));
		assert_memory_equal(made[0].sites.places, made[1].sites.places,
				    made[0].sites.place_count * sizeof(*made[0].sites.places));
		assert_memory_equal(made[0].fixture.reach.kinds, made[1].fixture.reach.kinds,
				    count);
		assert_memory_equal(made[0].dominators.dominators + 1,
				    made[1].dominators.dominators + 1, count * sizeof(uint32_t));
		for (unsigned i = 0; i < 2; i++) {
			hawk_site_graph_deinit(&made[i].sites);
			hawk_dominators_deinit(&made[i].dominators);
			site_world_close(&made[i].fixture);
		}
	}
}

/** A traced heap in a core file, loaded through the front door. */
struct core_fixture {
	struct synthetic_heap *built;
	char *path;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap heap;
	struct hawk_graph graph;
};

static int set_up_core(void **state)
{
	struct core_fixture *fixture = calloc(1, sizeof(*fixture));
	const uint64_t frames[] = {0x401000, 0x402000};
	uint32_t trace;

	fixture->built = synthetic_heap_create(4096);
	synthetic_heap_add_module(fixture->built, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	trace = synthetic_heap_add_trace(fixture->built, frames, 2, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		synthetic_heap_add_block(fixture->built,
					 (struct synthetic_block){
						 .start = SYNTHETIC_HEAP + 64 * i + 16,
						 .size = 24 + i,
						 .trace = i == 2 ? 0 : trace,
						 .kind = HAWK_KIND_NEW,
						 .birth = (uint8_t)(i + 1),
					 });
	fixture->path = synthetic_heap_write(fixture->built);
	assert_null(hawk_target_open_core(fixture->path, &fixture->findings, &fixture->target));
	*state = fixture;
	return 0;
}

static int tear_down_core(void **state)
{
	struct core_fixture *fixture = *state;

	hawk_graph_deinit(&fixture->graph);
	hawk_heap_deinit(&fixture->heap);
	hawk_target_close(fixture->target);
	synthetic_core_remove(fixture->path);
	synthetic_heap_destroy(fixture->built);
	hawk_findings_deinit(&fixture->findings);
	free(fixture);
	return 0;
}

#define BLOCK_GRAPH_TEST(name)                                                                     \
	TEST_WITH(struct core_fixture *fixture, set_up_core, tear_down_core, name)

BLOCK_GRAPH_TEST(one_sweep_gives_sites_and_blocks_with_all_that_their_headers_say)
{
	struct hawk_block block;

	assert_null(hawk_heap_load(fixture->target, &fixture->findings, &fixture->heap));
	assert_int_equal(fixture->heap.index.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(hawk_heap_block(&fixture->heap, i, &block));
		assert_int_equal(block.start, SYNTHETIC_HEAP + 64 * i + 16);
		assert_int_equal(block.size, 24 + i);
		assert_int_equal(block.kind, HAWK_KIND_NEW);
		assert_int_equal(block.birth, i + 1);
	}
	assert_int_equal(fixture->heap.sites[hawk_heap_site_at(&fixture->heap, 0)].inuse_objects,
			 2);
	assert_int_equal(fixture->heap.sites[hawk_heap_site_at(&fixture->heap, 2)].id,
			 HAWK_SITE_NO_STACK);
}

/* Of a heap, one after the other. */
static void make_values(struct core_fixture *fixture, struct hawk_reach *reach,
			struct hawk_dominators *dominators)
{
	assert_null(hawk_heap_load(fixture->target, &fixture->findings, &fixture->heap));
	assert_null(hawk_graph_make(&fixture->heap, NULL, &fixture->findings, &fixture->graph));
	assert_null(hawk_reach_make(&fixture->graph, HAWK_EDGES_ALL, NULL, reach));
	assert_null(hawk_dominators_make(&fixture->graph, reach, dominators));
}

BLOCK_GRAPH_TEST(each_value_is_made_from_those_before_it)
{
	struct hawk_dominators dominators;
	struct hawk_reach reach;
	uint64_t retained[8] = {0};

	make_values(fixture, &reach, &dominators);
	assert_int_equal(reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, 3);
	assert_in_range(fixture->heap.site_count, 2, 8);
	assert_null(hawk_dominators_retained_by_site(&dominators, &fixture->heap, NULL, retained));
	assert_int_equal(retained[hawk_heap_site_at(&fixture->heap, 0)], 24 + 25);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&reach);
}

BLOCK_GRAPH_TEST(a_process_that_was_not_traced_has_no_blocks)
{
	struct synthetic_core *core = synthetic_core_create();
	struct hawk_dominators dominators;
	struct hawk_reach reach;
	char *path;

	synthetic_core_add_memory(core, SYNTHETIC_HEAP, "no table", 8);
	path = synthetic_core_write(core, SIZE_MAX);
	synthetic_core_destroy(core);
	hawk_target_close(fixture->target);
	assert_null(hawk_target_open_core(path, &fixture->findings, &fixture->target));
	make_values(fixture, &reach, &dominators);
	assert_null(fixture->heap.table);
	assert_int_equal(fixture->heap.index.count, 0);
	assert_int_equal(dominators.count, 0);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&reach);
	synthetic_core_remove(path);
}
