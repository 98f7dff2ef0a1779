/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heuristics on a heap of a hundred thousand pointers, against trying everything, with any number
 * of threads. test_leaks.c tests the meaning of each rule.
 */
#include "test.h"
#include "hawk/base/parallel.h"
#include "hawk/graph/heuristics.h"
#include "hawk/analysis/leaks.h"
#include "synthetic_heap.h"
#include "sweep_world.h"

enum { HEAP_BYTES = 4 << 20, BLOCKS_MAX = HEAP_BYTES / 32, WORD = 8 };

/* Address of a file that the target does not hold. */
#define TABLES UINT64_C(0x500000000000)

/** A heap in a core; `starts` of its blocks, and of one behind the last. */
struct heuristics_world {
	struct synthetic_heap *heap;
	uint64_t starts[BLOCKS_MAX + 1];
	uint64_t sizes[BLOCKS_MAX];
	uint32_t count;
	char *path;
	struct hawk_target *target;
	struct hawk_heap heap_found;
	struct hawk_graph graph;
};

static uint64_t *word_at(const struct heuristics_world *world, uint64_t address)
{
	return (uint64_t *)(void *)(world->heap->bytes + (address - SYNTHETIC_HEAP));
}

/* In stretches, all blocks begin with the length of the rest, or none does. Every word but the
 * first leads into a block, one in four of them to its second word. */
static struct heuristics_world *make_world(void)
{
	struct heuristics_world *world = calloc(1, sizeof(*world));
	uint64_t at = SYNTHETIC_HEAP + 16;
	uint64_t seed = 77;

	world->heap = synthetic_heap_create(HEAP_BYTES);
	while (at + 200 < SYNTHETIC_HEAP + HEAP_BYTES) {
		uint64_t size = 24 + synthetic_random(&seed) % 16 * WORD;

		synthetic_heap_add_block(world->heap,
					 (struct synthetic_block){.start = at, .size = size});
		world->starts[world->count] = at;
		world->sizes[world->count++] = size;
		at += ((size + 15) & ~UINT64_C(15)) + 16;
	}
	for (uint32_t i = 0; i < world->count; i++) {
		bool prefixed = i / 3000 % 2 || synthetic_random(&seed) % 50 == 0;

		*word_at(world, world->starts[i]) = prefixed ? world->sizes[i] - WORD : 0;
		for (uint64_t offset = WORD; offset < world->sizes[i]; offset += WORD) {
			uint64_t to = synthetic_random(&seed) % world->count;
			uint64_t inside = synthetic_random(&seed) % 4 * WORD;

			*word_at(world, world->starts[i] + offset) =
				world->starts[to] + (inside < world->sizes[to] ? inside : 0);
		}
	}
	return world;
}

static void open_world(struct heuristics_world *world)
{
	struct hawk_sweep_plan plan = {
		.key = world->heap->table->header.key, .trace_count = 1, .birth_max = 1};
	struct synthetic_core *core = synthetic_heap_core(world->heap);

	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = TABLES,
						 .memory_bytes = 4096,
						 .flags = SYNTHETIC_READ,
						 .path = "/nowhere/program",
					 });
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = TABLES + 4096,
						 .memory_bytes = 4096,
						 .flags = SYNTHETIC_READ | SYNTHETIC_EXEC,
						 .path = "/nowhere/program",
						 .file_offset = 4096,
					 });
	world->path = synthetic_core_write(core, SIZE_MAX);
	synthetic_core_destroy(core);
	check(hawk_target_open_core(world->path, NULL, &world->target));
	world->heap_found.target = world->target;
	sweep_world_index(&world->heap_found, &plan);
	assert_int_equal(world->heap_found.index.count, world->count);
	check(hawk_graph_read_edges(&world->heap_found, &world->graph));
}

static void close_world(struct heuristics_world *world)
{
	hawk_graph_deinit(&world->graph);
	hawk_heap_spans_deinit(&world->heap_found.spans);
	hawk_block_index_deinit(&world->heap_found.index);
	hawk_target_close(world->target);
	synthetic_core_remove(world->path);
	synthetic_heap_destroy(world->heap);
	free(world);
}

/* Every word but the first of a block is an edge. */
static void expect_explained(const struct heuristics_world *world,
			     const struct hawk_explained *explained)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < world->count; i++)
		for (uint32_t j = world->graph.offsets[i]; j < world->graph.offsets[i + 1]; j++) {
			uint64_t at = world->starts[i] + (j - world->graph.offsets[i] + 1) * WORD;
			uint32_t to = world->graph.edges[j] >> 1;
			bool good = *word_at(world, at) == world->starts[to] + WORD &&
				    *word_at(world, world->starts[to]) == world->sizes[to] - WORD;

			assert_int_equal(hawk_explained_edge(explained, j), good);
			count += good;
		}
	assert_int_equal(explained->edges.count, count);
	assert_int_equal(explained->counts[__builtin_ctz(HAWK_HEURISTIC_LENGTH64)], count);
	assert_true(count > world->graph.edge_count / 20);
}

TEST(the_same_pointers_are_explained_with_any_number_of_threads)
{
	static const unsigned threads[] = {0, 1, 2, 3, 8, 1000};
	struct heuristics_world *world = make_world();

	open_world(world);
	assert_true(world->graph.edge_count > 100000);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		struct hawk_explained explained;

		hawk_parallel_set_threads(threads[i]);
		check(hawk_heuristics_find(&world->graph, HAWK_HEURISTIC_LENGTH64, NULL,
					   &explained));
		expect_explained(world, &explained);
		hawk_explained_deinit(&explained);
	}
	close_world(world);
}

/* Tables that lie in files only: those of classes with a type_info, and of one with a symbol that
 * covers two. */
TEST(tables_that_the_target_does_not_hold_are_taken_from_the_value)
{
	struct heuristics_world *world = make_world();
	struct hawk_vtable items[] = {
		{.address = TABLES + 2 * WORD, .type_info = TABLES + 1024, .bytes = WORD},
		{.address = TABLES + 16 * WORD, .bytes = 8 * WORD},
	};
	const struct hawk_vtables vtables = {.items = items, .count = 2, .found = true};
	static const struct {
		unsigned first, inner; /**< words behind TABLES */
		bool explained;
	} cases[] = {{2, 16, true},  {16, 23, true}, {2, 3, false},
		     {15, 2, false}, {2, 24, false}, {1, 2, false}};
	const size_t case_count = sizeof(cases) / sizeof(cases[0]);

	for (uint32_t i = 0; i < world->count; i++) {
		*word_at(world, world->starts[i]) = TABLES + cases[i % case_count].first * WORD;
		*word_at(world, world->starts[i] + WORD) =
			TABLES + cases[i % case_count].inner * WORD;
	}
	open_world(world);
	for (unsigned threads = 1; threads < 4; threads++) {
		struct hawk_explained explained;
		uint64_t wanted = 0;

		hawk_parallel_set_threads(threads);
		check(hawk_heuristics_find(&world->graph, HAWK_HEURISTIC_MULTIPLEINHERITANCE,
					   &vtables, &explained));
		for (uint32_t i = 0; i < world->count; i++)
			for (uint32_t j = world->graph.offsets[i]; j < world->graph.offsets[i + 1];
			     j++) {
				uint32_t to = world->graph.edges[j] >> 1;
				uint64_t at =
					world->starts[i] + (j - world->graph.offsets[i] + 2) * WORD;
				bool good = *word_at(world, at) == world->starts[to] + WORD &&
					    cases[to % case_count].explained;

				assert_int_equal(hawk_explained_edge(&explained, j), good);
				wanted += good;
			}
		assert_true(wanted > 1000);
		assert_int_equal(explained.edges.count, wanted);
		hawk_explained_deinit(&explained);
		check(hawk_heuristics_find(&world->graph, HAWK_HEURISTIC_MULTIPLEINHERITANCE, NULL,
					   &explained));
		assert_int_equal(explained.edges.count, 0);
		hawk_explained_deinit(&explained);
	}
	close_world(world);
}
