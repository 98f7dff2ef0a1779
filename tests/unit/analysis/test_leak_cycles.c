/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cycles of lost blocks, against closures of random heaps, and in heaps drawn by hand.
 */
#include "test.h"
#include "hawk/analysis/leak_cycles.h"
#include "synthetic_leaks.h"

enum { HEAPS = 500, SITES = GRAPH_TRACES };

struct cycles_world {
	struct graph_world *world;
	struct hawk_heap heap;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[GRAPH_TRACES];
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_leak_cycles cycles;
};

static void open_world(struct cycles_world *cycles)
{
	struct graph_world *world = cycles->world;

	graph_world_open(world, 1, SIZE_MAX);
	for (unsigned i = 0; i < GRAPH_TRACES; i++) {
		cycles->site_of_trace[i] = i;
		cycles->sites[i].id = 1000 + i;
	}
	cycles->heap = world->found;
	cycles->heap.sites = cycles->sites;
	cycles->heap.site_count = SITES;
	cycles->heap.site_of_trace = cycles->site_of_trace;
	cycles->heap.lost_site = UINT32_MAX;
	cycles->graph = world->graph;
	cycles->graph.heap = &cycles->heap;
	check(hawk_reach_make(&cycles->graph, NULL, &cycles->reach));
	check(hawk_leak_cycles_find(&cycles->graph, &cycles->reach, NULL, &cycles->cycles));
}

static void close_world(struct cycles_world *cycles)
{
	hawk_reach_deinit(&cycles->reach);
	graph_world_destroy(cycles->world);
}

/* Returns a bit for each block that `from` points to, itself left out unless `self`. */
static uint64_t targets_of(const struct hawk_graph *graph, uint32_t from, bool self)
{
	uint64_t targets = 0;

	for (uint32_t i = graph->offsets[from]; i < graph->offsets[from + 1]; i++) {
		uint32_t edge = graph->edges[i];

		if (edge >> 1 != from || (self && !(edge & HAWK_EDGE_INTERIOR)))
			targets |= UINT64_C(1) << (edge >> 1);
	}
	return targets;
}

/* Returns a bit for each block that `from` leads to over at least one pointer. */
static uint64_t closure(const struct hawk_graph *graph, uint32_t from)
{
	uint64_t met = targets_of(graph, from, false), before = 0;

	while (met != before) {
		before = met;
		for (uint32_t i = 0; i < graph->count; i++)
			if (before >> i & 1)
				met |= targets_of(graph, i, false);
	}
	return met;
}

/* Returns the length of the shortest cycle through `head`. */
static uint32_t shortest(const struct hawk_graph *graph, uint32_t head)
{
	uint64_t met = targets_of(graph, head, false);
	uint32_t length = 1;

	for (; !(met >> head & 1) && length <= graph->count; length++) {
		uint64_t next = met;

		for (uint32_t i = 0; i < graph->count; i++)
			if (met >> i & 1)
				next |= targets_of(graph, i, false);
		met = next;
	}
	return length;
}

static void expect_shape(const struct cycles_world *world, const struct hawk_leak_cycle *cycle)
{
	uint32_t head = cycle->steps[0].block, blocks = 0;

	for (uint32_t i = 0; i < cycle->step_count; i++) {
		assert_int_equal(world->reach.kinds[cycle->steps[i].block] > HAWK_REACH_POSSIBLY,
				 true);
		blocks += cycle->steps[i].blocks;
	}
	assert_int_equal(blocks, cycle->cut_off ? blocks : cycle->length);
	if (cycle->length > 1)
		assert_int_equal(cycle->length, shortest(&world->graph, head));
	else
		assert_true(targets_of(&world->graph, head, true) >> head & 1);
	assert_true(cycle->freed.objects <= cycle->lost.objects);
}

TEST(cycles_of_random_heaps_are_their_components)
{
	uint64_t seed = 99;
	unsigned found = 0;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct cycles_world cycles = {.world = graph_world_create()};
		uint64_t wanted = 0, counted = 0;

		graph_world_fill(cycles.world, &seed);
		open_world(&cycles);
		for (uint32_t block = 0; block < cycles.graph.count; block++)
			if (cycles.reach.kinds[block] == HAWK_REACH_DEFINITELY_LOST)
				wanted += (closure(&cycles.graph, block) |
					   targets_of(&cycles.graph, block, true)) >>
						  block &
					  1;
		for (size_t j = 0; j < cycles.cycles.count; j++) {
			counted += cycles.cycles.items[j].cycles;
			expect_shape(&cycles, &cycles.cycles.items[j]);
		}
		assert_int_equal(counted + cycles.cycles.unlisted, wanted);
		found += wanted > 0;
		close_world(&cycles);
	}
	assert_true(found > HEAPS / 8);
}

/* Adds an owner, which points to its part and to a buffer; the part points to a handler, and the
 * handler to the owner. */
static uint32_t add_ring(struct graph_world *world)
{
	uint32_t owner = graph_world_add(world, 96, 0, 1);
	uint32_t part = graph_world_add(world, 64, 0, 2);
	uint32_t handler = graph_world_add(world, 40, 0, 3);
	uint32_t buffer = graph_world_add(world, 24, 0, 4);

	graph_world_point(world, owner, 72, part, 0);
	graph_world_point(world, owner, 8, buffer, 0);
	graph_world_point(world, owner, 32, owner, 0);
	graph_world_point(world, part, 16, handler, 0);
	graph_world_point(world, handler, 24, owner, 16);
	return owner;
}

TEST(equal_cycles_are_one_shape_with_the_way_round)
{
	struct cycles_world cycles = {.world = graph_world_create()};
	const struct hawk_leak_cycle *cycle = cycles.cycles.items;
	static const uint64_t offsets[] = {72, 16, 24};
	uint32_t owner = add_ring(cycles.world);

	add_ring(cycles.world);
	open_world(&cycles);
	assert_int_equal(cycles.cycles.count, 1);
	assert_int_equal(cycle->cycles, 2);
	assert_int_equal(cycle->length, 3);
	assert_int_equal(cycle->lost.objects, 8);
	assert_int_equal(cycle->step_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(cycle->steps[i].block, owner + i);
		assert_int_equal(cycle->steps[i].offset, offsets[i]);
	}
	/* Each pointer frees all; the last one leads back to the owner. */
	assert_int_equal(cycle->cut, 2);
	assert_true(cycle->frees_all);
	assert_int_equal(cycle->freed.objects, 4);
	close_world(&cycles);
}

TEST(the_pointer_to_cut_frees_most)
{
	struct cycles_world cycles = {.world = graph_world_create()};
	const struct hawk_leak_cycle *cycle = cycles.cycles.items;
	uint32_t owner = add_ring(cycles.world);

	graph_world_point(cycles.world, owner + 2, 0, owner + 1, 0); /* handler to part */
	open_world(&cycles);
	assert_int_equal(cycle->length, 3);
	/* Without the part's pointer the handler goes, then the owner and the part. */
	assert_int_equal(cycle->cut, 1);
	assert_true(cycle->frees_all);
	close_world(&cycles);
}

TEST(a_ring_of_one_site_is_one_step)
{
	struct cycles_world cycles = {.world = graph_world_create()};
	const struct hawk_leak_cycle *cycle = cycles.cycles.items;
	uint32_t first = graph_world_add(cycles.world, 32, 0, 1);

	for (uint32_t i = 1; i < 20; i++) {
		graph_world_add(cycles.world, 32, 0, 1);
		graph_world_point(cycles.world, first + i - 1, 8, first + i, 0);
	}
	graph_world_point(cycles.world, first + 19, 8, first, 0);
	open_world(&cycles);
	assert_int_equal(cycles.cycles.count, 1);
	assert_int_equal(cycle->length, 20);
	assert_int_equal(cycle->step_count, 1);
	assert_int_equal(cycle->steps[0].blocks, 20);
	assert_int_equal(cycle->steps[0].offset, 8);
	assert_int_equal(cycle->steps[0].leaders, 1);
	close_world(&cycles);
}
