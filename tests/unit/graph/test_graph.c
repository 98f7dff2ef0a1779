/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pointer graph: edges and roots of random heaps against trying all blocks, for any number of
 * threads and any processor; cores that lack a part.
 */
#include "test.h"
#include "hawk/base/parallel.h"
#include "hawk/graph/pointers.h"
#include "synthetic_graph.h"
#include "sweep_world.h"

enum { HEAPS = 500 };

/* Checks one block: the same edges in the same order. */
static void expect_block_edges(const struct graph_world *world, uint32_t block)
{
	const struct hawk_block *bytes = &world->blocks[block];
	uint32_t at = world->graph.offsets[block];

	for (uint64_t offset = 0; offset + 8 <= bytes->size; offset += 8) {
		uint64_t value;
		uint32_t edge;

		memcpy(&value, world->heap->bytes + (bytes->start - SYNTHETIC_HEAP) + offset, 8);
		edge = graph_oracle_edge(world->blocks, world->count, value);
		if (edge == HAWK_BLOCK_NOWHERE)
			continue;
		assert_true(at < world->graph.offsets[block + 1]);
		assert_int_equal(world->graph.edges[at++], edge);
	}
	assert_int_equal(at, world->graph.offsets[block + 1]);
}

/* In the order of the address space: globals, then the live part of the stack. */
static void expect_roots(const struct graph_world *world)
{
	uint64_t sets[2] = {0};
	struct graph_oracle oracle;

	graph_oracle_make(world, &oracle);
	for (size_t i = 0; i < world->graph.roots.count; i++) {
		uint32_t edge = world->graph.roots.items[i].edge;

		sets[0] |= UINT64_C(1) << (edge >> 1);
		if (!(edge & HAWK_EDGE_INTERIOR))
			sets[1] |= UINT64_C(1) << (edge >> 1);
	}
	for (size_t i = 1; i < world->graph.roots.count; i++) {
		const struct hawk_root *before = &world->graph.roots.items[i - 1];
		const struct hawk_root *root = &world->graph.roots.items[i];

		assert_true(before->kind <= root->kind);
		if (before->kind == root->kind && before->owner == root->owner)
			assert_true(before->address < root->address);
		else if (before->kind == root->kind)
			assert_true(before->owner < root->owner);
	}
	assert_int_equal(sets[0], oracle.all_roots);
	assert_int_equal(sets[1], oracle.start_roots);
}

TEST(random_heaps_have_the_edges_and_roots_of_their_bytes)
{
	uint64_t seed = 42;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();

		graph_world_fill(world, &seed);
		graph_world_open(world, 1, SIZE_MAX);
		assert_int_equal(world->found.index.count, world->count);
		for (uint32_t block = 0; block < world->count; block++)
			expect_block_edges(world, block);
		expect_roots(world);
		assert_true(hawk_roots_complete(&world->graph.roots));
		graph_world_destroy(world);
	}
}

enum { LARGE_BYTES = 40000 }; /* more words than are looked up at a time */

/* Blocks of up to 700 bytes and a few large ones, one in four words a pointer. */
static struct synthetic_heap *large_heap(size_t bytes, uint32_t *count)
{
	struct synthetic_heap *heap = synthetic_heap_create(bytes);
	uint64_t seed = 7;

	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t word = synthetic_random(&seed);

		word = word & 3 ? word >> 60 : SYNTHETIC_HEAP + (word >> 8) % bytes;
		memcpy(heap->bytes + at, &word, 8);
	}
	*count = 0;
	for (uint64_t at = 16; at + LARGE_BYTES + 100 < bytes; (*count)++) {
		uint64_t size = *count % 1000 == 999 ? LARGE_BYTES : synthetic_random(&seed) % 700;

		synthetic_heap_add_block(
			heap, (struct synthetic_block){.start = SYNTHETIC_HEAP + at, .size = size});
		at += ((size + 15) & ~UINT64_C(15)) + 16;
	}
	return heap;
}

/** A large heap in a core, and what was found in it. */
struct large_core {
	struct synthetic_heap *heap;
	char *path;
	struct hawk_target *target;
	struct hawk_heap found;
};

static void open_large(struct large_core *core, size_t bytes)
{
	struct hawk_sweep_plan plan = {.trace_count = 1, .birth_max = 1};
	uint32_t count;

	*core = (struct large_core){.heap = large_heap(bytes, &count)};
	plan.key = core->heap->table->header.key;
	core->path = synthetic_heap_write(core->heap);
	check(hawk_target_open_core(core->path, NULL, &core->target));
	core->found.target = core->target;
	sweep_world_index(&core->found, &plan);
	assert_int_equal(core->found.index.count, count);
}

static void close_large(struct large_core *core)
{
	hawk_heap_spans_deinit(&core->found.spans);
	hawk_block_index_deinit(&core->found.index);
	hawk_target_close(core->target);
	synthetic_heap_destroy(core->heap);
	synthetic_core_remove(core->path);
}

TEST(the_graph_is_the_same_with_any_number_of_threads)
{
	static const unsigned threads[] = {1, 2, 3, 4, 16, 1000};
	struct hawk_graph first = {0};
	struct large_core core;
	size_t count;

	open_large(&core, 8 << 20);
	count = core.found.index.count;
	for (unsigned i = 0; i < COUNT_OF(threads); i++) {
		struct hawk_graph graph;

		hawk_parallel_set_threads(threads[i]);
		check(hawk_graph_read_edges(&core.found, &graph));
		assert_true(graph.edge_count > count);
		if (!i) {
			first = graph;
			continue;
		}
		assert_int_equal(graph.edge_count, first.edge_count);
		assert_memory_equal(graph.offsets, first.offsets, 4 * (count + 1));
		assert_memory_equal(graph.edges, first.edges, 4 * (size_t)graph.edge_count);
		hawk_graph_deinit(&graph);
	}
	hawk_graph_deinit(&first);
	close_large(&core);
}

/** Pointers in the order in which they were told. */
struct told {
	struct hawk_pointer *items;
	size_t count;
};

static struct hawk_error *take_told(void *context, const struct hawk_pointer *pointers,
				    size_t count)
{
	struct told *told = context;

	told->items = realloc(told->items, (told->count + count) * sizeof(*told->items));
	assert_non_null(told->items);
	memcpy(told->items + told->count, pointers, count * sizeof(*pointers));
	told->count += count;
	return NULL;
}

TEST(pointers_are_told_in_the_order_of_the_edges)
{
	struct large_core core;
	struct hawk_graph graph;
	struct told told = {0};

	open_large(&core, 4 << 20);
	check(hawk_graph_read_edges(&core.found, &graph));
	check(hawk_pointers_read(&graph, 0, core.found.index.count, NULL, take_told, &told));
	assert_int_equal(told.count, graph.edge_count);
	for (uint32_t i = 0; i < graph.edge_count; i++) {
		uint32_t source = told.items[i].source;

		assert_int_equal(told.items[i].edge, graph.edges[i]);
		assert_in_range(i, graph.offsets[source], graph.offsets[source + 1] - 1);
	}
	free(told.items);
	hawk_graph_deinit(&graph);
	close_large(&core);
}

enum { SOURCE_BLOCKS = 3000, SOURCE_LOOKS = 200000 };

/* Runs of blocks without pointers, and single ones with many. */
TEST(the_block_of_an_edge_is_found_from_any_below)
{
	static uint32_t offsets[SOURCE_BLOCKS + 1];
	static uint32_t sources[16 * SOURCE_BLOCKS];
	struct hawk_graph graph = {.count = SOURCE_BLOCKS, .offsets = offsets};
	uint64_t seed = 8;

	for (uint32_t block = 0; block < SOURCE_BLOCKS; block++) {
		uint32_t some = (uint32_t)synthetic_random(&seed) % 3;

		if (block / 500 % 2)
			some = block % 250 ? 0 : 3000;
		for (uint32_t i = 0; i < some; i++)
			sources[offsets[block] + i] = block;
		offsets[block + 1] = offsets[block] + some;
	}
	graph.edge_count = offsets[SOURCE_BLOCKS];
	for (unsigned i = 0; i < SOURCE_LOOKS; i++) {
		uint32_t edge = (uint32_t)synthetic_random(&seed) % graph.edge_count;
		uint32_t back = (uint32_t)synthetic_random(&seed) % (sources[edge] + 1);

		assert_int_equal(hawk_graph_source(&graph, edge, sources[edge] - back),
				 sources[edge]);
		if (back > 20) /* near, too */
			assert_int_equal(hawk_graph_source(&graph, edge, sources[edge] - back % 20),
					 sources[edge]);
	}
}

TEST(interior_edges_are_found_one_after_the_other)
{
	static uint32_t edges[10000];
	struct hawk_graph graph = {.edges = edges, .edge_count = 10000};
	uint64_t seed = 8;

	for (uint32_t i = 0; i < graph.edge_count; i++) {
		unsigned often = i / 1000 % 2 ? 300 : 3;

		edges[i] = (uint32_t)(synthetic_random(&seed) % 1000) << 1 |
			   !(synthetic_random(&seed) % often);
	}
	for (uint32_t i = 0; i <= graph.edge_count; i++) {
		uint32_t next = i;

		while (next < graph.edge_count && !(edges[next] & HAWK_EDGE_INTERIOR))
			next++;
		assert_int_equal(hawk_graph_next_interior(&graph, i), next);
	}
}

static bool found(const struct graph_world *world, const char *key)
{
	for (size_t i = 0; i < world->findings.count; i++)
		if (!strcmp(world->findings.items[i].key, key))
			return world->findings.items[i].partial;
	return false;
}

/* Every stage works on what is left, and says that something is missing. */
TEST(truncated_cores_give_the_graph_of_what_is_left)
{
	uint64_t seed = 99;
	uint32_t fewest = UINT32_MAX;

	for (unsigned i = 0; i < 160; i++) {
		struct graph_world *world = graph_world_create();
		struct hawk_reach reach;
		struct hawk_dominators dominators;
		size_t cut;

		graph_world_fill(world, &seed);
		cut = (GRAPH_HEAP_BYTES + GRAPH_STACK_BYTES) * (size_t)(i % 16 + 1) / 17 + 1024;
		graph_world_open(world, 2, cut);
		if (cut < world->core_size + 1 && cut < GRAPH_HEAP_BYTES)
			assert_false(hawk_roots_complete(&world->graph.roots));
		if (!hawk_roots_complete(&world->graph.roots))
			assert_true(found(world, "roots-missing") || found(world, "stack-missing"));
		check(hawk_reach_make(&world->graph, NULL, &reach));
		check(hawk_dominators_make(&world->graph, &reach, &dominators));
		assert_int_equal(dominators.count, world->found.index.count);
		if (world->found.index.count < fewest)
			fewest = world->found.index.count;
		hawk_dominators_deinit(&dominators);
		hawk_reach_deinit(&reach);
		graph_world_destroy(world);
	}
	assert_true(fewest < 4);
}
