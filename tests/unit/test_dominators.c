/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators and retained sizes, and the leak kinds they are made of: thousands of small random
 * heaps against an oracle that deletes blocks and looks what is left.
 */
#include "test.h"
#include "synthetic_graph.h"

enum { HEAPS = 3000 };

/* Block 0 is the first; the set of blocks that `block` dominates, from the tree. */
static uint64_t dominated_by(const struct hawk_dominators *dominators, uint32_t block)
{
	uint64_t set = 0;

	for (uint32_t number = 1; number <= dominators->count; number++)
		for (uint32_t up = number; up; up = dominators->dominators[up])
			if (dominators->blocks[up] == block)
				set |= UINT64_C(1) << dominators->blocks[number];
	return set;
}

/* What the topmost blocks of each trace retain, by definition. */
static void expect_sums(const struct graph_world *world, const struct graph_oracle *oracle,
			const uint64_t *got, unsigned edges)
{
	uint64_t want[GRAPH_TRACES] = {0};

	for (uint32_t i = 0; i < world->count; i++) {
		bool topmost = true;

		for (uint32_t j = 0; j < world->count; j++)
			if (j != i && world->blocks[j].trace == world->blocks[i].trace &&
			    oracle->dominated[edges][j] >> i & 1)
				topmost = false;
		if (topmost)
			want[world->blocks[i].trace] += oracle->retained[edges][i];
	}
	for (unsigned i = 0; i < GRAPH_TRACES; i++)
		assert_int_equal(got[i], want[i]);
}

static void expect_groups(const struct graph_world *world, const struct graph_oracle *oracle,
			  const struct hawk_dominators *dominators, unsigned edges, uint64_t *sums)
{
	memset(sums, 0, GRAPH_TRACES * sizeof(*sums));
	check(hawk_dominators_retained_by_site(dominators, &world->found, NULL, sums));
	expect_sums(world, oracle, sums, edges);
}

static void expect_oracle(struct graph_world *world, const struct graph_oracle *oracle,
			  unsigned edges)
{
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	uint64_t objects = 0;
	uint64_t sums[GRAPH_TRACES];

	check(hawk_reach_make(&world->graph, (enum hawk_edges)edges, NULL, &reach));
	for (uint32_t i = 0; i < world->count; i++)
		assert_int_equal(reach.kinds[i], oracle->kinds[edges][i]);
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++)
		objects += reach.sums[kind].objects;
	assert_int_equal(objects, world->count);
	check(hawk_dominators_make(&world->graph, &reach, &dominators));
	assert_int_equal(dominators.count, world->count);
	expect_groups(world, oracle, &dominators, edges, sums);
	for (uint32_t i = 0; i < world->count; i++) {
		uint32_t number = dominators.numbers[i];

		assert_int_equal(dominators.blocks[number], i);
		assert_int_equal(dominated_by(&dominators, i), oracle->dominated[edges][i]);
		assert_int_equal(dominators.retained[number], oracle->retained[edges][i]);
		assert_int_equal(dominators.sizes[number],
				 __builtin_popcountll(oracle->dominated[edges][i]));
	}
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&reach);
}

TEST(random_heaps_agree_with_trying_everything)
{
	uint64_t seed = 4711;
	uint64_t kinds[HAWK_REACH_KINDS] = {0};

	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		graph_world_open(world, 1, SIZE_MAX);
		assert_int_equal(world->found.index.count, world->count);
		graph_oracle_make(world, &oracle);
		expect_oracle(world, &oracle, HAWK_EDGES_ALL);
		expect_oracle(world, &oracle, HAWK_EDGES_START_ONLY);
		for (uint32_t j = 0; j < world->count; j++)
			kinds[oracle.kinds[0][j]]++;
		graph_world_destroy(world);
	}
	/* The heaps are such that every kind is common. */
	for (unsigned kind = HAWK_REACH_REACHABLE; kind < HAWK_REACH_KINDS; kind++)
		assert_true(kinds[kind] > HEAPS);
}

TEST(an_empty_heap_has_no_dominators)
{
	struct graph_shape *shape = graph_shape_create(0, 0);

	graph_shape_finish(shape);
	assert_int_equal(shape->dominators.count, 0);
	assert_int_equal(shape->dominators.retained[0], 0);
	graph_shape_destroy(shape);
}
