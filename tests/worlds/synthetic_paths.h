/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A small random heap as the graph object that verbs use, with dominators: where every trace is a
 * site, and roots are in a few groups. What goes wrong fails the test.
 */
#ifndef SYNTHETIC_PATHS_H
#define SYNTHETIC_PATHS_H

#include "hawk_dominators.h"
#include "synthetic_graph.h"

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
