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
#include "hawk/analysis/block_choice.h"
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

struct fold {
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

static void hawk_cleanup_fold(struct fold *fold)
{
	free(fold->entries);
	free(fold->slots);
	hawk_area_destroy(&fold->area);
}

static uint32_t *find_slot(const struct fold *fold, uint32_t source, uint32_t target,
			   uint32_t offset)
{
	uint64_t mixed = ((uint64_t)source << 32 | target) ^ offset * UINT64_C(0x94d049bb133111eb);
	size_t mask = 2 * fold->capacity - 1;

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	for (size_t at = (mixed >> 32) & mask;; at = (at + 1) & mask) {
		const struct entry *entry =
			fold->slots[at] ? &fold->entries[fold->slots[at] - 1] : NULL;

		if (!entry ||
		    (entry->source == source && entry->target == target && entry->offset == offset))
			return &fold->slots[at];
	}
}

/* Room for one more. */
static struct hawk_error *grow(struct fold *fold)
{
	size_t before = fold->capacity;

	if (!hawk_array_reserve(&fold->entries, fold->count, &fold->capacity,
				sizeof(*fold->entries)) ||
	    fold->capacity > UINT32_MAX / 2)
		return &hawk_enomem;
	if (fold->capacity == before)
		return NULL;
	free(fold->slots);
	fold->slots = calloc(2 * fold->capacity, sizeof(*fold->slots));
	if (!fold->slots)
		return &hawk_enomem;
	for (size_t i = 0; i < fold->count; i++)
		*find_slot(fold, fold->entries[i].source, fold->entries[i].target,
			   fold->entries[i].offset) = (uint32_t)i + 1;
	return NULL;
}

/* The index of an entry, which is made if need be. */
static struct hawk_error *find_entry(struct fold *fold, uint32_t source, uint32_t target,
				     uint32_t offset, uint32_t *ret)
{
	uint32_t *slot = find_slot(fold, source, target, offset);
	uint32_t edge = 0;
	struct hawk_error *err;

	if (*slot) {
		*ret = *slot - 1;
		return NULL;
	}
	if (offset != ALL_PLACES) {
		err = find_entry(fold, source, target, ALL_PLACES, &edge);
		if (err)
			return err;
		fold->entries[edge].place_count++;
		fold->entries[edge].anywhere |= offset == ANYWHERE;
	}
	err = grow(fold);
	if (err)
		return err;
	*ret = (uint32_t)fold->count++;
	fold->entries[*ret] = (struct entry){
		.source = source,
		.target = target,
		.offset = offset,
		.edge = edge,
		.last_source = HAWK_BLOCK_NOWHERE,
		.last_target = HAWK_BLOCK_NOWHERE,
	};
	*find_slot(fold, source, target, offset) = *ret + 1;
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
static struct hawk_error *add_pointer(struct fold *fold, uint32_t source, uint32_t source_site,
				      uint32_t offset, uint32_t edge)
{
	uint32_t target = hawk_block_index_whole(&fold->graph->heap->index, edge >> 1);
	uint32_t target_site = hawk_heap_site_at(fold->graph->heap, target);
	size_t sites = fold->graph->heap->site_count;
	struct hawk_error *err;
	uint32_t place;

	if (target != edge >> 1)
		edge |= HAWK_EDGE_INTERIOR;
	if (target_site >= sites || (source != HAWK_BLOCK_NOWHERE && source_site >= sites) ||
	    !hawk_block_is_chosen(fold->wanted, target))
		return NULL;
	err = find_entry(fold, source_site, target_site, offset, &place);
	if (err)
		return err;
	count_source(&fold->entries[place], source, edge);
	count_source(&fold->entries[fold->entries[place].edge], source, edge);
	fold->places[--fold->next[target]] = place + 1;
	return NULL;
}

static struct hawk_error *add_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	struct fold *fold = context;
	const struct hawk_block_index *index = &fold->graph->heap->index;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count; i++) {
		hawk_prefetch(&index->traces[pointers[i].edge >> 1]);
		hawk_prefetch(&fold->next[pointers[i].edge >> 1]);
	}
	for (size_t i = 0; i < count && !err; i++) {
		uint32_t source = hawk_block_index_whole(index, pointers[i].source);
		uint64_t offset = pointers[i].offset;

		if (source != pointers[i].source)
			offset += hawk_block_start(index, pointers[i].source) -
				  hawk_block_start(index, source);
		err = add_pointer(fold, source, hawk_heap_site_at(fold->graph->heap, source),
				  offset < HAWK_SITE_PLACE_BYTES_MAX ? (uint32_t)offset : ANYWHERE,
				  pointers[i].edge);
	}
	return err;
}

static struct hawk_error *add_roots(struct fold *fold)
{
	const struct hawk_roots *roots = &fold->graph->roots;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < roots->count && !err; i++)
		err = add_pointer(fold, HAWK_BLOCK_NOWHERE, HAWK_SITE_ROOTS, roots->items[i].kind,
				  roots->items[i].edge);
	return err;
}

/* Makes room for the places of all pointers, by target block. */
static struct hawk_error *make_room(struct fold *fold)
{
	const struct hawk_block_index *index = &fold->graph->heap->index;
	const struct hawk_graph *edges = fold->graph;
	const struct hawk_roots *roots = &fold->graph->roots;
	uint64_t pointers = (uint64_t)edges->edge_count + roots->count;
	uint64_t bytes = (index->count + pointers + 1) * sizeof(uint32_t);
	struct hawk_error *err;

	if (pointers > UINT32_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are 2^32 pointers");
	err = hawk_area_create(&fold->area, bytes);
	if (!err)
		err = hawk_area_grow(&fold->area, bytes);
	if (err)
		return err;
	fold->next = fold->area.bytes;
	fold->places = fold->next + index->count;
	fold->pointer_count = (size_t)pointers;
	for (uint32_t i = 0; i < edges->edge_count; i++)
		fold->next[hawk_block_index_whole(index, edges->edges[i] >> 1)]++;
	for (size_t i = 0; i < roots->count; i++)
		fold->next[hawk_block_index_whole(index, roots->items[i].edge >> 1)]++;
	for (uint32_t i = 1; i < index->count; i++)
		fold->next[i] += fold->next[i - 1];
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
static void count_targets(struct fold *fold)
{
	const struct hawk_block_index *index = &fold->graph->heap->index;

	for (uint32_t block = 0; block < index->count; block++) {
		uint64_t bytes = hawk_block_index_left_bytes(index, block);
		size_t end = block + 1 < index->count ? fold->next[block + 1] : fold->pointer_count;

		for (size_t i = fold->next[block]; i < end; i++) {
			struct entry *place;

			if (!fold->places[i])
				continue;
			place = &fold->entries[fold->places[i] - 1];
			count_target(place, block, bytes);
			count_target(&fold->entries[place->edge], block, bytes);
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
static void make_edges(struct fold *fold, struct hawk_site_graph *graph)
{
	for (size_t i = 0; i < fold->count; i++)
		if (fold->entries[i].offset == ALL_PLACES)
			graph->edges[graph->edge_count++] = (struct hawk_site_edge){
				.source = fold->entries[i].source,
				.target = fold->entries[i].target,
				.counts = fold->entries[i].counts,
				.first_place = (uint32_t)i, /* until they are sorted */
			};
	qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), compare_edges);
	for (size_t i = 0; i < graph->edge_count; i++) {
		struct hawk_site_edge *edge = &graph->edges[i];
		struct entry *from = &fold->entries[edge->first_place];

		from->edge = (uint32_t)i;
		edge->first_place = (uint32_t)graph->place_count;
		graph->place_count += is_array(from) ? 1 : from->place_count;
	}
}

static void make_places(const struct fold *fold, struct hawk_site_graph *graph)
{
	for (size_t i = 0; i < fold->count; i++) {
		const struct entry *entry = &fold->entries[i];
		const struct entry *of =
			entry->offset == ALL_PLACES ? entry : &fold->entries[entry->edge];
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

static struct hawk_error *put_out(struct fold *fold, struct hawk_site_graph *ret)
{
	struct hawk_site_graph graph = {
		.edges = calloc(fold->count + 1, sizeof(*graph.edges)),
		.places = calloc(fold->count + 1, sizeof(*graph.places)),
	};

	if (!graph.edges || !graph.places) {
		hawk_site_graph_deinit(&graph);
		return &hawk_enomem;
	}
	make_edges(fold, &graph);
	make_places(fold, &graph);
	*ret = graph;
	return NULL;
}

struct hawk_error *hawk_site_graph_make(const struct hawk_graph *graph, const uint64_t *wanted,
					struct hawk_site_graph *ret)
{
	CLEANUP(fold) struct fold fold = {.graph = graph, .wanted = wanted};
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "folding pointers by site", graph->heap->index.count);
	err = grow(&fold);
	if (!err)
		err = make_room(&fold);
	if (!err)
		err = hawk_pointers_read(graph, 0, graph->count, wanted, add_pointers, &fold);
	if (!err)
		err = add_roots(&fold);
	if (!err) {
		count_targets(&fold);
		err = put_out(&fold, ret);
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
