/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators of large heaps of shapes that break other algorithms: in linear time, on a small
 * stack.
 */
#include <pthread.h>
#include <time.h>

#include "test.h"
#include "synthetic_graph.h"

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
