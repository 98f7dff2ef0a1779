/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A small random heap as a graph object, every trace a site: for what is folded by site. Test code.
 */
#ifndef SYNTHETIC_SITE_WORLD_H
#define SYNTHETIC_SITE_WORLD_H

#include "hawk/graph/dominators.h"
#include "synthetic_graph.h"

enum { SITE_WORLD_SITES = GRAPH_TRACES };

struct site_world {
	struct graph_world *world;
	uint32_t site_of_trace[SITE_WORLD_SITES];
	struct hawk_site sites[SITE_WORLD_SITES];
	struct hawk_heap heap;
	struct hawk_graph graph; /**< the world's, of this heap */
	struct hawk_reach reach;
	uint64_t wanted; /**< a bit for each block: whose pointers the oracle counts */
};

/** Takes `world`, which has its blocks and pointers; index, edges and roots are made. */
void site_world_open(struct site_world *fixture, struct graph_world *world);

void site_world_close(struct site_world *fixture);

/** The same with dominators and an oracle, and with roots in a few groups. */
struct paths_world {
	struct graph_world *world;
	struct graph_oracle oracle;
	const struct hawk_graph *graph; /**< the world's */
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	uint32_t *groups;
};

/** Takes over `world`, which is filled and not open. */
struct paths_world *paths_world_open(struct graph_world *world);
struct paths_world *paths_world_random(uint64_t *seed);
void paths_world_close(struct paths_world *paths);

#endif
