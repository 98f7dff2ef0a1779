/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loss records of heaps that are large enough to be shared out to threads, against one block and
 * one pointer after the other; with filters and without, with pools and without.
 */
#include "hawk/base/parallel.h"
#include "test.h"
#include "hawk/analysis/leaks.h"
#include "sweep_world.h"

enum {
	HEAPS = 24,
	HEAP_BYTES = 1 << 20,
	TRACES = 8,
	SITES = 2,
	ROOTS = 300,
	SLOTS = (SITES + 1) * HAWK_REACH_KINDS,
	ALL_KINDS = (1u << HAWK_REACH_KINDS) - 1,
	POOL_BYTES = 512,
};

struct threads_world {
	struct sweep_core core;
	struct hawk_findings findings;
	struct hawk_heap heap;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[TRACES];
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_root roots[ROOTS];
	uint64_t seed;
};

static uint64_t random_below(struct threads_world *world, uint64_t limit)
{
	return synthetic_random(&world->seed) % limit;
}

/* Blocks in a row, every fourth one a pool if there are `pools`, and words that mostly point to one
 * of them. */
static void fill_heap(struct threads_world *world, bool pools)
{
	struct synthetic_heap *heap = world->core.heap;
	uint64_t starts[HEAP_BYTES / 32];
	size_t count = 0;

	for (uint64_t at = 32; at + 2 * POOL_BYTES < HEAP_BYTES; count++) {
		bool pool = pools && !random_below(world, 4);
		uint64_t size = pool ? POOL_BYTES : random_below(world, 100);

		starts[count] = at;
		for (uint64_t i = 0; i + 8 <= size; i += 8) {
			uint64_t to = starts[random_below(world, count + 1)];
			uint64_t word = random_below(world, 3) ? 0 : SYNTHETIC_HEAP + to;

			word += word && !random_below(world, 4) ? 8 : 0;
			memcpy(heap->bytes + at + i, &word, sizeof(word));
		}
		for (uint64_t i = 0; i < (pool ? 4 : 1); i++)
			synthetic_heap_add_block(
				heap, (struct synthetic_block){
					      .start = SYNTHETIC_HEAP + at + 112 * i,
					      .size = i ? 40 : size,
					      .trace = (uint32_t)random_below(world, TRACES),
					      .kind = i ? HAWK_KIND_POOL : 0,
					      .birth = (uint8_t)(i + random_below(world, 20)),
				      });
		at += 16 + (size + 15) / 16 * 16;
	}
}

/* With the heap that is there. */
static void open_filled(struct threads_world *world, uint64_t seed)
{
	struct hawk_block_index *index = &world->heap.index;
	struct hawk_sweep_result result;

	sweep_core_open(&world->core);
	for (unsigned i = 0; i < TRACES; i++)
		world->site_of_trace[i] = i % (SITES + 1);
	for (unsigned i = 0; i < SITES; i++)
		world->sites[i].id = 1000 + i;
	world->heap = (struct hawk_heap){
		.target = world->core.target,
		.sites = world->sites,
		.site_count = SITES,
		.site_of_trace = world->site_of_trace,
		.trace_count = TRACES,
		.lost_site = UINT32_MAX,
		.discarded_heaps = seed % 4 == 0,
	};
	check(hawk_block_index_sweep(index, world->core.target, &world->core.plan, 1,
				     &world->findings, &result));
	for (unsigned i = 0; i < ROOTS; i++)
		world->roots[i] = (struct hawk_root){
			.edge = (uint32_t)random_below(world, 2ull * index->count),
			.kind = random_below(world, HAWK_ROOT_KINDS) & 15,
		};
	check(hawk_graph_read_edges(&world->heap, &world->graph));
	world->graph.roots.items = world->roots;
	world->graph.roots.count = ROOTS;
	check(hawk_heuristics_find(&world->graph, HAWK_HEURISTICS_ALL, NULL,
				   &world->graph.explained));
	check(hawk_reach_make(&world->graph, HAWK_EDGES_ALL, &world->graph.explained,
			      &world->reach));
}

static void open_world(struct threads_world *world, uint64_t seed, bool pools)
{
	*world = (struct threads_world){.seed = seed};
	world->core.heap = synthetic_heap_create(HEAP_BYTES);
	fill_heap(world, pools);
	open_filled(world, seed);
	assert_true(world->heap.index.count / 256 > SLOTS);
	assert_int_equal(!world->heap.index.part_count, !pools);
}

static void close_world(struct threads_world *world)
{
	world->graph.roots = (struct hawk_roots){0};
	hawk_reach_deinit(&world->reach);
	hawk_graph_deinit(&world->graph);
	hawk_block_index_deinit(&world->heap.index);
	hawk_findings_deinit(&world->findings);
	sweep_core_close(&world->core);
}

/** What one block and one pointer after the other come to. */
struct truth {
	const struct hawk_reach *reach;
	struct hawk_leak_record records[SLOTS]; /**< by site (the last: none) and kind */
	struct hawk_chosen sums[HAWK_REACH_KINDS];
	bool *recorded;
	bool *pointed;
};

static struct hawk_leak_record *record_of(struct truth *truth, const struct hawk_graph *graph,
					  uint32_t block)
{
	uint32_t site = hawk_heap_site_at(graph->heap, block);

	return &truth->records[(site < SITES ? site : SITES) * HAWK_REACH_KINDS +
			       hawk_leaks_kind(graph, truth->reach, block)];
}

static void take_block(struct truth *truth, const struct hawk_graph *graph, uint32_t number)
{
	struct hawk_leak_record *record = record_of(truth, graph, number);
	uint64_t birth;
	struct hawk_block block;

	assert_true(hawk_heap_block(graph->heap, number, &block));
	birth = hawk_birth_decode(block.birth);
	if (!record->has_birth || birth < record->oldest_units) {
		record->example = number;
		record->oldest_units = birth;
	}
	record->has_birth = truth->recorded[number] = true;
	record->objects += hawk_block_index_counts(&graph->heap->index, number);
	record->bytes += hawk_block_index_left_bytes(&graph->heap->index, number);
}

static void take_pointer(struct truth *truth, const struct hawk_graph *graph, uint32_t edge,
			 unsigned from, bool explained)
{
	struct hawk_leak_record *record = record_of(truth, graph, edge >> 1);

	if (edge & 1)
		record->pointers[from].interior++;
	else
		record->pointers[from].start++;
	record->explained += explained;
	record->pointed_objects += !truth->pointed[edge >> 1];
	truth->pointed[edge >> 1] = true;
}

/* Of all parts of the block that `whole` stands for. */
static void take_source(struct truth *truth, const struct hawk_graph *graph, uint32_t whole)
{
	bool seen[SLOTS] = {false};

	for (uint32_t part = whole; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(&graph->heap->index, part))
		for (uint32_t i = graph->offsets[part]; i < graph->offsets[part + 1]; i++) {
			uint32_t edge = graph->edges[i];

			if (!truth->recorded[edge >> 1] ||
			    hawk_block_index_same(&graph->heap->index, whole, edge >> 1))
				continue;
			seen[record_of(truth, graph, edge >> 1) - truth->records] = true;
			take_pointer(truth, graph, edge,
				     HAWK_LEAK_FROM_BLOCKS + truth->reach->kinds[part],
				     hawk_explained_edge(&graph->explained, i));
		}
	for (unsigned i = 0; i < SLOTS; i++)
		truth->records[i].source_blocks += seen[i];
}

static void take_all(struct truth *truth, const struct hawk_graph *graph, unsigned kinds,
		     const uint64_t *chosen)
{
	for (uint32_t i = 0; i < graph->heap->index.count; i++) {
		enum hawk_reach_kind kind = hawk_leaks_kind(graph, truth->reach, i);

		if (!hawk_block_is_chosen(chosen, i))
			continue;
		hawk_chosen_add(&truth->sums[kind], &graph->heap->index, i);
		if (kinds >> kind & 1)
			take_block(truth, graph, i);
	}
	for (uint32_t i = 0; i < graph->roots.count; i++) {
		uint32_t edge = graph->roots.items[i].edge;

		if (truth->recorded[edge >> 1])
			take_pointer(truth, graph, edge, graph->roots.items[i].kind,
				     hawk_explained_root(&graph->explained, i));
	}
	for (uint32_t i = 0; i < graph->heap->index.count; i++)
		if (hawk_block_index_whole(&graph->heap->index, i) == i)
			take_source(truth, graph, i);
}

static void expect_record(const struct hawk_leak_record *record,
			  const struct hawk_leak_record *expected)
{
	assert_int_equal(record->objects, expected->objects);
	assert_int_equal(record->bytes, expected->bytes);
	assert_int_equal(record->example, expected->example);
	assert_int_equal(record->has_birth, expected->has_birth);
	assert_int_equal(record->oldest_units, expected->oldest_units);
	assert_int_equal(record->pointed_objects, expected->pointed_objects);
	assert_int_equal(record->source_blocks, expected->source_blocks);
	assert_int_equal(record->explained, expected->explained);
	assert_memory_equal(record->pointers, expected->pointers, sizeof(record->pointers));
}

static void expect_leaks(const struct hawk_leaks *leaks, const struct truth *truth)
{
	size_t count = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		count += truth->records[i].has_birth;
	assert_int_equal(leaks->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct hawk_leak_record *record = &leaks->records[i];
		uint32_t site = record->site < SITES ? record->site : SITES;

		expect_record(record, &truth->records[site * HAWK_REACH_KINDS + record->kind]);
	}
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++) {
		assert_int_equal(leaks->sums[kind].objects, truth->sums[kind].objects);
		assert_int_equal(leaks->sums[kind].bytes, truth->sums[kind].bytes);
	}
}

static void expect_same_on_threads(struct threads_world *world, unsigned kinds,
				   const struct hawk_choice_wish *wish)
{
	struct hawk_graph *graph = &world->graph;
	uint64_t *chosen = NULL;
	struct truth truth = {
		.reach = &world->reach,
		.recorded = calloc(graph->heap->index.count, sizeof(bool)),
		.pointed = calloc(graph->heap->index.count, sizeof(bool)),
	};

	assert_true(truth.recorded && truth.pointed);
	if (wish)
		check(hawk_choice_bits_make(&world->heap, wish, false, &chosen));
	take_all(&truth, graph, kinds, chosen);
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct hawk_leaks leaks;

		hawk_parallel_set_threads(threads);
		check(hawk_leaks_make(graph, &graph->explained, &world->reach, kinds, chosen,
				      &leaks));
		expect_leaks(&leaks, &truth);
		hawk_leaks_deinit(&leaks);
	}
	free(chosen);
	free(truth.recorded);
	free(truth.pointed);
}

static struct hawk_error *passes(const void *context, const struct hawk_block *block, bool *ret)
{
	(void)context;
	*ret = block->start / 16 % 3 && block->size <= 80;
	return NULL;
}

TEST(records_are_those_of_one_block_and_pointer_after_the_other)
{
	for (uint64_t seed = 1; seed <= HEAPS; seed++) {
		uint64_t random = seed;
		struct hawk_choice_test test = {.size_low = 8, .size_high = 80};
		struct hawk_choice_wish wish = {.filter = passes, .test = &test};
		struct threads_world world;
		unsigned kinds = seed % 3 ? (unsigned)synthetic_random(&random) & ALL_KINDS
					  : (unsigned)ALL_KINDS;

		open_world(&world, seed, seed % 2);
		test.decides = test.births_matter = random_below(&world, 2);
		for (unsigned birth = 4; birth < 12; birth++)
			test.births[birth] = true;
		expect_same_on_threads(&world, kinds, NULL);
		expect_same_on_threads(&world, kinds, &wish);
		close_world(&world);
	}
}
