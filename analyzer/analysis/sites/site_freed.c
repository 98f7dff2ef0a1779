/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Gives each site a lane, one bit of a block's marks: the block stays when all blocks of the site
 * are freed. One flood from the roots fills the lanes of many sites at a time; it does not enter a
 * site's blocks by the site's own lane.
 *
 * Lost blocks follow. A second flood marks what a site's lost blocks lead to. All other lost blocks
 * stay, and a third flood goes on from them.
 */
#include "hawk/analysis/site_freed.h"

#include <stdlib.h>

#include "hawk/analysis/selection.h"
#include "hawk/base/area.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/graph/flood.h"

/** A block's marks:  | 31..27 number of its site | 26 queued | 25..2 lanes | 1 | 0 reached | */
enum { LANES = 25, OWN_SHIFT = LANES + 2 };

static const uint32_t REACHED = 1; /* from roots, with nothing freed */
static const uint32_t LANES_MASK = ((UINT32_C(1) << LANES) - 1) << 1; /* site i: 1 << i, from 1 */
static const uint32_t QUEUED = UINT32_C(1) << (LANES + 1);            /* on its way in a flood */

struct freeing {
	struct hawk_flood ways; /* first */
	uint32_t *stays;        /**< marks by block; with the number of its site, 0 = another */
	uint32_t *led;          /**< marks by block: lost blocks of the site lead to it */
	uint32_t *marks;        /**< the ones that the current flood fills */
	uint32_t barred;        /**< enter no block that has one of these in `stays` */
};

/* The lane of the site that the block is of; 0 = none. */
static uint32_t own_lane(uint32_t marks)
{
	return UINT32_C(1) << (marks >> OWN_SHIFT) & LANES_MASK;
}

/* Adds lanes to a block, and queues it where some are new. */
static void add_lanes(struct freeing *freeing, uint32_t block, uint32_t lanes)
{
	uint32_t *marks = &freeing->marks[block];

	lanes &= ~*marks;
	if (!lanes)
		return;
	if (!(*marks & QUEUED))
		hawk_flood_push(&freeing->ways, block);
	*marks |= lanes | QUEUED;
}

static void meet(struct hawk_flood *ways, uint32_t block, uint32_t lanes)
{
	struct freeing *freeing = (struct freeing *)ways;
	uint32_t stays = freeing->stays[block];

	if (!(stays & freeing->barred))
		add_lanes(freeing, block, lanes & ~own_lane(stays));
}

static void expand(struct hawk_flood *ways, uint32_t block)
{
	struct freeing *freeing = (struct freeing *)ways;
	const struct hawk_graph *graph = ways->graph;
	uint32_t lanes = freeing->marks[block] & (REACHED | LANES_MASK);
	uint32_t end = graph->offsets[block + 1];

	freeing->marks[block] &= ~QUEUED;
	for (uint32_t i = graph->offsets[block]; i < end; i++) {
		uint32_t target = graph->edges[i] >> 1;

		hawk_prefetch(&freeing->marks[target]);
		hawk_flood_offer(ways, target, lanes, meet);
	}
}

static void run_flood(struct freeing *freeing)
{
	hawk_flood_run(&freeing->ways, meet, expand);
}

static void flood_from_roots(struct freeing *freeing)
{
	const struct hawk_roots *roots = &freeing->ways.graph->roots;

	freeing->marks = freeing->stays;
	for (size_t i = 0; i < roots->count; i++)
		hawk_flood_offer(&freeing->ways, roots->items[i].edge >> 1, REACHED | LANES_MASK,
				 meet);
	run_flood(freeing);
}

/* Lost blocks keep only lost ones. */
static void flood_lost(struct freeing *freeing)
{
	uint32_t count = freeing->ways.graph->count;
	const uint32_t *stays = freeing->stays;

	freeing->barred = REACHED;
	freeing->marks = freeing->led;
	for (uint32_t block = 0; block < count; block++)
		if (!(stays[block] & REACHED))
			add_lanes(freeing, block, own_lane(stays[block]));
	run_flood(freeing);
	freeing->marks = freeing->stays;
	for (uint32_t block = 0; block < count; block++)
		if (!(stays[block] & REACHED))
			meet(&freeing->ways, block, LANES_MASK & ~freeing->led[block]);
	run_flood(freeing);
}

/* Clears all marks but the number of the site. */
static struct hawk_error *number_blocks(struct freeing *freeing, const uint64_t *chosen,
					const uint32_t *sites, size_t count)
{
	const struct hawk_heap *heap = freeing->ways.graph->heap;
	CLEANUP(free_ptr) uint8_t *numbers = calloc(heap->site_count + 1, 1);

	if (!numbers)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		numbers[sites[i]] = (uint8_t)(i + 1);
	for (uint32_t block = 0; block < freeing->ways.graph->count; block++) {
		uint32_t site = hawk_heap_site_at(heap, block);
		bool own = site < heap->site_count && hawk_block_is_chosen(chosen, block);

		freeing->stays[block] = own ? (uint32_t)numbers[site] << OWN_SHIFT : 0;
	}
	return NULL;
}

static void add_up(const struct freeing *freeing, size_t count, uint64_t *ret)
{
	const struct hawk_graph *graph = freeing->ways.graph;
	uint32_t wanted = ((UINT32_C(1) << count) - 1) << 1;
	struct hawk_chosen sums[LANES] = {{0}};

	for (uint32_t block = 0; block < graph->count; block++)
		for (uint32_t gone = ~freeing->stays[block] & wanted; gone; gone &= gone - 1)
			hawk_chosen_add(&sums[__builtin_ctz(gone) - 1], &graph->heap->index, block);
	for (size_t i = 0; i < count; i++)
		ret[i] = sums[i].bytes;
}

/* At most LANES sites. `areas` have room for a number for each block, and one more. */
static struct hawk_error *free_sites(const struct hawk_graph *graph, const uint64_t *chosen,
				     const uint32_t *sites, size_t count, struct hawk_area *areas,
				     uint64_t *ret)
{
	struct freeing freeing = {
		.ways = {.graph = graph, .stack = areas[0].bytes},
		.stays = areas[1].bytes,
		.led = areas[2].bytes,
	};
	struct hawk_error *err = number_blocks(&freeing, chosen, sites, count);

	if (err)
		return err;
	flood_from_roots(&freeing);
	flood_lost(&freeing);
	add_up(&freeing, count, ret);
	return NULL;
}

struct hawk_error *hawk_site_freed(const struct hawk_graph *graph, const uint64_t *chosen,
				   const uint32_t *sites, size_t count, uint64_t *ret)
{
	uint64_t bytes = ((uint64_t)graph->count + 1) * sizeof(uint32_t);
	struct hawk_error *err = NULL;
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "finding what sites retain",
			    (uint64_t)graph->count * ((count + LANES - 1) / LANES));
	for (size_t i = 0; !err && i < count; i += LANES) {
		size_t some = count - i < LANES ? count - i : LANES;
		struct hawk_area areas[3] = {{0}};

		for (unsigned j = 0; !err && j < 3; j++)
			err = hawk_area_create_sparse(&areas[j], bytes);
		if (!err)
			err = free_sites(graph, chosen, sites + i, some, areas, ret + i);
		for (unsigned j = 0; j < 3; j++)
			hawk_area_destroy(&areas[j]);
	}
	hawk_progress_end(&progress);
	return err;
}
