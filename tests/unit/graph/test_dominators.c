/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators, retained sizes and their leak kinds. Thousands of small random heaps are compared
 * with an oracle that deletes blocks and sees which are left. Large heaps of shapes that break
 * other algorithms take linear time and a small stack. All results are equal with any number of
 * threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "test.h"
#include "hawk/base/parallel.h"
#include "synthetic_graph.h"

TEST(the_leader_of_a_lost_cycle_is_its_lowest_block)
{
	struct graph_world *world = graph_world_create();
	struct hawk_reach reach;

	for (unsigned i = 0; i < 5; i++)
		graph_world_add(world, 32, 0, 0);
	/* 2 -> 4 -> 1 -> 2 is the cycle, 3 -> 1 a block that leads into it, 2 -> 0 a part of it. */
	graph_world_point(world, 2, 0, 4, 0);
	graph_world_point(world, 4, 8, 1, 8);
	graph_world_point(world, 1, 0, 2, 0);
	graph_world_point(world, 2, 8, 0, 0);
	graph_world_open(world, 1, SIZE_MAX);
	check(hawk_reach_make(&world->graph, NULL, &reach));
	assert_int_equal(reach.kinds[0], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.kinds[1], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(reach.kinds[2], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.kinds[3], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(reach.kinds[4], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.sums[HAWK_REACH_INDIRECTLY_LOST].bytes, 96);
	hawk_reach_deinit(&reach);
	graph_world_destroy(world);
}

enum { HEAPS = 500 };

/* Returns the set of blocks that `block` dominates, from the tree; block 0 is bit 0. */
static uint64_t dominated_by(const struct hawk_dominators *dominators, uint32_t block)
{
	uint64_t set = 0;

	for (uint32_t number = 1; number <= dominators->count; number++)
		for (uint32_t up = number; up; up = dominators->dominators[up])
			if (dominators->blocks[up] == block)
				set |= UINT64_C(1) << dominators->blocks[number];
	return set;
}

/* Checks the bytes that the topmost blocks of each trace retain, by definition. */
static void expect_sums(const struct graph_world *world, const struct graph_oracle *oracle,
			const uint64_t *got)
{
	uint64_t want[GRAPH_TRACES] = {0};

	for (uint32_t i = 0; i < world->count; i++) {
		bool topmost = true;

		for (uint32_t j = 0; j < world->count; j++)
			if (j != i && world->blocks[j].trace == world->blocks[i].trace &&
			    oracle->dominated[j] >> i & 1)
				topmost = false;
		if (topmost)
			want[world->blocks[i].trace] += oracle->retained[i];
	}
	for (unsigned i = 0; i < GRAPH_TRACES; i++)
		assert_int_equal(got[i], want[i]);
}

static void expect_groups(const struct graph_world *world, const struct graph_oracle *oracle,
			  const struct hawk_dominators *dominators, uint64_t *sums)
{
	memset(sums, 0, GRAPH_TRACES * sizeof(*sums));
	check(hawk_dominators_retained_by(
		dominators, (struct hawk_block_groups[]){hawk_heap_groups(&world->found)}, NULL,
		sums));
	expect_sums(world, oracle, sums);
}

static void expect_oracle(struct graph_world *world, const struct graph_oracle *oracle)
{
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	uint64_t objects = 0;
	uint64_t sums[GRAPH_TRACES];

	check(hawk_reach_make(&world->graph, NULL, &reach));
	for (uint32_t i = 0; i < world->count; i++)
		assert_int_equal(reach.kinds[i], oracle->kinds[i]);
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++)
		objects += reach.sums[kind].objects;
	assert_int_equal(objects, world->count);
	check(hawk_dominators_make(&world->graph, &reach, &dominators));
	assert_int_equal(dominators.count, world->count);
	expect_groups(world, oracle, &dominators, sums);
	for (uint32_t i = 0; i < world->count; i++) {
		uint32_t number = dominators.numbers[i];

		assert_int_equal(dominators.blocks[number], i);
		assert_int_equal(dominated_by(&dominators, i), oracle->dominated[i]);
		assert_int_equal(dominators.retained[number], oracle->retained[i]);
		assert_int_equal(dominators.sizes[number],
				 __builtin_popcountll(oracle->dominated[i]));
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
		expect_oracle(world, &oracle);
		for (uint32_t j = 0; j < world->count; j++)
			kinds[oracle.kinds[j]]++;
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

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *run_finish(void *shape)
{
	double start = cpu_seconds();

	graph_shape_finish(shape);
	/* Some 0.2 s; anything quadratic takes hours. */
	return (void *)(uintptr_t)(cpu_seconds() - start < 20);
}

/* On a stack that no recursion over blocks would fit. */
static void finish_on_small_stack(struct graph_shape *shape)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *in_time;

	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
	assert_int_equal(pthread_create(&thread, &attributes, run_finish, shape), 0);
	assert_int_equal(pthread_join(thread, &in_time), 0);
	pthread_attr_destroy(&attributes);
	assert_non_null(in_time);
}

static uint32_t dominator_of(const struct graph_shape *shape, uint32_t block)
{
	const struct hawk_dominators *dominators = &shape->dominators;

	return dominators->blocks[dominators->dominators[dominators->numbers[block]]];
}

static uint64_t retained_by(const struct graph_shape *shape, uint32_t block)
{
	return shape->dominators.retained[shape->dominators.numbers[block]];
}

enum { MANY = 1000000 };

TEST(a_list_with_an_index_of_its_items_takes_linear_time)
{
	struct graph_shape *shape = graph_shape_create(MANY + 2, 2 * (uint64_t)MANY + 2);

	/* 0 -> index 1 -> all items; 0 -> the first item -> the second ... */
	graph_shape_root(shape, 0);
	graph_shape_edge(shape, 0, 2);
	graph_shape_edge(shape, 0, 1);
	for (uint32_t i = 0; i < MANY; i++)
		graph_shape_edge(shape, 1, 2 + i);
	for (uint32_t i = 0; i + 1 < MANY; i++)
		graph_shape_edge(shape, 2 + i, 3 + i);
	finish_on_small_stack(shape);
	for (uint32_t i = 1; i < MANY + 2; i++)
		assert_int_equal(dominator_of(shape, i), 0);
	assert_int_equal(retained_by(shape, 0), 16 * ((uint64_t)MANY + 2));
	assert_int_equal(retained_by(shape, 1), 16);
	graph_shape_destroy(shape);
}

TEST(a_chain_backwards_takes_linear_time)
{
	struct graph_shape *shape = graph_shape_create(MANY, 2 * (uint64_t)MANY);

	/* The last is the first; all point back to it too. */
	graph_shape_root(shape, MANY - 1);
	for (uint32_t i = 1; i < MANY; i++) {
		graph_shape_edge(shape, i, MANY - 1);
		graph_shape_edge(shape, i, i - 1);
	}
	finish_on_small_stack(shape);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(retained_by(shape, i), 16 * ((uint64_t)i + 1));
	graph_shape_destroy(shape);
}

TEST(a_complete_graph_takes_linear_time)
{
	enum { COUNT = 3000 };
	struct graph_shape *shape = graph_shape_create(COUNT, (uint64_t)COUNT * COUNT);

	graph_shape_root(shape, 17);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint32_t j = 0; j < COUNT; j++)
			graph_shape_edge(shape, i, j);
	finish_on_small_stack(shape);
	for (uint32_t i = 0; i < COUNT; i++)
		if (i != 17)
			assert_int_equal(dominator_of(shape, i), 17);
	assert_int_equal(retained_by(shape, 17), 16 * COUNT);
	graph_shape_destroy(shape);
}

TEST(a_star_that_leaked_takes_linear_time)
{
	struct graph_shape *shape = graph_shape_create(MANY, MANY);

	for (uint32_t i = 0; i + 1 < MANY; i++)
		graph_shape_edge(shape, MANY - 1, i);
	finish_on_small_stack(shape);
	assert_int_equal(shape->reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, 1);
	assert_int_equal(shape->reach.sums[HAWK_REACH_INDIRECTLY_LOST].objects, MANY - 1);
	assert_int_equal(retained_by(shape, MANY - 1), 16 * (uint64_t)MANY);
	graph_shape_destroy(shape);
}

/* One cycle in random order, lost. */
TEST(a_random_cycle_takes_linear_time)
{
	struct graph_shape *shape = graph_shape_create(MANY, MANY);
	uint32_t *order = calloc(MANY, sizeof(*order));
	uint32_t *next = calloc(MANY, sizeof(*next));
	uint64_t seed = 1;

	assert_non_null(order);
	assert_non_null(next);
	for (uint32_t i = 1; i < MANY; i++) {
		uint32_t other = (uint32_t)(synthetic_random(&seed) % (i + 1));

		order[i] = order[other];
		order[other] = i;
	}
	for (uint32_t i = 0; i < MANY; i++)
		next[order[i]] = order[(i + 1) % MANY];
	for (uint32_t i = 0; i < MANY; i++)
		graph_shape_edge(shape, i, next[i]);
	finish_on_small_stack(shape);
	assert_int_equal(shape->reach.kinds[0], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(shape->reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, 1);
	assert_int_equal(retained_by(shape, 0), 16 * (uint64_t)MANY);
	for (uint32_t i = next[0], left = MANY - 1; left; i = next[i], left--)
		assert_int_equal(retained_by(shape, i), 16 * (uint64_t)left);
	free(order);
	free(next);
	graph_shape_destroy(shape);
}

/** Of heaps that threads share. */
struct clusters {
	uint32_t count;
	uint32_t blocks; /**< in a cluster */
	uint32_t away;   /**< one edge in so many leads anywhere; 0 = none */
	uint32_t interior;
	uint32_t rootless; /**< one cluster in so many has no root */
};

static struct graph_shape *clusters_at_random(const struct clusters *clusters, uint64_t *seed)
{
	uint32_t count = clusters->count;
	struct graph_shape *shape = graph_shape_create(count, 4 * (uint64_t)count);
	struct hawk_graph *graph = &shape->graph;

	for (uint32_t first = 0; first < count; first += clusters->blocks)
		if (!clusters->rootless || synthetic_random(seed) % clusters->rootless)
			graph_shape_root(shape, first);
	/* Not in the order of addresses. */
	for (size_t i = shape->graph.roots.count; i-- > 1;) {
		size_t other = synthetic_random(seed) % (i + 1);
		struct hawk_root root = shape->graph.roots.items[i];

		shape->graph.roots.items[i] = shape->graph.roots.items[other];
		shape->graph.roots.items[other] = root;
	}
	for (uint32_t block = 0; block < count; block++)
		for (unsigned i = synthetic_random(seed) % 4; i; i--) {
			uint32_t base = block - block % clusters->blocks;
			uint32_t target =
				base + (uint32_t)(synthetic_random(seed) % clusters->blocks);

			if (clusters->away && !(synthetic_random(seed) % clusters->away))
				target = (uint32_t)(synthetic_random(seed) % count);
			graph_shape_edge(shape, block, target < count ? target : count - 1);
			if (clusters->interior && !(synthetic_random(seed) % clusters->interior))
				graph->edges[graph->edge_count - 1] |= HAWK_EDGE_INTERIOR;
		}
	return shape;
}

/** The results of reach and dominators. */
struct outcome {
	struct hawk_reach all;
	struct hawk_dominators dominators;
	uint32_t *numbers[3];
	uint64_t *retained;
	uint64_t sums[GRAPH_TRACES];
};

static void make_outcome(struct graph_shape *shape, struct outcome *ret)
{
	struct hawk_dominators *dominators = &ret->dominators;
	size_t bytes = ((size_t)shape->graph.count + 1) * sizeof(uint32_t);
	const uint32_t *lanes[3];

	*ret = (struct outcome){0};
	check(hawk_reach_make(&shape->graph, NULL, &ret->all));
	check(hawk_dominators_make(&shape->graph, &ret->all, dominators));
	check(hawk_dominators_retained_by(
		dominators, (struct hawk_block_groups[]){hawk_heap_groups(&shape->found)}, NULL,
		ret->sums));
	dominators->blocks[0] = dominators->dominators[0] = 0;
	lanes[0] = dominators->blocks;
	lanes[1] = dominators->dominators;
	lanes[2] = dominators->sizes;
	for (unsigned i = 0; i < 3; i++) {
		ret->numbers[i] = malloc(bytes);
		assert_non_null(ret->numbers[i]);
		memcpy(ret->numbers[i], lanes[i], bytes);
	}
	ret->retained = malloc(2 * bytes);
	assert_non_null(ret->retained);
	memcpy(ret->retained, dominators->retained, 2 * bytes);
}

static void expect_same_outcome(const struct outcome *outcome, const struct outcome *expected,
				uint32_t count)
{
	size_t bytes = ((size_t)count + 1) * sizeof(uint32_t);

	for (unsigned i = 0; i < 3; i++)
		assert_memory_equal(outcome->numbers[i], expected->numbers[i], bytes);
	assert_memory_equal(outcome->retained, expected->retained, 2 * bytes);
	assert_memory_equal(outcome->sums, expected->sums, sizeof(outcome->sums));
	assert_memory_equal(outcome->all.kinds, expected->all.kinds, count);
	assert_memory_equal(outcome->all.sums, expected->all.sums, sizeof(outcome->all.sums));
}

static void outcome_deinit(struct outcome *outcome)
{
	for (unsigned i = 0; i < 3; i++)
		free(outcome->numbers[i]);
	free(outcome->retained);
	hawk_dominators_deinit(&outcome->dominators);
	hawk_reach_deinit(&outcome->all);
}

static const struct clusters shared_heaps[] = {
	{30000, 20, 0, 0, 0},
	{30000, 20, 0, 300, 50},
	{30000, 64, 1000, 0, 50},
	{30000, 64, 5000, 3000, 50},
	{30000, 300, 30000, 0, 2},
	{30000, 3000, 0, 1000, 0},
	{30000, 3000, 50, 0, 5},
	{30000, 30000, 0, 0, 0},
	{30000, 30000, 0, 0, 1},
	{30000, 20, 20, 20, 20},
	{30000, 1, 0, 0, 2},
	{30000, 500, 100, 10000, 0},
	{30000, 3, 2, 100, 3},
	/* Two searches that find the same. */
	{300000, 150000, 2, 0, 0},
	{300000, 1000, 1, 0, 0},
	{200000, 64, 100, 1000, 30},
};

enum { SHARED_HEAPS = sizeof(shared_heaps) / sizeof(shared_heaps[0]) };

/* Checks that this workspace gives the results of one thread. */
static void expect_outcome(struct graph_shape *shape, const struct outcome *expected)
{
	struct outcome outcome;

	make_outcome(shape, &outcome);
	expect_same_outcome(&outcome, expected, shape->graph.count);
	outcome_deinit(&outcome);
}

TEST(dominators_are_the_same_with_any_number_of_threads)
{
	uint64_t seed = 17;

	for (size_t i = 0; i < SHARED_HEAPS; i++) {
		struct graph_shape *shape = clusters_at_random(&shared_heaps[i], &seed);
		struct outcome expected;

		graph_shape_finish(shape);
		make_outcome(shape, &expected);
		for (unsigned threads = 2; threads < 11; threads += threads < 4 ? 1 : 6) {
			hawk_parallel_set_threads(threads);
			expect_outcome(shape, &expected);
		}
		outcome_deinit(&expected);
		graph_shape_destroy(shape);
	}
}
