/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Referrers and shortest paths: thousands of small random heaps against their bytes and against
 * trying everything.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "test.h"
#include "hawk/analysis/referrers.h"
#include "hawk/analysis/paths.h"
#include "synthetic_site_world.h"

enum { HEAPS = 300 };

/** Compares the pointers of one source with `items`; returns their number. */
static size_t expect_source(const struct graph_world *world, uint32_t source, uint32_t block,
			    const struct hawk_referrer *items, size_t left)
{
	const struct hawk_block *bytes = &world->blocks[source];
	size_t count = 0;

	for (uint64_t offset = 0; offset + 8 <= bytes->size; offset += 8) {
		uint64_t value;
		uint32_t edge;

		memcpy(&value, world->heap->bytes + (bytes->start - SYNTHETIC_HEAP) + offset, 8);
		edge = graph_oracle_edge(world->blocks, world->count, value);
		if (edge >> 1 != block)
			continue;
		assert_true(count < left);
		assert_false(items[count].root);
		assert_int_equal(items[count].source, source);
		assert_int_equal(items[count].offset, offset);
		assert_int_equal(items[count].inside, value - world->blocks[block].start);
		assert_int_equal(items[count].interior, edge & 1);
		count++;
	}
	return count;
}

static void expect_referrers(const struct paths_world *paths, uint32_t block)
{
	const struct graph_world *world = paths->world;
	struct hawk_referrers list;
	size_t at = 0;

	check(hawk_referrers_find(paths->graph, block, &list));
	for (size_t i = 0; i < world->graph.roots.count; i++) {
		if (world->graph.roots.items[i].edge >> 1 != block)
			continue;
		assert_true(at < list.count && list.items[at].root);
		assert_int_equal(list.items[at].source, i);
		assert_int_equal(list.items[at].interior, world->graph.roots.items[i].edge & 1);
		at++;
	}
	for (uint32_t source = 0; source < world->count; source++)
		at += expect_source(world, source, block, list.items ? list.items + at : NULL,
				    list.count - at);
	assert_int_equal(at, list.count);
	hawk_referrers_deinit(&list);
}

TEST(referrers_are_the_words_that_point_to_a_block)
{
	uint64_t seed = 99;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = paths_world_random(&seed);

		for (uint32_t block = 0; block < paths->world->count; block++)
			expect_referrers(paths, block);
		paths_world_close(paths);
	}
}

TEST(a_start_pointer_is_preferred_between_two_blocks)
{
	struct graph_world *world = graph_world_create();
	struct hawk_referrer pointer;
	struct paths_world *paths;

	graph_world_add(world, 64, 0, 0);
	graph_world_add(world, 64, 0, 0);
	graph_world_point(world, 0, 8, 1, 24);
	graph_world_point(world, 0, 40, 1, 0);
	graph_world_point(world, 1, 16, 0, 5);
	paths = paths_world_open(world);
	assert_true(hawk_referrer_between(paths->graph, 0, 1, &pointer));
	assert_int_equal(pointer.offset, 40);
	assert_false(pointer.interior);
	assert_true(hawk_referrer_between(paths->graph, 1, 0, &pointer));
	assert_int_equal(pointer.offset, 16);
	assert_int_equal(pointer.inside, 5);
	assert_true(pointer.interior);
	assert_false(hawk_referrer_between(paths->graph, 1, 1, &pointer));
	paths_world_close(paths);
}

/** Returns the number of blocks on the shortest path to `block`, itself included; 0 = no path. */
static uint32_t oracle_distance(const struct paths_world *paths, uint32_t block)
{
	uint64_t reached = paths->oracle.all_roots;

	for (uint32_t distance = 1; distance <= paths->world->count; distance++) {
		uint64_t next = reached;

		if (reached >> block & 1)
			return distance;
		for (uint32_t i = 0; i < paths->world->count; i++)
			if (reached >> i & 1)
				next |= paths->oracle.all[i];
		reached = next;
	}
	return 0;
}

static void expect_path(const struct paths_world *paths, const struct hawk_paths *found,
			uint32_t block)
{
	struct hawk_path path;

	check(hawk_path_to(found, block, &path));
	assert_int_equal(path.count, oracle_distance(paths, block));
	if (path.count) {
		assert_int_equal(paths->world->graph.roots.items[path.root].edge >> 1,
				 path.blocks[0]);
		assert_int_equal(path.blocks[path.count - 1], block);
	}
	for (uint32_t i = 0; i + 1 < path.count; i++)
		assert_true(paths->oracle.all[path.blocks[i]] >> path.blocks[i + 1] & 1);
	hawk_path_deinit(&path);
}

/* Checks paths to some blocks at once, then to others too, then to many; unprepared ones are found
 * as well. */
static void expect_prepared_paths(const struct paths_world *paths, struct hawk_paths *found,
				  uint64_t *seed)
{
	static const size_t counts[] = {1, 5, 5000};
	uint32_t blocks[5000];

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (size_t j = 0; j < counts[i]; j++)
			blocks[j] = (uint32_t)(synthetic_random(seed) % paths->world->count);
		check(hawk_paths_prepare(found, blocks, counts[i]));
		for (size_t j = 0; j < counts[i]; j++)
			if (hawk_paths_lead_to(found, blocks[j]))
				assert_int_equal(found->order[found->places[blocks[j]]], blocks[j]);
		for (uint32_t block = 0; block < paths->world->count; block++)
			expect_path(paths, found, block);
	}
}

TEST(paths_are_the_shortest_ones)
{
	uint64_t seed = 3;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct paths_world *paths = paths_world_random(&seed);
		struct hawk_paths all;

		check(hawk_paths_find(paths->graph, &all));
		for (uint32_t block = 0; block < paths->world->count; block++)
			expect_path(paths, &all, block);
		if (i % 8 == 0)
			expect_prepared_paths(paths, &all, &seed);
		hawk_paths_deinit(&all);
		paths_world_close(paths);
	}
}

TEST(a_global_explains_more_than_a_register)
{
	struct graph_world *world = graph_world_create();
	struct paths_world *paths;
	struct hawk_paths found;
	struct hawk_path path;

	graph_world_add(world, 32, 0, 0);
	world->registers[HAWK_RBX] = world->blocks[0].start;
	world->globals[3] = world->blocks[0].start;
	paths = paths_world_open(world);
	check(hawk_paths_find(paths->graph, &found));
	check(hawk_path_to(&found, 0, &path));
	assert_int_equal(path.count, 1);
	assert_int_not_equal(world->graph.roots.items[path.root].kind, HAWK_ROOT_REGISTER);
	assert_int_equal(world->graph.roots.items[path.root].address, GRAPH_GLOBALS + 24);
	hawk_path_deinit(&path);
	hawk_paths_deinit(&found);
	paths_world_close(paths);
}

/* Returns the bytes of this process's address space. */
static uint64_t mapped_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * 4096;
}

/* A refused question may succeed when asked again. */
TEST(places_that_memory_has_no_room_for_are_not_there)
{
	const struct hawk_block_index index = {.count = UINT32_C(1) << 30};
	const uint32_t many[5000] = {0};
	struct hawk_paths paths = {.index = &index};
	struct rlimit before, tight;
	struct hawk_error *err;

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	tight = before;
	tight.rlim_cur = mapped_bytes() + (UINT64_C(1) << 30);
	assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
	err = hawk_paths_prepare(&paths, many, 5000);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_ptr_equal(err, &hawk_enomem);
	assert_null(paths.places);
	check(hawk_paths_prepare(&paths, many, 5000));
	assert_true(paths.places_area.size >= ((uint64_t)index.count + 1) * sizeof(uint32_t));
	hawk_paths_deinit(&paths);
}
