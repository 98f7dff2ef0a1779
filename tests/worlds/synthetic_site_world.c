/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Graph objects around small worlds.
 */
#include "test.h"
#include "synthetic_site_world.h"

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
	check(hawk_reach_make(&fixture->graph, HAWK_EDGES_ALL, NULL, &fixture->reach));
}

void site_world_dominators(const struct site_world *fixture, enum hawk_edges edges,
			   struct hawk_dominators *ret)
{
	struct hawk_reach reach;

	check(hawk_reach_make(&fixture->graph, edges, NULL, &reach));
	check(hawk_dominators_make(&fixture->graph, &reach, ret));
	hawk_reach_deinit(&reach);
}

void site_world_close(struct site_world *fixture)
{
	hawk_reach_deinit(&fixture->reach);
	graph_world_destroy(fixture->world);
}
