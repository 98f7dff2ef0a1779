/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The site graph in shares: two folds made one against one fold of everything, and large heaps with
 * one thread against several.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_block_choice.h"
#include "hawk_block_graph.h"
#include "site_graph_fold.h"
#include "synthetic_heap.h"

enum { BLOCKS = 24, TRACES = 6, SITES = 4, ROUNDS = 400 };

/** Blocks without bytes. The last two traces have no site. */
struct world {
	uint32_t sizes[BLOCKS];
	uint32_t traces[BLOCKS];
	uint32_t site_of_trace[TRACES];
	struct hawk_site sites[SITES];
	struct hawk_heap heap;
	struct hawk_block_graph graph;
};

static void make_world(struct world *world, uint64_t *seed)
{
	*world = (struct world){
		.site_of_trace = {0, 1, 2, 3, UINT32_MAX, UINT32_MAX},
	};
	for (unsigned i = 0; i < BLOCKS; i++) {
		world->sizes[i] = synthetic_random(seed) % 100;
		world->traces[i] = synthetic_random(seed) % (TRACES + 1);
	}
	world->heap = (struct hawk_heap){
		.sites = world->sites,
		.site_count = SITES,
		.site_of_trace = world->site_of_trace,
		.trace_count = TRACES,
		.lost_site = UINT32_MAX,
	};
	world->graph = (struct hawk_block_graph){
		.heap = &world->heap,
		.index = {.count = BLOCKS, .sizes = world->sizes, .traces = world->traces},
	};
}

/* Few targets and offsets, some of which are not told: most (place, target) pairs come again. */
static void add_random(struct hawk_site_fold *whole, struct hawk_site_fold *share, uint32_t first,
		       uint32_t end, uint64_t *seed)
{
	for (uint32_t block = first; block < end; block++) {
		uint64_t offset = 0;

		for (unsigned i = synthetic_random(seed) % 12; i; i--) {
			struct hawk_pointer pointer;

			offset += synthetic_random(seed) % 8 ? 8 : HAWK_SITE_PLACE_BYTES_MAX;
			pointer = (struct hawk_pointer){
				.offset = offset,
				.source = block,
				.edge = (uint32_t)(synthetic_random(seed) % 10),
			};
			assert_null(hawk_site_fold_add(whole, &pointer, 1));
			assert_null(hawk_site_fold_add(share, &pointer, 1));
		}
	}
}

static void expect_same_counts(const struct hawk_site_counts *a, const struct hawk_site_counts *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

static void expect_same_fold(struct hawk_site_fold *fold, const struct hawk_site_fold *expected)
{
	assert_int_equal(fold->place_count, expected->place_count);
	assert_int_equal(fold->edge_count, expected->edge_count);
	for (size_t i = 0; i < expected->place_count; i++) {
		const struct hawk_fold_place *place = &expected->places[i];
		const struct hawk_fold_edge *edge = &expected->edges[place->edge];
		const struct hawk_fold_edge *other;
		uint32_t number;

		assert_null(hawk_site_fold_place(fold, place->source, place->target, place->offset,
						 &number));
		assert_true(number < expected->place_count);
		expect_same_counts(&fold->places[number].counts, &place->counts);
		other = &fold->edges[fold->places[number].edge];
		assert_int_equal(other->source, edge->source);
		assert_int_equal(other->target, edge->target);
		assert_int_equal(other->place_count, edge->place_count);
		assert_int_equal(other->anywhere, edge->anywhere);
		expect_same_counts(&other->counts, &edge->counts);
	}
}

static void two_folds_made_one_count_as_one_of_everything(void **state)
{
	uint64_t seed = 3;
	uint64_t further = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t cut = (uint32_t)(synthetic_random(&seed) % (BLOCKS + 1));
		struct hawk_site_fold folds[3];
		struct world world;

		make_world(&world, &seed);
		for (unsigned i = 0; i < 3; i++)
			assert_null(hawk_site_fold_init(&folds[i], &world.graph, NULL));
		add_random(&folds[0], &folds[1], 0, cut, &seed);
		add_random(&folds[0], &folds[2], cut, BLOCKS, &seed);
		further += folds[1].further_edges.count && folds[2].further_edges.count;
		assert_null(hawk_site_fold_merge(&folds[1], &folds[2]));
		for (unsigned i = 0; i < 10; i++) {
			uint32_t kind = (uint32_t)(synthetic_random(&seed) % 3);
			uint32_t edge = (uint32_t)(synthetic_random(&seed) % BLOCKS);

			assert_null(hawk_site_fold_add_root(&folds[0], kind, edge));
			assert_null(hawk_site_fold_add_root(&folds[1], kind, edge));
		}
		hawk_site_fold_sum(&folds[0]);
		hawk_site_fold_sum(&folds[1]);
		expect_same_fold(&folds[1], &folds[0]);
		for (unsigned i = 0; i < 3; i++)
			hawk_site_fold_deinit(&folds[i]);
	}
	assert_true(further > ROUNDS / 4);
}

enum { HEAP_BYTES = 3 << 20, HEAP_SITES = 300 };

/* More than one share, pointers to anywhere. */
static struct synthetic_heap *large_heap(uint64_t seed)
{
	struct synthetic_heap *heap = synthetic_heap_create(HEAP_BYTES);

	for (size_t at = 0; at + 8 <= HEAP_BYTES; at += 8) {
		uint64_t word = synthetic_random(&seed);

		/* Some targets are wanted by many. */
		word = word & 1   ? word >> 60
		       : word & 6 ? SYNTHETIC_HEAP + (word >> 8) % HEAP_BYTES
				  : SYNTHETIC_HEAP + (word >> 8) % 4096;
		memcpy(heap->bytes + at, &word, 8);
	}
	for (uint64_t at = 16; at + 200 < HEAP_BYTES;) {
		uint64_t size = synthetic_random(&seed) % 100;

		synthetic_heap_add_block(heap,
					 (struct synthetic_block){
						 .start = SYNTHETIC_HEAP + at,
						 .size = size,
						 .trace = synthetic_random(&seed) % HEAP_SITES,
					 });
		at += ((size + 15) & ~UINT64_C(15)) + 16;
	}
	return heap;
}

enum making { ALONE, BESIDE, CHOSEN };

/* Two of three blocks. */
static struct hawk_error *passes(const void *context, const struct hawk_block *block, bool *ret)
{
	(void)context;
	*ret = block->size % 3 != 0;
	return NULL;
}

static struct hawk_error *make_chosen(struct hawk_block_graph *graph, struct hawk_site_graph *ret)
{
	const struct hawk_choice_wish wish = {.filter = passes};
	struct hawk_block_choice choice;
	struct hawk_error *err = hawk_block_choice_make(graph, &wish, &choice);

	if (err)
		return err;
	err = hawk_site_graph_make_of(graph, choice.blocks, ret);
	hawk_block_choice_deinit(&choice);
	return err;
}

static void make_sites(struct hawk_target *target, struct hawk_heap *heap, unsigned threads,
		       enum making making, struct hawk_site_graph *ret)
{
	struct hawk_block_graph graph = {.target = target, .heap = heap, .threads = threads};
	struct hawk_sweep_result result;

	assert_null(hawk_block_index_sweep(&graph.index, target, &heap->plan, 1, NULL, &result));
	graph.parts = HAWK_PART_INDEX;
	if (making == BESIDE)
		assert_null(hawk_site_graph_make_beside(&graph, HAWK_PART_RETAINED, ret));
	else if (making == CHOSEN)
		assert_null(make_chosen(&graph, ret));
	else
		assert_null(hawk_site_graph_make(&graph, ret));
	hawk_block_graph_deinit(&graph);
}

static void expect_same(const struct hawk_site_graph *graph, const struct hawk_site_graph *other)
{
	assert_int_equal(graph->edge_count, other->edge_count);
	assert_int_equal(graph->place_count, other->place_count);
	assert_memory_equal(graph->edges, other->edges, other->edge_count * sizeof(*other->edges));
	assert_memory_equal(graph->places, other->places,
			    other->place_count * sizeof(*other->places));
}

static void the_site_graph_is_the_same_with_any_number_of_threads(void **state)
{
	static struct hawk_site sites[HEAP_SITES];
	static uint32_t site_of_trace[HEAP_SITES];
	struct synthetic_heap *built = large_heap(5);
	struct hawk_heap heap = {
		.plan = {.key = built->table->header.key,
			 .trace_count = HEAP_SITES,
			 .birth_max = 1},
		.sites = sites,
		.site_count = HEAP_SITES,
		.site_of_trace = site_of_trace,
		.trace_count = HEAP_SITES,
		.lost_site = UINT32_MAX,
	};
	char *path = synthetic_heap_write(built);
	struct hawk_target *target;
	struct hawk_site_graph first, graph;

	(void)state;
	for (uint32_t i = 0; i < HEAP_SITES; i++)
		site_of_trace[i] = i;
	assert_null(hawk_target_open_core(path, NULL, &target));
	make_sites(target, &heap, 1, ALONE, &first);
	assert_true(first.edge_count > HEAP_SITES);
	for (unsigned i = 1; i < 6; i++) {
		make_sites(target, &heap, 1 + i / 2, i % 2 ? BESIDE : ALONE, &graph);
		expect_same(&graph, &first);
		hawk_site_graph_deinit(&graph);
	}
	hawk_site_graph_deinit(&first);
	make_sites(target, &heap, 1, CHOSEN, &first);
	assert_true(first.edge_count > HEAP_SITES);
	for (unsigned threads = 2; threads < 4; threads++) {
		make_sites(target, &heap, threads, CHOSEN, &graph);
		expect_same(&graph, &first);
		hawk_site_graph_deinit(&graph);
	}
	hawk_site_graph_deinit(&first);
	hawk_target_close(target);
	synthetic_heap_destroy(built);
	synthetic_core_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_folds_made_one_count_as_one_of_everything),
		cmocka_unit_test(the_site_graph_is_the_same_with_any_number_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
