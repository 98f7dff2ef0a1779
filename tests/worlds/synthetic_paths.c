/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From a world of blocks and pointers to a graph with all its parts.
 */
#include "test.h"
#include "synthetic_paths.h"

enum { ROOT_GROUPS = 3 };

struct paths_world *paths_world_open(struct graph_world *world)
{
	struct paths_world *paths = calloc(1, sizeof(*paths));

	graph_world_open(world, 1, SIZE_MAX);
	graph_oracle_make(world, &paths->oracle);
	paths->world = world;
	paths->graph = &world->graph;
	check(hawk_reach_make(paths->graph, HAWK_EDGES_ALL, NULL, &paths->reach));
	check(hawk_dominators_make(paths->graph, &paths->reach, &paths->dominators));
	paths->groups = calloc(world->graph.roots.count + 1, sizeof(*paths->groups));
	for (size_t i = 0; i < world->graph.roots.count; i++)
		paths->groups[i] = (uint32_t)(i % ROOT_GROUPS);
	return paths;
}

void paths_world_close(struct paths_world *paths)
{
	hawk_dominators_deinit(&paths->dominators);
	hawk_reach_deinit(&paths->reach);
	graph_world_destroy(paths->world);
	free(paths->groups);
	free(paths);
}

struct paths_world *paths_world_random(uint64_t *seed)
{
	struct graph_world *world = graph_world_create();

	graph_world_fill(world, seed);
	return paths_world_open(world);
}
