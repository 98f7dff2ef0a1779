/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A flood from lasting roots, then one from those of threads over what is left. A block has no
 * owner, then one, then several; when that changes it goes onto the stack, and hands it on to what
 * it points to. The outcome does not depend on the order.
 */
#include "root_owners.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_flood.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"

struct flood {
	struct hawk_flood ways; /* first; each block goes onto its stack twice at most */
	uint32_t skipped;       /* bits of edges that do not count */
	uint32_t *of;
	uint64_t *lasting; /* a bit for every block that the first flood has met; NULL = it runs */
};

static void meet(struct hawk_flood *ways, uint32_t block, uint32_t owner)
{
	struct flood *flood = (struct flood *)ways;
	uint32_t before = flood->of[block];

	if (before == owner || before == HAWK_OWNERS_SEVERAL ||
	    (flood->lasting && flood->lasting[block / 64] >> block % 64 & 1))
		return;
	flood->of[block] = before == HAWK_OWNER_NONE ? owner : (uint32_t)HAWK_OWNERS_SEVERAL;
	hawk_flood_push(ways, block);
}

static void offer(struct flood *flood, uint32_t block, uint32_t owner)
{
	hawk_prefetch(&flood->of[block]);
	hawk_flood_offer(&flood->ways, block, owner, meet);
}

static void expand(struct hawk_flood *ways, uint32_t block)
{
	struct flood *flood = (struct flood *)ways;
	const uint32_t *edges = ways->graph->edges;
	uint32_t end = ways->graph->offsets[block + 1];
	uint32_t owner = flood->of[block];

	for (uint32_t i = ways->graph->offsets[block]; i < end; i++)
		if (!(edges[i] & flood->skipped))
			offer(flood, edges[i] >> 1, owner);
}

static void flood_from(struct flood *flood, const struct hawk_roots *roots, enum hawk_edges edges,
		       const uint32_t *groups, bool passing)
{
	for (size_t i = 0; i < roots->count; i++)
		if (hawk_root_passes(&roots->items[i]) == passing &&
		    hawk_root_counts(&roots->items[i], edges))
			offer(flood, roots->items[i].edge >> 1, groups[i]);
	hawk_flood_run(&flood->ways, meet, expand);
}

struct hawk_error *hawk_root_owners_find(const struct hawk_graph *graph, enum hawk_edges edges,
					 const uint32_t *groups, uint32_t *of,
					 struct hawk_root_owners *ret)
{
	uint64_t count = graph->heap->index.count;
	CLEANUP(free_ptr) uint64_t *lasting = calloc(count / 64 + 1, sizeof(*lasting));
	struct flood flood = {
		.ways.graph = graph,
		.skipped = edges == HAWK_EDGES_START_ONLY ? HAWK_EDGE_INTERIOR : 0,
		.of = of,
	};
	struct hawk_error *err = &hawk_enomem;
	struct hawk_progress progress;
	struct hawk_area stack;

	if (lasting)
		err = hawk_area_create_sparse(&stack, (2 * count + 1) * sizeof(uint32_t));
	if (err)
		return err;
	flood.ways.stack = stack.bytes;
	/* A block's owner changes twice at most. */
	hawk_progress_begin(&progress, "finding roots of blocks", 2 * count);
	memset(of, 0xff, count * sizeof(*of));
	flood_from(&flood, &graph->roots, edges, groups, false);
	for (uint64_t block = 0; block < count; block++)
		lasting[block / 64] |= (uint64_t)(of[block] != HAWK_OWNER_NONE) << block % 64;
	flood.lasting = lasting;
	flood_from(&flood, &graph->roots, edges, groups, true);
	hawk_progress_end(&progress);
	hawk_area_destroy(&stack);
	*ret = (struct hawk_root_owners){.of = of, .lasting = take_ptr(&lasting)};
	return NULL;
}

void hawk_root_owners_deinit(struct hawk_root_owners *owners)
{
	free(owners->lasting);
	*owners = (struct hawk_root_owners){0};
}
