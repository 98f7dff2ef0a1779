/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Graph objects around small worlds.
 */
#include "synthetic_site_world.h"

void site_world_open(struct site_world *fixture, struct graph_world *world)
{
	*fixture = (struct site_world){.world = world, .wanted = UINT64_MAX};
	graph_world_open(world, 1, SIZE_MAX);
	for (uint32_t i = 0; i < SITE_WORLD_SITES; i++)
		fixture->site_of_trace[i] = SITE_WORLD_SITES - 1 - i;
	fixture->heap = (struct hawk_heap){
		.target = world->target,
		.index = world->index,
		.plan = world->plan,
		.sites = fixture->sites,
		.site_count = SITE_WORLD_SITES,
		.site_of_trace = fixture->site_of_trace,
		.trace_count = SITE_WORLD_SITES,
		.lost_site = UINT32_MAX,
	};
	fixture->graph = (struct hawk_block_graph){
		.heap = &fixture->heap,
		.findings = &world->findings,
		.edges = world->graph,
		.roots = world->roots,
		.parts = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS,
	};
}

void site_world_forget_edges(struct site_world *fixture)
{
	fixture->graph.edges = (struct hawk_graph){0};
	fixture->graph.parts &= ~(unsigned)HAWK_PART_EDGES;
}

void site_world_close(struct site_world *fixture)
{
	if (fixture->graph.edges.edges != fixture->world->graph.edges)
		hawk_graph_deinit(&fixture->graph.edges);
	/* These belong to the world. */
	fixture->graph.edges = (struct hawk_graph){0};
	fixture->graph.roots = (struct hawk_roots){0};
	hawk_block_graph_deinit(&fixture->graph);
	graph_world_destroy(fixture->world);
}
