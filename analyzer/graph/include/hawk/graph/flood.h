/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A flood over the pointer graph in which many cache misses overlap. Blocks pass through it like
 * this:
 *
 *     offer -> a ring of targets -> meet -> the stack -> a ring of blocks -> expand -> offer ...
 *
 * The rings delay, so that a target's data is prefetched before meet() and a block's edges before
 * expand(). The blocks that a flood meets must not depend on the order. The caller supplies both
 * steps: meet() pushes blocks to go on from, expand() offers a block's targets. Both are inlined
 * where they are named. Expanded blocks count as progress.
 */
#ifndef HAWK_ANALYZER_GRAPH_FLOOD_H
#define HAWK_ANALYZER_GRAPH_FLOOD_H

#include "hawk/graph/graph.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum {
	HAWK_FLOOD_TARGETS = 16, /* at most 32, of both */
	HAWK_FLOOD_BLOCKS = 8,
};

struct hawk_flood {
	const struct hawk_graph *graph;
	uint32_t *stack; /**< the caller's, with room for all blocks that meet() pushes */
	uint64_t depth;
	unsigned target_at;
	unsigned block_at;
	uint32_t targets_used; /**< a bit for every place that is not empty */
	uint32_t blocks_used;
	struct {
		uint32_t block, with;
	} targets[HAWK_FLOOD_TARGETS];
	uint32_t blocks[HAWK_FLOOD_BLOCKS];
};

/** Called for each block offered; `with` is the offer's second value. */
typedef void hawk_flood_meet(struct hawk_flood *flood, uint32_t block, uint32_t with);
typedef void hawk_flood_expand(struct hawk_flood *flood, uint32_t block);

static inline void hawk_flood_push(struct hawk_flood *flood, uint32_t block)
{
	flood->stack[flood->depth++] = block;
}

/** Offers `block`. The caller prefetches what meet() will read of it. */
static inline __attribute__((always_inline)) void
hawk_flood_offer(struct hawk_flood *flood, uint32_t block, uint32_t with, hawk_flood_meet *meet)
{
	unsigned at = flood->target_at++ % HAWK_FLOOD_TARGETS;
	uint32_t before = flood->targets[at].block, with_before = flood->targets[at].with;

	hawk_prefetch(&flood->graph->offsets[block]);
	flood->targets[at].block = block;
	flood->targets[at].with = with;
	if (flood->targets_used >> at & 1)
		meet(flood, before, with_before);
	flood->targets_used |= 1u << at;
}

static inline __attribute__((always_inline)) void
hawk_flood_put_off(struct hawk_flood *flood, uint32_t block, hawk_flood_expand *expand)
{
	unsigned at = flood->block_at % HAWK_FLOOD_BLOCKS;
	uint32_t before = flood->blocks[at];

	hawk_progress_tick(flood->block_at++);
	hawk_prefetch(&flood->graph->edges[flood->graph->offsets[block]]);
	flood->blocks[at] = block;
	if (flood->blocks_used >> at & 1)
		expand(flood, before);
	flood->blocks_used |= 1u << at;
}

/** Runs until rings and stack are empty. */
static inline __attribute__((always_inline)) void
hawk_flood_run(struct hawk_flood *flood, hawk_flood_meet *meet, hawk_flood_expand *expand)
{
	while (flood->depth || flood->blocks_used || flood->targets_used) {
		while (flood->depth)
			hawk_flood_put_off(flood, flood->stack[--flood->depth], expand);
		for (; flood->blocks_used; flood->blocks_used &= flood->blocks_used - 1)
			expand(flood, flood->blocks[__builtin_ctz(flood->blocks_used)]);
		for (; flood->targets_used; flood->targets_used &= flood->targets_used - 1) {
			unsigned at = (unsigned)__builtin_ctz(flood->targets_used);

			meet(flood, flood->targets[at].block, flood->targets[at].with);
		}
	}
}

#endif
