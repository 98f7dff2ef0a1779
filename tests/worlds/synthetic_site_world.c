/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Graph objects around small worlds.
 */
#include "test.h"
#include "test.h"
#include "synthetic_site_world.h"

enum { ROOT_GROUPS = 3 };

void site_world_open(struct site_world *fixture, struct graph_world *world)
{
	*fixture = (struct site_world){.world = world, .wanted = UINT64_MAX};
	graph_world_open(world, 1, SIZE_MAX);
	for (uint32_t i = 0; i < SITE_WORLD_SITES; i++)
		fixture->site_of_trace[i] = SITE_WORLD_SITES - 1 - i;
	fixture->heap = world->found;
	fixture->heap.sites = fixture->sites;
	fixture->heap.site_of_trace = fixture->site_of_trace;
	fixture->heap.lost_site = UINT32_MAX;
	fixture->graph = world->graph;
	fixture->graph.heap = &fixture->heap;
	check(hawk_reach_make(&fixture->graph, NULL, &fixture->reach));
}

void site_world_close(struct site_world *fixture)
{
	hawk_reach_deinit(&fixture->reach);
	graph_world_destroy(fixture->world);
}

struct paths_world *paths_world_open(struct graph_world *world)
{
	struct paths_world *paths = calloc(1, sizeof(*paths));

	graph_world_open(world, 1, SIZE_MAX);
	graph_oracle_make(world, &paths->oracle);
	paths->world = world;
	paths->graph = &world->graph;
	check(hawk_reach_make(paths->graph, NULL, &paths->reach));
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
