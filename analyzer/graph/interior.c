/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list is made in pieces of all edges, each in its share of the room; then the pieces are put
 * behind each other.
 */
#include "hawk_interior.h"

#include <string.h>

#include "hawk_parallel.h"
#include "hawk_progress.h"

enum {
	PIECES_MAX = 8,
	EDGES_AT_ONCE = 64,
	EDGES_PER_ENTRY = 64,    /* more entries are too much memory */
	ENTRIES_MIN = 512,       /* of a piece */
	EDGES_FOR_TWO = 1 << 16, /* fewer are not worth a thread */
};

struct listing {
	struct hawk_interior *interior;
	unsigned pieces;
	uint32_t room; /* of a piece */
	uint32_t counts[PIECES_MAX];
	bool full[PIECES_MAX];
};

/* A block that is not behind the one whose edge `edge` is, and mostly near: where blocks have about
 * as many edges as on average. */
static uint32_t guess_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block)
{
	uint64_t edges = edge - graph->offsets[block];
	uint64_t guess = block + edges * graph->count / graph->edge_count * 7 / 8;

	return guess < graph->count && graph->offsets[guess] <= edge ? (uint32_t)guess : block;
}

/* `source`: of the entry before, then of this one. False: there is no room. */
static bool add_entry(struct listing *listing, unsigned piece, uint32_t edge, uint32_t *source)
{
	const struct hawk_graph *graph = listing->interior->graph;

	*source = hawk_graph_source(graph, edge, guess_source(graph, edge, *source));
	if (graph->edges[edge] >> 1 == *source)
		return true;
	if (listing->counts[piece] == listing->room)
		return false;
	listing->interior->edges[(size_t)listing->room * piece + listing->counts[piece]++] =
		(struct hawk_interior_edge){edge, *source};
	return true;
}

/* Whether one of EDGES_AT_ONCE edges is interior. */
static bool any_interior(const uint32_t *edges)
{
	const uint64_t both = HAWK_EDGE_INTERIOR * UINT64_C(0x100000001);
	uint64_t any = 0;

	for (unsigned i = 0; i < EDGES_AT_ONCE; i += 2) {
		uint64_t two;

		memcpy(&two, edges + i, sizeof(two));
		any |= two;
	}
	return any & both;
}

/* The edges [first, end). False: there is no room. */
static bool list_edges(struct listing *listing, unsigned piece, uint32_t first, uint32_t end,
		       uint32_t *source)
{
	const uint32_t *edges = listing->interior->graph->edges;

	for (uint32_t edge = first; edge < end; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR && !add_entry(listing, piece, edge, source))
			return false;
	return true;
}

static void list_piece(void *context, unsigned piece)
{
	struct listing *listing = context;
	const struct hawk_graph *graph = listing->interior->graph;
	uint64_t all = graph->edge_count;
	uint32_t end = (uint32_t)(all * (piece + 1) / listing->pieces);
	uint32_t at = (uint32_t)(all * piece / listing->pieces);
	uint32_t source = 0;
	bool fits = true;

	for (; fits && end - at >= EDGES_AT_ONCE; at += EDGES_AT_ONCE) {
		if (any_interior(graph->edges + at))
			fits = list_edges(listing, piece, at, at + EDGES_AT_ONCE, &source);
		hawk_progress_tick(at / EDGES_AT_ONCE);
	}
	listing->full[piece] = !fits || !list_edges(listing, piece, at, end, &source);
}

/* Behind each other. */
static void join(struct listing *listing)
{
	struct hawk_interior *interior = listing->interior;

	interior->listed = true;
	for (unsigned i = 0; i < listing->pieces; i++) {
		interior->listed &= !listing->full[i];
		memmove(interior->edges + interior->count,
			interior->edges + (size_t)listing->room * i,
			listing->counts[i] * sizeof(*interior->edges));
		interior->count += listing->counts[i];
	}
	if (interior->listed) {
		hawk_area_trim(&interior->area, interior->count * sizeof(*interior->edges));
		return;
	}
	hawk_area_destroy(&interior->area);
	*interior = (struct hawk_interior){.graph = interior->graph};
}

void hawk_interior_init(struct hawk_interior *ret, const struct hawk_graph *graph, unsigned threads)
{
	struct listing listing = {.interior = ret, .pieces = threads};
	struct hawk_progress progress;
	struct hawk_error *err;

	*ret = (struct hawk_interior){.graph = graph};
	if (listing.pieces > PIECES_MAX)
		listing.pieces = PIECES_MAX;
	if (!listing.pieces || graph->edge_count < EDGES_FOR_TWO)
		listing.pieces = 1;
	listing.room = graph->edge_count / EDGES_PER_ENTRY / listing.pieces + ENTRIES_MIN;
	err = hawk_area_create_sparse(&ret->area, (uint64_t)listing.room * listing.pieces *
							  sizeof(*ret->edges));
	if (err) {
		hawk_error_destroy(err);
		return;
	}
	ret->edges = ret->area.bytes;
	hawk_progress_begin(&progress, "listing interior pointers",
			    graph->edge_count / EDGES_AT_ONCE + listing.pieces);
	hawk_parallel_run(listing.pieces, list_piece, &listing);
	hawk_progress_end(&progress);
	join(&listing);
}

void hawk_interior_deinit(struct hawk_interior *interior)
{
	hawk_area_destroy(&interior->area);
	*interior = (struct hawk_interior){0};
}
