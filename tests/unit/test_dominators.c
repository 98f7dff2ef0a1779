/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reachability, leak kinds, dominators and retained sizes: thousands of small random heaps against
 * an oracle that deletes blocks and looks what is left, and large shapes that break other
 * algorithms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "synthetic_graph.h"

enum { HEAPS = 3000 };

static void expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

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

static const struct hawk_dominators_groups by_trace = {NULL, GRAPH_TRACES, GRAPH_TRACES};

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
	expect_no_error(
		hawk_dominators_retained_by_group(dominators, &world->index, &by_trace, sums));
	expect_sums(world, oracle, sums, edges);
}

static void expect_oracle(struct graph_world *world, const struct graph_oracle *oracle,
			  unsigned edges)
{
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	uint64_t objects = 0;
	uint64_t sums[GRAPH_TRACES];

	expect_no_error(hawk_reach_make(&world->index, &world->graph, &world->roots,
					(enum hawk_edges)edges, &world->workspace, &reach));
	for (uint32_t i = 0; i < world->count; i++)
		assert_int_equal(reach.kinds[i], oracle->kinds[edges][i]);
	for (unsigned kind = 0; kind < HAWK_REACH_KINDS; kind++)
		objects += reach.sums[kind].objects;
	assert_int_equal(objects, world->count);
	expect_no_error(hawk_dominators_make(&world->index, &world->graph, &world->roots, &reach,
					     NULL, &world->workspace, &dominators));
	assert_int_equal(dominators.count, world->count);
	expect_groups(world, oracle, &dominators, edges, sums);
	hawk_dominators_number_blocks(&dominators);
	for (uint32_t i = 0; i < world->count; i++) {
		uint32_t number = dominators.numbers[i];

		assert_int_equal(dominators.blocks[number], i);
		assert_int_equal(dominated_by(&dominators, i), oracle->dominated[edges][i]);
		assert_int_equal(dominators.retained[number], oracle->retained[edges][i]);
		assert_int_equal(dominators.sizes[number],
				 __builtin_popcountll(oracle->dominated[edges][i]));
	}
	hawk_reach_deinit(&reach);
}

static void random_heaps_agree_with_trying_everything(void **state)
{
	uint64_t seed = 4711;
	uint64_t kinds[HAWK_REACH_KINDS] = {0};

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		graph_world_open(world, 1, SIZE_MAX);
		assert_int_equal(world->index.count, world->count);
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

/** How often what was extended, and how much there was to do. */
struct extended {
	unsigned results[HAWK_DOMINATORS_OTHER + 1];
	unsigned apart;   /* heaps with blocks apart */
	unsigned outward; /* with pointers from those that matter to others */
};

/* Whatever is said of them, the dominators must be what trying everything finds. */
static enum hawk_dominators_extension extend_to_all(struct graph_world *world,
						    const struct graph_oracle *oracle,
						    const struct hawk_reach *all,
						    struct hawk_dominators *dominators)
{
	enum hawk_dominators_extension ret;
	uint64_t sums[GRAPH_TRACES];

	for (uint32_t i = 0; i < world->count; i++)
		assert_int_equal(dominated_by(dominators, i),
				 oracle->dominated[HAWK_EDGES_START_ONLY][i]);
	expect_groups(world, oracle, dominators, HAWK_EDGES_START_ONLY, sums);
	ret = hawk_dominators_extend(dominators, &world->index, &world->graph, &world->roots, all,
				     &by_trace, sums);
	if (ret == HAWK_DOMINATORS_SAME || ret == HAWK_DOMINATORS_REGROUPED)
		expect_sums(world, oracle, sums, HAWK_EDGES_ALL);
	if (ret == HAWK_DOMINATORS_EXTENDED) {
		expect_groups(world, oracle, dominators, HAWK_EDGES_ALL, sums);
		hawk_dominators_number_blocks(dominators);
	}
	for (uint32_t i = 0; ret != HAWK_DOMINATORS_OTHER && i < world->count; i++) {
		uint32_t number = dominators->numbers[i];

		assert_int_equal(dominators->blocks[number], i);
		assert_true(dominators->dominators[number] < number);
		assert_int_equal(dominated_by(dominators, i), oracle->dominated[HAWK_EDGES_ALL][i]);
		assert_int_equal(dominators->retained[number], oracle->retained[HAWK_EDGES_ALL][i]);
		assert_int_equal(dominators->sizes[number],
				 __builtin_popcountll(oracle->dominated[HAWK_EDGES_ALL][i]));
	}
	return ret;
}

static void extend(struct graph_world *world, struct extended *extended)
{
	static const struct hawk_explained none;
	enum hawk_dominators_extension ret;
	struct graph_oracle oracle;
	struct hawk_reach all;
	struct hawk_reach start;
	struct hawk_dominators dominators;

	graph_oracle_make(world, &oracle);
	expect_no_error(hawk_dominators_make_reaching(&world->index, &world->graph, &world->roots,
						      &none, &world->workspace, &all, &dominators));
	for (uint32_t i = 0; i < world->count; i++)
		assert_int_equal(all.kinds[i], oracle.kinds[HAWK_EDGES_ALL][i]);
	extended->apart += dominators.base.apart <= dominators.count;
	extended->outward += dominators.base.move_count != 0;
	ret = extend_to_all(world, &oracle, &all, &dominators);
	extended->results[ret]++;
	if (ret == HAWK_DOMINATORS_SAME)
		assert_memory_equal(oracle.dominated[0], oracle.dominated[1],
				    world->count * sizeof(oracle.dominated[0][0]));
	hawk_dominators_deinit(&dominators);
	/* The same if what is reachable is known before. */
	expect_no_error(hawk_reach_make(&world->index, &world->graph, &world->roots,
					HAWK_EDGES_START_ONLY, &world->workspace, &start));
	expect_no_error(hawk_dominators_make(&world->index, &world->graph, &world->roots, &start,
					     &all, &world->workspace, &dominators));
	assert_int_equal(extend_to_all(world, &oracle, &all, &dominators), ret);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&start);
	hawk_reach_deinit(&all);
}

static void interior_pointers_extend_the_dominators_by_start_pointers(void **state)
{
	uint64_t seed = 4712;
	struct extended extended = {0};

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();

		graph_world_fill(world, &seed);
		graph_world_open(world, 1, SIZE_MAX);
		extend(world, &extended);
		graph_world_destroy(world);
	}
	assert_true(extended.results[HAWK_DOMINATORS_SAME] > HEAPS / 100);
	assert_true(extended.results[HAWK_DOMINATORS_REGROUPED] > HEAPS / 100);
	assert_true(extended.results[HAWK_DOMINATORS_EXTENDED] > HEAPS / 100);
}

/* Chains and cycles, most of them leaked, with pointers between them; an interior one takes away a
 * leader that there is by start pointers, or makes another. */
static void fill_with_leaks(struct graph_world *world, uint64_t *seed)
{
	enum { WORDS = 4 };
	uint32_t count = 2 + (uint32_t)(synthetic_random(seed) % (GRAPH_BLOCKS_MAX - 1));
	unsigned other = 1 + (unsigned)(synthetic_random(seed) % 4);
	unsigned interior = 2 + (unsigned)(synthetic_random(seed) % 10);
	unsigned roots = (unsigned)(synthetic_random(seed) % 4);

	for (uint32_t i = 0; i < count; i++)
		graph_world_add(world, 8 * WORDS, 0,
				(uint32_t)(synthetic_random(seed) % GRAPH_TRACES));
	for (uint32_t i = 0; i < count; i++)
		for (unsigned word = 0; word < WORDS; word++) {
			uint32_t near = (uint32_t)(synthetic_random(seed) % 5);
			uint32_t to = word ? (uint32_t)(synthetic_random(seed) % count)
					   : (i + count + near - 1) % count;

			if (word ? synthetic_random(seed) % 8 < other : near != 4)
				graph_world_point(world, i, 8 * word, to,
						  synthetic_random(seed) % interior ? 0 : 8);
		}
	for (unsigned i = 0; i < roots; i++)
		world->globals[i] = world->blocks[synthetic_random(seed) % count].start +
				    (synthetic_random(seed) % interior ? 0 : 8);
}

static void leaks_that_interior_pointers_lead_to_are_joined(void **state)
{
	uint64_t seed = 4713;
	struct extended extended = {0};

	(void)state;
	for (unsigned i = 0; i < 2 * HEAPS; i++) {
		struct graph_world *world = graph_world_create();

		fill_with_leaks(world, &seed);
		graph_world_open(world, 1, SIZE_MAX);
		extend(world, &extended);
		graph_world_destroy(world);
	}
	assert_true(extended.apart > HEAPS / 2);
	assert_true(extended.outward > HEAPS / 10);
}

static void the_leader_of_a_lost_cycle_is_its_lowest_block(void **state)
{
	struct graph_world *world = graph_world_create();
	struct hawk_reach reach;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		graph_world_add(world, 32, 0, 0);
	/* 2 -> 4 -> 1 -> 2 is the cycle, 3 -> 1 a block that leads into it, 2 -> 0 a part of it. */
	graph_world_point(world, 2, 0, 4, 0);
	graph_world_point(world, 4, 8, 1, 8);
	graph_world_point(world, 1, 0, 2, 0);
	graph_world_point(world, 2, 8, 0, 0);
	graph_world_open(world, 1, SIZE_MAX);
	expect_no_error(hawk_reach_make(&world->index, &world->graph, &world->roots, HAWK_EDGES_ALL,
					&world->workspace, &reach));
	assert_int_equal(reach.kinds[0], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.kinds[1], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(reach.kinds[2], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.kinds[3], HAWK_REACH_DEFINITELY_LOST);
	assert_int_equal(reach.kinds[4], HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(reach.sums[HAWK_REACH_INDIRECTLY_LOST].bytes, 96);
	hawk_reach_deinit(&reach);
	graph_world_destroy(world);
}

static void an_empty_heap_has_no_dominators(void **state)
{
	struct graph_shape *shape = graph_shape_create(0, 0);

	(void)state;
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
	hawk_dominators_number_blocks(&shape->dominators);
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

static void a_list_with_an_index_of_its_items_takes_linear_time(void **state)
{
	struct graph_shape *shape = graph_shape_create(MANY + 2, 2 * (uint64_t)MANY + 2);

	(void)state;
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

static void a_chain_backwards_takes_linear_time(void **state)
{
	struct graph_shape *shape = graph_shape_create(MANY, 2 * (uint64_t)MANY);

	(void)state;
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

static void a_complete_graph_takes_linear_time(void **state)
{
	enum { COUNT = 3000 };
	struct graph_shape *shape = graph_shape_create(COUNT, (uint64_t)COUNT * COUNT);

	(void)state;
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

static void a_star_that_leaked_takes_linear_time(void **state)
{
	struct graph_shape *shape = graph_shape_create(MANY, MANY);

	(void)state;
	for (uint32_t i = 0; i + 1 < MANY; i++)
		graph_shape_edge(shape, MANY - 1, i);
	finish_on_small_stack(shape);
	assert_int_equal(shape->reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, 1);
	assert_int_equal(shape->reach.sums[HAWK_REACH_INDIRECTLY_LOST].objects, MANY - 1);
	assert_int_equal(retained_by(shape, MANY - 1), 16 * (uint64_t)MANY);
	graph_shape_destroy(shape);
}

/* One cycle in random order, lost. */
static void a_random_cycle_takes_linear_time(void **state)
{
	struct graph_shape *shape = graph_shape_create(MANY, MANY);
	uint32_t *order = calloc(MANY, sizeof(*order));
	uint32_t *next = calloc(MANY, sizeof(*next));
	uint64_t seed = 1;

	(void)state;
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

/* A chain that is held, and leaks that point into it. By all pointers its first block holds them.
 */
static struct graph_shape *chain_with_leaks(uint32_t chain, uint32_t leaks)
{
	struct graph_shape *shape = graph_shape_create(chain + leaks, chain + 2 * (uint64_t)leaks);

	graph_shape_root(shape, 0);
	for (uint32_t i = 0; i < leaks; i++) {
		graph_shape_edge(shape, 0, chain + i);
		shape->graph.edges[i] |= HAWK_EDGE_INTERIOR;
	}
	for (uint32_t i = 0; i + 1 < chain; i++)
		graph_shape_edge(shape, i, i + 1);
	for (uint32_t i = 0; i < leaks; i++)
		graph_shape_edge(shape, chain + i, (i + 1) * (chain / (leaks + 1)));
	return shape;
}

static void leaks_that_point_into_a_chain_take_linear_time(void **state)
{
	enum { LEAKS = MANY / 100, STRETCH = MANY / (LEAKS + 1) };
	static const struct hawk_explained none;
	struct graph_shape *shape = chain_with_leaks(MANY, LEAKS);
	struct hawk_dominators dominators;
	struct hawk_reach all;
	uint64_t sums[GRAPH_TRACES] = {0};
	double start;

	(void)state;
	graph_shape_finish(shape); /* for the workspace */
	start = cpu_seconds();
	expect_no_error(hawk_dominators_make_reaching(&shape->index, &shape->graph, &shape->roots,
						      &none, &shape->workspace, &all, &dominators));
	assert_int_equal(dominators.base.apart, MANY + 1);
	for (uint32_t i = 1; i <= LEAKS; i++) {
		/* Chains are numbered along. */
		assert_int_equal(dominators.blocks[1 + i * STRETCH], i * STRETCH);
		assert_int_equal(dominators.dominators[1 + i * STRETCH], 0);
		if (i < LEAKS)
			assert_int_equal(dominators.retained[1 + i * STRETCH], 16 * STRETCH);
	}
	if (hawk_dominators_extend(&dominators, &shape->index, &shape->graph, &shape->roots, &all,
				   &by_trace, sums) != HAWK_DOMINATORS_OTHER)
		for (uint32_t i = 1; i <= LEAKS; i++)
			assert_int_equal(dominators.dominators[1 + i * STRETCH], 1);
	assert_true(cpu_seconds() - start < 20);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&all);
	graph_shape_destroy(shape);
}

/* Leaks by start pointers, each of which points to the one that is looked at before it, and is held
 * by an interior pointer from a block that is one higher in a chain: what holds the first one
 * climbs by one block at a time. Beside them many interior pointers that change nothing. */
static struct graph_shape *leaks_that_climb(uint32_t leaks, uint32_t others)
{
	uint32_t first_holder = 1 + leaks, first_leak = first_holder + leaks;
	uint32_t first_other = first_leak + leaks;
	struct graph_shape *shape = graph_shape_create(first_other + others,
						       4 * (uint64_t)leaks + 2 * (uint64_t)others);

	graph_shape_root(shape, 0);
	graph_shape_edge(shape, 0, 1);
	for (uint32_t i = 0; i < others; i++)
		graph_shape_edge(shape, 0, first_other + i);
	for (uint32_t i = 1; i <= leaks; i++) {
		if (i < leaks)
			graph_shape_edge(shape, i, i + 1);
		graph_shape_edge(shape, i, first_holder + leaks - i);
	}
	for (uint32_t i = 0; i < leaks; i++) {
		graph_shape_edge(shape, first_holder + i, first_leak + i);
		shape->graph.edges[shape->graph.edge_count - 1] |= HAWK_EDGE_INTERIOR;
	}
	for (uint32_t i = 1; i < leaks; i++)
		graph_shape_edge(shape, first_leak + i, first_leak + i - 1);
	for (uint32_t i = 0; i + 1 < others; i++) {
		graph_shape_edge(shape, first_other + i, first_other + i + 1);
		shape->graph.edges[shape->graph.edge_count - 1] |= HAWK_EDGE_INTERIOR;
	}
	return shape;
}

static enum hawk_dominators_extension extension_of_climbing_leaks(uint32_t leaks)
{
	enum { OTHERS = 10000 };
	static const struct hawk_explained none;
	struct graph_shape *shape = leaks_that_climb(leaks, OTHERS);
	enum hawk_dominators_extension extension;
	struct hawk_dominators dominators;
	struct hawk_reach all;
	uint64_t sums[GRAPH_TRACES] = {0};

	graph_shape_finish(shape); /* for the workspace */
	expect_no_error(hawk_dominators_make_reaching(&shape->index, &shape->graph, &shape->roots,
						      &none, &shape->workspace, &all, &dominators));
	assert_true(dominators.base.extendable);
	assert_true(dominators.base.apart <= dominators.count);
	expect_no_error(
		hawk_dominators_retained_by_group(&dominators, &shape->index, &by_trace, sums));
	extension = hawk_dominators_extend(&dominators, &shape->index, &shape->graph, &shape->roots,
					   &all, &by_trace, sums);
	hawk_dominators_deinit(&dominators);
	hawk_reach_deinit(&all);
	graph_shape_destroy(shape);
	return extension;
}

/* Each climb is a round over all interior pointers, and costs few steps: steps alone would allow
 * hundreds. */
static void leaks_that_climb_often_are_searched_anew(void **state)
{
	(void)state;
	for (uint32_t leaks = 1; leaks <= 4; leaks++)
		assert_int_equal(extension_of_climbing_leaks(leaks), HAWK_DOMINATORS_EXTENDED);
	for (uint32_t leaks = 12; leaks <= 40; leaks += 14)
		assert_int_equal(extension_of_climbing_leaks(leaks), HAWK_DOMINATORS_OTHER);
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
	for (size_t i = shape->roots.count; i-- > 1;) {
		size_t other = synthetic_random(seed) % (i + 1);
		struct hawk_root root = shape->roots.items[i];

		shape->roots.items[i] = shape->roots.items[other];
		shape->roots.items[other] = root;
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

/** All that reach and dominators come to. */
struct outcome {
	struct hawk_reach all;
	struct hawk_dominators dominators; /* by all pointers, if they could be extended */
	uint32_t *numbers[3];
	uint64_t *retained;
	uint64_t sums[2][GRAPH_TRACES];
	enum hawk_dominators_extension extension;
};

static void make_outcome(struct graph_shape *shape, struct outcome *ret)
{
	static const struct hawk_explained none;
	struct hawk_dominators *dominators = &ret->dominators;
	size_t bytes = ((size_t)shape->graph.count + 1) * sizeof(uint32_t);
	const uint32_t *lanes[3];

	*ret = (struct outcome){0};
	expect_no_error(hawk_dominators_make_reaching(&shape->index, &shape->graph, &shape->roots,
						      &none, &shape->workspace, &ret->all,
						      dominators));
	expect_no_error(hawk_dominators_retained_by_group(dominators, &shape->index, &by_trace,
							  ret->sums[0]));
	memcpy(ret->sums[1], ret->sums[0], sizeof(ret->sums[1]));
	ret->extension = hawk_dominators_extend(dominators, &shape->index, &shape->graph,
						&shape->roots, &ret->all, &by_trace, ret->sums[1]);
	if (ret->extension == HAWK_DOMINATORS_OTHER)
		expect_no_error(hawk_dominators_make(&shape->index, &shape->graph, &shape->roots,
						     &ret->all, NULL, &shape->workspace,
						     dominators));
	if (!dominators->numbers) {
		memset(ret->sums[1], 0, sizeof(ret->sums[1]));
		expect_no_error(hawk_dominators_retained_by_group(dominators, &shape->index,
								  &by_trace, ret->sums[1]));
	}
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

	assert_int_equal(outcome->extension, expected->extension);
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

/* What is found in this workspace is what one thread finds. */
static void expect_outcome(struct graph_shape *shape, const struct outcome *expected)
{
	struct outcome outcome;

	make_outcome(shape, &outcome);
	expect_same_outcome(&outcome, expected, shape->graph.count);
	outcome_deinit(&outcome);
}

static void dominators_are_the_same_with_any_number_of_threads(void **state)
{
	uint64_t seed = 17;

	(void)state;
	for (size_t i = 0; i < SHARED_HEAPS; i++) {
		struct graph_shape *shape = clusters_at_random(&shared_heaps[i], &seed);
		struct outcome expected;

		graph_shape_finish(shape);
		make_outcome(shape, &expected);
		for (unsigned threads = 2; threads < 11; threads += threads < 4 ? 1 : 6) {
			graph_shape_share(shape, threads);
			expect_outcome(shape, &expected);
		}
		outcome_deinit(&expected);
		graph_shape_destroy(shape);
	}
}

/* Each search takes numbers by the thousand: the second one has to end, and to give some back. */
static void two_searches_without_spare_numbers_find_the_same(void **state)
{
	enum { TIMES = 3 };
	uint64_t seed = 17;

	(void)state;
	for (size_t i = 0; i < SHARED_HEAPS; i++) {
		struct graph_shape *shape = clusters_at_random(&shared_heaps[i], &seed);
		struct outcome expected;

		graph_shape_finish(shape);
		make_outcome(shape, &expected);
		shape->workspace.threads = 2;
		for (unsigned j = 0; j < TIMES; j++)
			expect_outcome(shape, &expected);
		outcome_deinit(&expected);
		graph_shape_destroy(shape);
	}
}

/* Resident bytes of this process; `peak`: the most that there were since they were forgotten. */
static uint64_t memory_bytes(bool peak)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kilobytes = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, peak ? "VmHWM: %llu" : "VmRSS: %llu", &kilobytes) == 1)
			break;
	(void)fclose(file);
	return 1024 * kilobytes;
}

static bool forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (!file)
		return false;
	(void)fputs("5", file);
	return !fclose(file);
}

/* While one search is busy with the first root, another finds the same from all others, and many
 * edges each time. */
static void roots_that_all_lead_to_many_edges_take_little_memory(void **state)
{
	enum { BUSY = 1000000, CHAIN = 8, EDGES = 500000, ROOTS = 4000 };
	struct graph_shape *shape =
		graph_shape_create(BUSY + CHAIN, 2 * (uint64_t)BUSY + CHAIN + EDGES);
	struct hawk_dominators dominators;
	uint64_t seed = 23;
	uint64_t before;

	(void)state;
	graph_shape_root(shape, 0);
	for (uint32_t i = 0; i < ROOTS; i++)
		graph_shape_root(shape, BUSY);
	for (uint32_t i = 0; i < BUSY; i++) {
		graph_shape_edge(shape, i, (i + 1) % BUSY);
		graph_shape_edge(shape, i, (uint32_t)(synthetic_random(&seed) % BUSY));
	}
	for (uint32_t i = 0; i + 1 < CHAIN; i++)
		graph_shape_edge(shape, BUSY + i, BUSY + i + 1);
	for (uint32_t i = 0; i < EDGES; i++)
		graph_shape_edge(shape, BUSY + CHAIN - 1, BUSY + i % (CHAIN - 1));
	graph_shape_finish(shape);
	if (!forget_peak()) {
		graph_shape_destroy(shape);
		skip();
	}
	before = memory_bytes(false);
	shape->workspace.threads = 2;
	expect_no_error(hawk_dominators_make(&shape->index, &shape->graph, &shape->roots,
					     &shape->reach, NULL, &shape->workspace, &dominators));
	/* An edge takes 8 bytes in each search's list, and 4 more in the end. */
	assert_in_range(memory_bytes(true) - before, 0, 20 * (uint64_t)shape->graph.edge_count);
	hawk_dominators_deinit(&dominators);
	graph_shape_destroy(shape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_heaps_agree_with_trying_everything),
		cmocka_unit_test(interior_pointers_extend_the_dominators_by_start_pointers),
		cmocka_unit_test(leaks_that_interior_pointers_lead_to_are_joined),
		cmocka_unit_test(the_leader_of_a_lost_cycle_is_its_lowest_block),
		cmocka_unit_test(an_empty_heap_has_no_dominators),
		cmocka_unit_test(a_list_with_an_index_of_its_items_takes_linear_time),
		cmocka_unit_test(a_chain_backwards_takes_linear_time),
		cmocka_unit_test(a_complete_graph_takes_linear_time),
		cmocka_unit_test(a_star_that_leaked_takes_linear_time),
		cmocka_unit_test(a_random_cycle_takes_linear_time),
		cmocka_unit_test(leaks_that_point_into_a_chain_take_linear_time),
		cmocka_unit_test(leaks_that_climb_often_are_searched_anew),
		cmocka_unit_test(dominators_are_the_same_with_any_number_of_threads),
		cmocka_unit_test(two_searches_without_spare_numbers_find_the_same),
		cmocka_unit_test(roots_that_all_lead_to_many_edges_take_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
