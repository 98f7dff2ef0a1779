/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Retained bytes of blocks and sites of random heaps, both ways, against trying everything.
 */
#include "hawk/base/parallel.h"
#include "test.h"
#include "hawk/analysis/site_freed.h"
#include "synthetic_site_world.h"

enum { HEAPS = 300, MANY_SITES = 60 };

/* Returns the bytes freed with the chosen blocks of a site: all that one of them dominates. */
static uint64_t retained_by(const struct site_world *fixture, const struct graph_oracle *oracle,
			    uint32_t site, uint64_t chosen)
{
	uint64_t gone = 0;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < oracle->count; i++)
		if (chosen >> i & 1 && hawk_heap_site_at(fixture->graph.heap, i) == site)
			gone |= oracle->dominated[i];
	for (uint32_t i = 0; i < oracle->count; i++)
		if (gone >> i & 1)
			bytes += fixture->world->blocks[i].size;
	return bytes;
}

static void expect_retained(const struct site_world *fixture, const struct graph_oracle *oracle,
			    uint64_t chosen)
{
	uint64_t retained[SITE_WORLD_SITES] = {0}, all[SITE_WORLD_SITES] = {0};
	struct hawk_dominators dominators;

	check(hawk_dominators_make(&fixture->graph, &fixture->reach, &dominators));
	check(hawk_dominators_retained_by(
		&dominators, (struct hawk_block_groups[]){hawk_heap_groups(&fixture->heap)},
		&chosen, retained));
	check(hawk_dominators_retained_by(
		&dominators, (struct hawk_block_groups[]){hawk_heap_groups(&fixture->heap)}, NULL,
		all));
	for (uint32_t site = 0; site < SITE_WORLD_SITES; site++) {
		assert_int_equal(retained[site], retained_by(fixture, oracle, site, chosen));
		assert_int_equal(all[site], retained_by(fixture, oracle, site, UINT64_MAX));
	}
	for (uint32_t block = 0; block < fixture->heap.index.count; block++)
		assert_int_equal(hawk_dominators_retained(&dominators, block),
				 oracle->retained[block]);
	hawk_dominators_deinit(&dominators);
}

TEST(retained_bytes_of_blocks_and_sites_are_those_of_the_oracle)
{
	uint64_t seed = 12;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		uint64_t chosen = synthetic_random(&seed);
		struct site_world fixture;
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		site_world_open(&fixture, world);
		hawk_parallel_set_threads(1 + i % 2);
		graph_oracle_make(world, &oracle);
		expect_retained(&fixture, &oracle, chosen);
		site_world_close(&fixture);
	}
}

/* All that `from` leads to without passing a block of `without`. */
static uint64_t led_to(const struct graph_oracle *oracle, uint64_t from, uint64_t without)
{
	const uint64_t *targets = oracle->all;
	uint64_t met = from & ~without, before;

	do {
		before = met;
		for (uint32_t i = 0; i < oracle->count; i++)
			if (met >> i & 1)
				met |= targets[i] & ~without;
	} while (met != before);
	return met;
}

/* Returns the bytes freed with the site's chosen blocks: blocks that roots do not reach without
 * them, and lost blocks to which no other lost block leads. */
static uint64_t freed_with(const struct site_world *fixture, const struct graph_oracle *oracle,
			   uint32_t site, uint64_t chosen)
{
	uint64_t roots = oracle->all_roots, own = 0, bytes = 0;
	uint64_t reached = led_to(oracle, roots, 0), led, lost, freed;

	for (uint32_t i = 0; i < oracle->count; i++)
		if (chosen >> i & 1 && hawk_heap_site_at(fixture->graph.heap, i) == site)
			own |= UINT64_C(1) << i;
	led = led_to(oracle, own, 0);
	lost = ((UINT64_C(1) << oracle->count) - 1) & ~reached;
	freed = reached & ~led_to(oracle, roots, own);
	freed |= led & lost & ~led_to(oracle, lost & ~led, own);
	for (uint32_t i = 0; i < oracle->count; i++)
		if (freed >> i & 1)
			bytes += fixture->world->blocks[i].size;
	return bytes;
}

static bool has_holder(const struct graph_oracle *oracle, uint64_t among, uint32_t block)
{
	const uint64_t *targets = oracle->all;

	for (uint32_t i = 0; i < oracle->count; i++)
		if (among >> i & 1 && targets[i] >> block & 1)
			return true;
	return false;
}

/* Computes the same by subtraction from all blocks that the site's blocks lead to. Subtracts blocks
 * that roots still reach without them, and lost blocks with a lost holder that stays. */
static uint64_t left_over(const struct site_world *fixture, const struct graph_oracle *oracle,
			  uint32_t site, uint64_t chosen)
{
	uint64_t roots = oracle->all_roots, own = 0, bytes = 0;
	uint64_t lost = ((UINT64_C(1) << oracle->count) - 1) & ~led_to(oracle, roots, 0);
	uint64_t freed, before;

	for (uint32_t i = 0; i < oracle->count; i++)
		if (chosen >> i & 1 && hawk_heap_site_at(fixture->graph.heap, i) == site)
			own |= UINT64_C(1) << i;
	freed = led_to(oracle, own, 0) & ~led_to(oracle, roots, own);
	do {
		before = freed;
		for (uint32_t i = 0; i < oracle->count; i++)
			if ((freed & lost & ~own) >> i & 1 && has_holder(oracle, lost & ~freed, i))
				freed &= ~(UINT64_C(1) << i);
	} while (freed != before);
	for (uint32_t i = 0; i < oracle->count; i++)
		if (freed >> i & 1)
			bytes += fixture->world->blocks[i].size;
	return bytes;
}

TEST(what_is_freed_with_a_site_is_exact_and_no_less_than_what_its_blocks_dominate)
{
	uint32_t sites[MANY_SITES]; /* more than one flood is for; only the first have blocks */
	unsigned more = 0;
	uint64_t seed = 99;

	for (uint32_t i = 0; i < MANY_SITES; i++)
		sites[i] = (i + 1) * 7 % MANY_SITES;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		uint64_t chosen = i % 2 ? synthetic_random(&seed) : UINT64_MAX;
		uint64_t freed[MANY_SITES];
		struct site_world fixture;
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		site_world_open(&fixture, world);
		hawk_parallel_set_threads(1 + i % 3);
		graph_oracle_make(world, &oracle);
		fixture.heap.site_count = MANY_SITES;
		assert_null(hawk_site_freed(&fixture.graph, i % 2 ? &chosen : NULL, sites,
					    MANY_SITES, freed));
		fixture.heap.site_count = SITE_WORLD_SITES;
		for (unsigned j = 0; j < MANY_SITES; j++) {
			uint64_t least = retained_by(&fixture, &oracle, sites[j], chosen);

			assert_int_equal(freed[j], freed_with(&fixture, &oracle, sites[j], chosen));
			assert_int_equal(freed[j], left_over(&fixture, &oracle, sites[j], chosen));
			assert_true(freed[j] >= least);
			more += freed[j] > least;
		}
		site_world_close(&fixture);
	}
	assert_true(more > HEAPS / 10);
}

/* Of site 1: a kept block that holds another one, and a lost one that holds two. Lost blocks of
 * site 2 point to the first, and to one of the two. */
TEST(a_lost_holder_keeps_lost_blocks_and_no_others)
{
	struct graph_world *world = graph_world_create();
	const uint32_t site = SITE_WORLD_SITES - 1 - 1; /* as site_world_open() numbers them */
	uint64_t freed;
	struct site_world fixture;

	for (uint32_t i = 0; i < 7; i++)
		graph_world_add(world, UINT64_C(16) << i, 0,
				(const uint32_t[]){1, 3, 1, 3, 3, 2, 2}[i]);
	world->globals[0] = world->blocks[0].start;
	graph_world_point(world, 0, 0, 1, 0);
	graph_world_point(world, 2, 0, 3, 0);
	graph_world_point(world, 2, 8, 4, 0);
	graph_world_point(world, 5, 0, 1, 0);
	graph_world_point(world, 6, 0, 4, 0);
	site_world_open(&fixture, world);
	assert_null(hawk_site_freed(&fixture.graph, NULL, &site, 1, &freed));
	assert_int_equal(freed, 16 + 32 + 64 + 128);
	site_world_close(&fixture);
}
