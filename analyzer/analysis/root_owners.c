/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A flood from lasting roots, then one from those of threads over what is left. A block has no
 * owner, then one, then several; when that changes it goes onto the stack, and hands it on to what
 * it points to. Two rings delay, so that cache misses overlap (as in graph/reach.c); the outcome
 * does not depend on the order.
 */
#include "root_owners.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_prefetch.h"

enum {
	TARGETS_AHEAD = 16,
	BLOCKS_AHEAD = 8,
};

struct flood {
	const struct hawk_graph *graph;
	uint32_t skipped; /* bits of edges that do not count */
	uint32_t *of;
	uint64_t *lasting; /* a bit for every block that the first flood has met; NULL = it runs */
	uint32_t *stack;   /* of blocks; each goes there twice at most */
	uint64_t depth;
	unsigned target_at;
	unsigned block_at;
	uint32_t targets_used; /* a bit for every place that is not empty */
	uint32_t blocks_used;
	struct {
		uint32_t block, owner;
	} targets[TARGETS_AHEAD];
	uint32_t blocks[BLOCKS_AHEAD];
};

static void meet(struct flood *flood, uint32_t block, uint32_t owner)
{
	uint32_t before = flood->of[block];

	if (before == owner || before == HAWK_OWNERS_SEVERAL ||
	    (flood->lasting && flood->lasting[block / 64] >> block % 64 & 1))
		return;
	flood->of[block] = before == HAWK_OWNER_NONE ? owner : (uint32_t)HAWK_OWNERS_SEVERAL;
	flood->stack[flood->depth++] = block;
}

static void offer(struct flood *flood, uint32_t block, uint32_t owner)
{
	unsigned at = flood->target_at++ % TARGETS_AHEAD;
	uint32_t before = flood->targets[at].block;
	uint32_t owner_before = flood->targets[at].owner;

	hawk_prefetch(&flood->of[block]);
	hawk_prefetch(&flood->graph->offsets[block]);
	flood->targets[at].block = block;
	flood->targets[at].owner = owner;
	if (flood->targets_used >> at & 1)
		meet(flood, before, owner_before);
	flood->targets_used |= 1u << at;
}

static void expand(struct flood *flood, uint32_t block)
{
	uint32_t end = flood->graph->offsets[block + 1];
	uint32_t owner = flood->of[block];

	for (uint32_t i = flood->graph->offsets[block]; i < end; i++)
		if (!(flood->graph->edges[i] & flood->skipped))
			offer(flood, flood->graph->edges[i] >> 1, owner);
}

static void put_off(struct flood *flood, uint32_t block)
{
	unsigned at = flood->block_at++ % BLOCKS_AHEAD;
	uint32_t before = flood->blocks[at];

	hawk_prefetch(&flood->graph->edges[flood->graph->offsets[block]]);
	flood->blocks[at] = block;
	if (flood->blocks_used >> at & 1)
		expand(flood, before);
	flood->blocks_used |= 1u << at;
}

static void run(struct flood *flood)
{
	while (flood->depth || flood->blocks_used || flood->targets_used) {
		while (flood->depth)
			put_off(flood, flood->stack[--flood->depth]);
		for (; flood->blocks_used; flood->blocks_used &= flood->blocks_used - 1)
			expand(flood, flood->blocks[__builtin_ctz(flood->blocks_used)]);
		for (; flood->targets_used; flood->targets_used &= flood->targets_used - 1) {
			unsigned at = (unsigned)__builtin_ctz(flood->targets_used);

			meet(flood, flood->targets[at].block, flood->targets[at].owner);
		}
	}
}

static void flood_from(struct flood *flood, const struct hawk_roots *roots, enum hawk_edges edges,
		       const uint32_t *groups, bool passing)
{
	for (size_t i = 0; i < roots->count; i++)
		if (hawk_root_passes(&roots->items[i]) == passing &&
		    hawk_root_counts(&roots->items[i], edges))
			offer(flood, roots->items[i].edge >> 1, groups[i]);
	run(flood);
}

struct hawk_error *hawk_root_owners_find(const struct hawk_block_graph *graph,
					 enum hawk_edges edges, const uint32_t *groups,
					 uint32_t *of, struct hawk_root_owners *ret)
{
	uint64_t count = graph->index.count;
	CLEANUP(free_ptr) uint64_t *lasting = calloc(count / 64 + 1, sizeof(*lasting));
	struct flood flood = {
		.graph = &graph->edges,
		.skipped = edges == HAWK_EDGES_START_ONLY ? HAWK_EDGE_INTERIOR : 0,
		.of = of,
	};
	struct hawk_error *err = &hawk_enomem;
	struct hawk_area stack;

	if (lasting)
		err = hawk_area_create_sparse(&stack, (2 * count + 1) * sizeof(uint32_t));
	if (err)
		return err;
	flood.stack = stack.bytes;
	memset(of, 0xff, count * sizeof(*of));
	flood_from(&flood, &graph->roots, edges, groups, false);
	for (uint64_t block = 0; block < count; block++)
		lasting[block / 64] |= (uint64_t)(of[block] != HAWK_OWNER_NONE) << block % 64;
	flood.lasting = lasting;
	flood_from(&flood, &graph->roots, edges, groups, true);
	hawk_area_destroy(&stack);
	*ret = (struct hawk_root_owners){.of = of, .lasting = take_ptr(&lasting)};
	return NULL;
}

void hawk_root_owners_deinit(struct hawk_root_owners *owners)
{
	free(owners->lasting);
	*owners = (struct hawk_root_owners){0};
}
