/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dominators and retained sizes, and the leak kinds they are made of: thousands of small random
 * heaps against an oracle that deletes blocks and looks what is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
	expect_no_error(hawk_dominators_retained_by_group(dominators, &world->index,
							  &graph_by_trace, sums));
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
				     &graph_by_trace, sums);
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

static void an_empty_heap_has_no_dominators(void **state)
{
	struct graph_shape *shape = graph_shape_create(0, 0);

	(void)state;
	graph_shape_finish(shape);
	assert_int_equal(shape->dominators.count, 0);
	assert_int_equal(shape->dominators.retained[0], 0);
	graph_shape_destroy(shape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_heaps_agree_with_trying_everything),
		cmocka_unit_test(interior_pointers_extend_the_dominators_by_start_pointers),
		cmocka_unit_test(leaks_that_interior_pointers_lead_to_are_joined),
		cmocka_unit_test(an_empty_heap_has_no_dominators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
