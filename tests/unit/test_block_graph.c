/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph object that all verbs use: what it takes from a core in one sweep, what its parts
 * depend on, and that they do not depend on the number of threads.
 */
#include "hawk_parallel.h"
#include "test.h"
#include "hawk_site_graph.h"
#include "synthetic_site_world.h"

enum { HEAPS = 100 };

static void make_everything(struct site_world *fixture, uint64_t seed, unsigned threads,
			    struct hawk_site_graph *sites)
{
	struct graph_world *world = graph_world_create();

	graph_world_fill(world, &seed);
	site_world_open(fixture, world);
	hawk_parallel_set_threads(threads);
	if (seed % 2)
		site_world_forget_edges(fixture);
	assert_null(hawk_block_graph_need(&fixture->graph, HAWK_PART_RETAINED));
	assert_null(hawk_site_graph_make(&fixture->graph, NULL, sites));
}

TEST(everything_is_the_same_with_one_thread_and_with_several)
{
	for (uint64_t seed = 0; seed < HEAPS; seed++) {
		struct site_world fixtures[2];
		struct hawk_site_graph sites[2];
		uint32_t count;

		for (unsigned i = 0; i < 2; i++)
			make_everything(&fixtures[i], seed, i + 1, &sites[i]);
		count = fixtures[0].heap.index.count;
		assert_int_equal(sites[0].edge_count, sites[1].edge_count);
		assert_int_equal(sites[0].place_count, sites[1].place_count);
		assert_memory_equal(sites[0].edges, sites[1].edges,
				    sites[0].edge_count * sizeof(*sites[0].edges));
		assert_memory_equal(sites[0].places, sites[1].places,
				    sites[0].place_count * sizeof(*sites[0].places));
		assert_memory_equal(fixtures[0].graph.retained, fixtures[1].graph.retained,
				    SITE_WORLD_SITES * sizeof(*fixtures[0].graph.retained));
		assert_memory_equal(fixtures[0].graph.reach.kinds, fixtures[1].graph.reach.kinds,
				    count);
		assert_memory_equal(fixtures[0].graph.dominators.dominators + 1,
				    fixtures[1].graph.dominators.dominators + 1,
				    count * sizeof(uint32_t));
		for (unsigned i = 0; i < 2; i++) {
			hawk_site_graph_deinit(&sites[i]);
			site_world_close(&fixtures[i]);
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
	struct hawk_block_graph graph;
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

	hawk_block_graph_deinit(&fixture->graph);
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

	assert_null(hawk_heap_load_graph(fixture->target, &fixture->findings, HAWK_PART_INDEX,
					 &fixture->graph, &fixture->heap));
	assert_int_equal(fixture->graph.parts, HAWK_PART_INDEX);
	assert_int_equal(fixture->heap.index.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(hawk_heap_block(fixture->graph.heap, i, &block));
		assert_int_equal(block.start, SYNTHETIC_HEAP + 64 * i + 16);
		assert_int_equal(block.size, 24 + i);
		assert_int_equal(block.kind, HAWK_KIND_NEW);
		assert_int_equal(block.birth, i + 1);
	}
	assert_int_equal(
		fixture->heap.sites[hawk_heap_site_at(fixture->graph.heap, 0)].inuse_objects, 2);
	assert_int_equal(fixture->heap.sites[hawk_heap_site_at(fixture->graph.heap, 2)].id,
			 HAWK_SITE_NO_STACK);
}

BLOCK_GRAPH_TEST(a_part_brings_what_it_depends_on)
{
	assert_null(hawk_heap_load(fixture->target, &fixture->findings, &fixture->heap));
	hawk_block_graph_init(&fixture->graph, &fixture->heap, &fixture->findings);
	assert_null(hawk_block_graph_need(&fixture->graph, HAWK_PART_REACH));
	assert_int_equal(fixture->graph.parts,
			 HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS | HAWK_PART_REACH);
	assert_int_equal(fixture->graph.reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, 3);
	assert_null(hawk_block_graph_need(&fixture->graph, HAWK_PART_RETAINED));
	assert_int_equal(fixture->graph.retained[hawk_heap_site_at(fixture->graph.heap, 0)],
			 24 + 25);
}

BLOCK_GRAPH_TEST(a_process_that_was_not_traced_has_no_blocks)
{
	struct synthetic_core *core = synthetic_core_create();
	char *path;

	synthetic_core_add_memory(core, SYNTHETIC_HEAP, "no table", 8);
	path = synthetic_core_write(core, SIZE_MAX);
	synthetic_core_destroy(core);
	hawk_target_close(fixture->target);
	assert_null(hawk_target_open_core(path, &fixture->findings, &fixture->target));
	assert_null(hawk_heap_load_graph(fixture->target, &fixture->findings, HAWK_PART_RETAINED,
					 &fixture->graph, &fixture->heap));
	assert_null(fixture->heap.table);
	assert_int_equal(fixture->heap.index.count, 0);
	assert_true(fixture->graph.parts & HAWK_PART_RETAINED);
	synthetic_core_remove(path);
}
