/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folds the pointers of roots and blocks by site. A source block's pointers come consecutively, so
 * its number detects repeats. The place of each pointer is noted by target block; when all have
 * been read, targets are counted in the same way.
 */
#include "hawk/analysis/site_graph.h"

#include <stdlib.h>

#include "hawk/base/area.h"
#include "hawk/base/array.h"
#include "hawk/analysis/selection.h"
#include "hawk/base/cleanup.h"
#include "hawk/graph/pointers.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

/** In place of an offset. */
static const uint32_t ANYWHERE = UINT32_MAX;
static const uint32_t ALL_PLACES = UINT32_MAX - 1;

/** An edge, or one of its places. */
struct entry {
	uint32_t source, target; /**< sites */
	uint32_t offset;         /**< ALL_PLACES: this is the edge */
	uint32_t edge; /**< index of the edge; of an edge, later, its place in the result */
	uint32_t last_source, last_target; /**< blocks that were counted last */
	uint32_t place_count;              /**< of an edge */
	bool anywhere;                     /**< of an edge: it has a place without offset */
	struct hawk_site_counts counts;
};

struct tally {
	const struct hawk_graph *graph;
	const uint64_t *wanted; /**< bits of target blocks; NULL = all */
	struct entry *entries;
	size_t count, capacity;
	uint32_t *slots; /**< 2 * capacity by hash: index + 1 of an entry; 0 = empty */
	struct hawk_area area;
	/** By target block: where the last of its places lies in `places`, or behind them. */
	uint32_t *next;
	uint32_t *places; /**< by pointer: index + 1 of its place; 0 = it does not count */
	size_t pointer_count;
};

static void hawk_cleanup_tally(struct tally *tally)
{
	free(tally->entries);
	free(tally->slots);
	hawk_area_destroy(&tally->area);
}

static uint32_t *find_slot(const struct tally *tally, uint32_t source, uint32_t target,
			   uint32_t offset)
{
	uint64_t mixed = ((uint64_t)source << 32 | target) ^ offset * UINT64_C(0x94d049bb133111eb);
	size_t mask = 2 * tally->capacity - 1;

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	for (size_t at = (mixed >> 32) & mask;; at = (at + 1) & mask) {
		const struct entry *entry =
			tally->slots[at] ? &tally->entries[tally->slots[at] - 1] : NULL;

		if (!entry ||
		    (entry->source == source && entry->target == target && entry->offset == offset))
			return &tally->slots[at];
	}
}

/* Room for one more. */
static struct hawk_error *grow(struct tally *tally)
{
	size_t before = tally->capacity;

	if (!hawk_array_reserve(&tally->entries, tally->count, &tally->capacity,
				sizeof(*tally->entries)) ||
	    tally->capacity > UINT32_MAX / 2)
		return &hawk_enomem;
	if (tally->capacity == before)
		return NULL;
	free(tally->slots);
	tally->slots = calloc(2 * tally->capacity, sizeof(*tally->slots));
	if (!tally->slots)
		return &hawk_enomem;
	for (size_t i = 0; i < tally->count; i++)
		*find_slot(tally, tally->entries[i].source, tally->entries[i].target,
			   tally->entries[i].offset) = (uint32_t)i + 1;
	return NULL;
}

/* Finds the index of an entry, making it if necessary. */
static struct hawk_error *find_entry(struct tally *tally, uint32_t source, uint32_t target,
				     uint32_t offset, uint32_t *ret)
{
	uint32_t *slot = find_slot(tally, source, target, offset);
	uint32_t edge = 0;
	struct hawk_error *err;

	if (*slot) {
		*ret = *slot - 1;
		return NULL;
	}
	if (offset != ALL_PLACES) {
		err = find_entry(tally, source, target, ALL_PLACES, &edge);
		if (err)
			return err;
		tally->entries[edge].place_count++;
		tally->entries[edge].anywhere |= offset == ANYWHERE;
	}
	err = grow(tally);
	if (err)
		return err;
	*ret = (uint32_t)tally->count++;
	tally->entries[*ret] = (struct entry){
		.source = source,
		.target = target,
		.offset = offset,
		.edge = edge,
		.last_source = HAWK_BLOCK_NOWHERE,
		.last_target = HAWK_BLOCK_NOWHERE,
	};
	*find_slot(tally, source, target, offset) = *ret + 1;
	return NULL;
}

static void count_source(struct entry *entry, uint32_t source, uint32_t edge)
{
	entry->counts.pointers++;
	entry->counts.interior += edge & HAWK_EDGE_INTERIOR;
	entry->counts.sources += source == HAWK_BLOCK_NOWHERE || entry->last_source != source;
	entry->last_source = source;
}

/* `source`: block, or HAWK_BLOCK_NOWHERE for a root, which is a source of its own. Pointers from or
 * to blocks of no site do not count. */
static struct hawk_error *add_pointer(struct tally *tally, uint32_t source, uint32_t source_site,
				      uint32_t offset, uint32_t edge)
{
	uint32_t target = edge >> 1;
	uint32_t target_site = hawk_heap_site_at(tally->graph->heap, target);
	size_t sites = tally->graph->heap->site_count;
	struct hawk_error *err;
	uint32_t place;

	if (target_site >= sites || (source != HAWK_BLOCK_NOWHERE && source_site >= sites) ||
	    !hawk_block_is_chosen(tally->wanted, target))
		return NULL;
	err = find_entry(tally, source_site, target_site, offset, &place);
	if (err)
		return err;
	count_source(&tally->entries[place], source, edge);
	count_source(&tally->entries[tally->entries[place].edge], source, edge);
	tally->places[--tally->next[target]] = place + 1;
	return NULL;
}

static struct hawk_error *add_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	struct tally *tally = context;
	const struct hawk_block_index *index = &tally->graph->heap->index;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count; i++) {
		hawk_prefetch(&index->traces[pointers[i].edge >> 1]);
		hawk_prefetch(&tally->next[pointers[i].edge >> 1]);
	}
	for (size_t i = 0; i < count && !err; i++) {
		uint32_t source = pointers[i].source;
		uint64_t offset = pointers[i].offset;

		err = add_pointer(tally, source, hawk_heap_site_at(tally->graph->heap, source),
				  offset < HAWK_SITE_PLACE_BYTES_MAX ? (uint32_t)offset : ANYWHERE,
				  pointers[i].edge);
	}
	return err;
}

static struct hawk_error *add_roots(struct tally *tally)
{
	const struct hawk_roots *roots = &tally->graph->roots;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < roots->count && !err; i++)
		err = add_pointer(tally, HAWK_BLOCK_NOWHERE, HAWK_SITE_ROOTS, roots->items[i].kind,
				  roots->items[i].edge);
	return err;
}

/* Makes room for the places of all pointers, by target block. */
static struct hawk_error *make_room(struct tally *tally)
{
	const struct hawk_block_index *index = &tally->graph->heap->index;
	const struct hawk_graph *edges = tally->graph;
	const struct hawk_roots *roots = &tally->graph->roots;
	uint64_t pointers = (uint64_t)edges->edge_count + roots->count;
	uint64_t bytes = (index->count + pointers + 1) * sizeof(uint32_t);
	struct hawk_error *err;

	if (pointers > UINT32_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are 2^32 pointers");
	err = hawk_area_create(&tally->area, bytes);
	if (!err)
		err = hawk_area_grow(&tally->area, bytes);
	if (err)
		return err;
	tally->next = tally->area.bytes;
	tally->places = tally->next + index->count;
	tally->pointer_count = (size_t)pointers;
	for (uint32_t i = 0; i < edges->edge_count; i++)
		tally->next[edges->edges[i] >> 1]++;
	for (size_t i = 0; i < roots->count; i++)
		tally->next[roots->items[i].edge >> 1]++;
	for (uint32_t i = 1; i < index->count; i++)
		tally->next[i] += tally->next[i - 1];
	return NULL;
}

static void count_target(struct entry *entry, uint32_t target, uint64_t bytes)
{
	if (entry->last_target == target)
		return;
	entry->last_target = target;
	entry->counts.targets++;
	entry->counts.target_bytes += bytes;
}

/* Behind the last place of a block there may be places that were left empty. */
static void count_targets(struct tally *tally)
{
	const struct hawk_block_index *index = &tally->graph->heap->index;

	for (uint32_t block = 0; block < index->count; block++) {
		uint64_t bytes = hawk_block_own_bytes(index, block);
		size_t end =
			block + 1 < index->count ? tally->next[block + 1] : tally->pointer_count;

		for (size_t i = tally->next[block]; i < end; i++) {
			struct entry *place;

			if (!tally->places[i])
				continue;
			place = &tally->entries[tally->places[i] - 1];
			count_target(place, block, bytes);
			count_target(&tally->entries[place->edge], block, bytes);
		}
	}
}

static int compare_edges(const void *left, const void *right)
{
	const struct hawk_site_edge *a = left;
	const struct hawk_site_edge *b = right;

	if (a->counts.target_bytes != b->counts.target_bytes)
		return a->counts.target_bytes > b->counts.target_bytes ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->target < b->target ? -1 : a->target > b->target;
}

static int compare_places(const void *left, const void *right)
{
	const struct hawk_site_place *a = left;
	const struct hawk_site_place *b = right;

	if (a->counts.target_bytes != b->counts.target_bytes)
		return a->counts.target_bytes > b->counts.target_bytes ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_array(const struct entry *edge)
{
	return edge->anywhere || edge->place_count > HAWK_SITE_PLACES_MAX;
}

/* Fills in the edges in their order, and makes entries of edges say which they are. */
static void make_edges(struct tally *tally, struct hawk_site_graph *graph)
{
	for (size_t i = 0; i < tally->count; i++)
		if (tally->entries[i].offset == ALL_PLACES)
			graph->edges[graph->edge_count++] = (struct hawk_site_edge){
				.source = tally->entries[i].source,
				.target = tally->entries[i].target,
				.counts = tally->entries[i].counts,
				.first_place = (uint32_t)i, /* until they are sorted */
			};
	qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), compare_edges);
	for (size_t i = 0; i < graph->edge_count; i++) {
		struct hawk_site_edge *edge = &graph->edges[i];
		struct entry *from = &tally->entries[edge->first_place];

		from->edge = (uint32_t)i;
		edge->first_place = (uint32_t)graph->place_count;
		graph->place_count += is_array(from) ? 1 : from->place_count;
	}
}

static void make_places(const struct tally *tally, struct hawk_site_graph *graph)
{
	for (size_t i = 0; i < tally->count; i++) {
		const struct entry *entry = &tally->entries[i];
		const struct entry *of =
			entry->offset == ALL_PLACES ? entry : &tally->entries[entry->edge];
		struct hawk_site_edge *edge = &graph->edges[of->edge];

		if (is_array(of) == (of == entry))
			graph->places[edge->first_place + edge->place_count++] =
				(struct hawk_site_place){is_array(of) ? HAWK_SITE_ANYWHERE
								      : entry->offset,
							 entry->counts};
	}
	for (size_t i = 0; i < graph->edge_count; i++)
		qsort(&graph->places[graph->edges[i].first_place], graph->edges[i].place_count,
		      sizeof(*graph->places), compare_places);
}

static struct hawk_error *put_out(struct tally *tally, struct hawk_site_graph *ret)
{
	struct hawk_site_graph graph = {
		.edges = calloc(tally->count + 1, sizeof(*graph.edges)),
		.places = calloc(tally->count + 1, sizeof(*graph.places)),
	};

	if (!graph.edges || !graph.places) {
		hawk_site_graph_deinit(&graph);
		return &hawk_enomem;
	}
	make_edges(tally, &graph);
	make_places(tally, &graph);
	*ret = graph;
	return NULL;
}

struct hawk_error *hawk_site_graph_make(const struct hawk_graph *graph, const uint64_t *wanted,
					struct hawk_site_graph *ret)
{
	CLEANUP(tally) struct tally tally = {.graph = graph, .wanted = wanted};
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "folding pointers by site", graph->heap->index.count);
	err = grow(&tally);
	if (!err)
		err = make_room(&tally);
	if (!err)
		err = hawk_pointers_read(graph, 0, graph->count, wanted, add_pointers, &tally);
	if (!err)
		err = add_roots(&tally);
	if (!err) {
		count_targets(&tally);
		err = put_out(&tally, ret);
	}
	hawk_progress_end(&progress);
	return err;
}

void hawk_site_graph_deinit(struct hawk_site_graph *graph)
{
	free(graph->edges);
	free(graph->places);
	*graph = (struct hawk_site_graph){0};
}

struct hawk_error *hawk_site_edges_make(const struct hawk_site_graph *graph, size_t sites,
					struct hawk_site_edges *ret)
{
	ret->graph = graph;
	ret->edges = calloc(graph->edge_count + 1, sizeof(*ret->edges));
	ret->first = calloc(sites + 3, sizeof(*ret->first));
	if (!ret->edges || !ret->first)
		return &hawk_enomem;
	for (size_t i = 0; i < graph->edge_count; i++)
		ret->first[(size_t)graph->edges[i].target + 2]++;
	for (size_t i = 1; i < sites + 2; i++)
		ret->first[i] += ret->first[i - 1];
	for (size_t i = 0; i < graph->edge_count; i++)
		ret->edges[ret->first[(size_t)graph->edges[i].target + 1]++] = (uint32_t)i;
	return NULL;
}

void hawk_site_edges_deinit(struct hawk_site_edges *edges)
{
	free(edges->edges);
	free(edges->first);
	*edges = (struct hawk_site_edges){0};
}
