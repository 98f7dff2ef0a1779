/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Small heaps with the patterns of heuristics for interior pointers, and an oracle of leak kinds
 * that shares only the bytes with the analyzer. Test code.
 */
#ifndef SYNTHETIC_LEAKS_H
#define SYNTHETIC_LEAKS_H

#include "hawk/analysis/leaks.h"
#include "synthetic_graph.h"

/** Some blocks become strings, sized buffers, arrays and elements of lists, with pointers into
 * them. */
void leaks_world_add_patterns(struct graph_world *world, uint64_t *seed);

/** As graph_oracle, with explained pointers among the start pointers. Sets of blocks are bits. */
struct leaks_oracle {
	struct graph_oracle plain;
	uint64_t strong[GRAPH_BLOCKS_MAX];
	uint64_t strong_roots;
	uint8_t kinds[GRAPH_BLOCKS_MAX];
};

/** `heuristics`: those that explain. From here on the world ignores ends, or does not. */
void leaks_oracle_make(struct graph_world *world, unsigned heuristics, struct leaks_oracle *ret);

#endif
