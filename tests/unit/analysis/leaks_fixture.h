/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leaks of a made graph, for the tests of leaks.
 */
#ifndef LEAKS_FIXTURE_H
#define LEAKS_FIXTURE_H

#include "synthetic_leaks.h"
#include "test.h"

enum { SITES = GRAPH_TRACES / 2, ALL_KINDS = (1u << HAWK_REACH_KINDS) - 1 };

/** A world as a graph whose traces 2n and 2n + 1 are site n. */
struct leaks_world {
	struct graph_world *world;
	struct hawk_heap heap;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[GRAPH_TRACES];
	struct hawk_graph graph;
	struct hawk_explained explained;
	struct hawk_reach reach;
	struct hawk_leaks leaks;
};

static inline void open_world(struct leaks_world *leaks, size_t cut_bytes, unsigned heuristics)
{
	struct graph_world *world = leaks->world;

	graph_world_open(world, 1, cut_bytes);
	for (unsigned i = 0; i < GRAPH_TRACES; i++)
		leaks->site_of_trace[i] = i / 2;
	for (unsigned i = 0; i < SITES; i++)
		leaks->sites[i].id = 1000 + i;
	leaks->heap = world->found;
	leaks->heap.sites = leaks->sites;
	leaks->heap.site_count = SITES;
	leaks->heap.site_of_trace = leaks->site_of_trace;
	leaks->heap.lost_site = UINT32_MAX;
	leaks->graph = world->graph;
	leaks->graph.heap = &leaks->heap;
	check(hawk_heuristics_find(&leaks->graph, heuristics, NULL, &leaks->explained));
}

static inline void make(struct leaks_world *leaks, unsigned kinds,
			const struct hawk_selector *filter)
{
	uint64_t *chosen = NULL;

	if (filter)
		check(hawk_selection_bits_make(&leaks->heap, filter, false, &chosen));
	check(hawk_reach_make(&leaks->graph, &leaks->explained, &leaks->reach));
	check(hawk_leaks_make(&leaks->graph, &leaks->explained, &leaks->reach, kinds, chosen,
			      &leaks->leaks));
	free(chosen);
}

static inline void close_world(struct leaks_world *leaks)
{
	hawk_leaks_deinit(&leaks->leaks);
	hawk_reach_deinit(&leaks->reach);
	hawk_explained_deinit(&leaks->explained);
	graph_world_destroy(leaks->world);
}

#endif
