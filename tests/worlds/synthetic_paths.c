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
	paths->heap.site_of_trace = paths->site_of_trace;
	paths->heap.trace_count = GRAPH_TRACES;
	for (uint32_t i = 0; i < GRAPH_TRACES; i++)
		paths->site_of_trace[i] = i;
	paths->heap.target = world->target;
	paths->heap.index = world->index;
	hawk_block_graph_init(&paths->graph, &paths->heap, &world->findings);
	paths->graph.edges = world->graph;
	paths->graph.roots = world->roots;
	check(hawk_reach_make(&world->index, &world->graph, &world->roots, HAWK_EDGES_ALL,
			      &world->workspace, &paths->graph.reach));
	check(hawk_dominators_make(&world->index, &world->graph, &world->roots, &paths->graph.reach,
				   &world->workspace, &paths->graph.dominators));
	hawk_dominators_number_blocks(&paths->graph.dominators);
	paths->graph.workspace = world->workspace;
	paths->graph.parts = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS | HAWK_PART_REACH |
			     HAWK_PART_RETAINED;
	paths->groups = calloc(world->roots.count + 1, sizeof(*paths->groups));
	for (size_t i = 0; i < world->roots.count; i++)
		paths->groups[i] = (uint32_t)(i % ROOT_GROUPS);
	return paths;
}

void paths_world_close(struct paths_world *paths)
{
	hawk_reach_deinit(&paths->graph.reach);
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
