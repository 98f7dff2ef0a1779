/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers of roots and blocks put into the fold, and what comes out of it sorted.
 */
#include "hawk_site_graph.h"

#include <stdlib.h>

#include "hawk_block_choice.h"
#include "hawk_dominators.h"
#include "hawk_cleanup.h"
#include "hawk_progress.h"
#include "site_graph_fold.h"

enum { ROOTS_AHEAD = 16 };

/** Of parts of a carved block, the block. */
static struct hawk_pointer whole_pointer(const struct hawk_block_index *index,
					 struct hawk_pointer pointer)
{
	uint32_t source = hawk_block_index_whole(index, pointer.source);
	uint32_t target = hawk_block_index_whole(index, pointer.edge >> 1);

	if (source != pointer.source)
		pointer.offset +=
			hawk_block_start(index, pointer.source) - hawk_block_start(index, source);
	if (target != pointer.edge >> 1)
		pointer.edge = target << 1 | HAWK_EDGE_INTERIOR;
	pointer.source = source;
	return pointer;
}

static struct hawk_error *add_whole(struct hawk_site_fold *fold,
				    const struct hawk_pointer *pointers, size_t count)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		struct hawk_pointer pointer = whole_pointer(&fold->graph->heap->index, pointers[i]);

		err = hawk_site_fold_add(fold, &pointer, 1);
	}
	return err;
}

static struct hawk_error *add_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	struct hawk_site_fold *fold = context;

	return fold->graph->heap->index.part_count ? add_whole(fold, pointers, count)
						   : hawk_site_fold_add(fold, pointers, count);
}

/* Those to wanted blocks; the others are left out before the fold, which knows nothing of it. */
static struct hawk_error *add_wanted(void *context, const struct hawk_pointer *pointers,
				     size_t count)
{
	struct hawk_site_fold *fold = context;
	struct hawk_pointer kept[HAWK_FOLD_BATCH];
	struct hawk_error *err = NULL;

	for (size_t piece; count && !err; pointers += piece, count -= piece) {
		size_t kept_count = 0;

		piece = count < HAWK_FOLD_BATCH ? count : HAWK_FOLD_BATCH;
		for (size_t i = 0; i < piece; i++) {
			kept[kept_count] = pointers[i];
			kept_count += hawk_block_is_chosen(fold->wanted, pointers[i].edge >> 1);
		}
		err = add_pointers(fold, kept, kept_count);
	}
	return err;
}

static struct hawk_error *add_roots(struct hawk_site_fold *fold)
{
	const struct hawk_roots *roots = &fold->graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		uint32_t edge = roots->items[i].edge;
		size_t ahead = i + ROOTS_AHEAD < roots->count ? i + ROOTS_AHEAD : i;
		uint32_t block = hawk_block_index_whole(&fold->graph->heap->index, edge >> 1);
		struct hawk_error *err;

		hawk_site_fold_prefetch(fold, roots->items[ahead].edge >> 1);
		if (fold->wanted && !hawk_block_is_chosen(fold->wanted, edge >> 1))
			continue;
		err = hawk_site_fold_add_root(fold, roots->items[i].kind,
					      block == edge >> 1 ? edge
								 : block << 1 | HAWK_EDGE_INTERIOR);
		if (err)
			return err;
	}
	return NULL;
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

static bool is_array(const struct hawk_fold_edge *edge)
{
	return edge->anywhere || edge->place_count > HAWK_SITE_PLACES_MAX;
}

/* The edges in their order, which is not the one in which they were met: that depends on threads.
 * `numbers[i]` = which one edge `i` of the fold is. */
static void make_edges(const struct hawk_site_fold *fold, struct hawk_site_graph *graph,
		       uint32_t *numbers)
{
	for (size_t i = 0; i < fold->edge_count; i++) {
		const struct hawk_fold_edge *edge = &fold->edges[i];

		graph->edges[i] = (struct hawk_site_edge){
			.source = edge->source,
			.target = edge->target,
			.counts = edge->counts,
			.first_place = (uint32_t)i, /* until they are sorted */
		};
	}
	graph->edge_count = fold->edge_count;
	qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), compare_edges);
	for (size_t i = 0; i < fold->edge_count; i++) {
		struct hawk_site_edge *edge = &graph->edges[i];
		const struct hawk_fold_edge *from = &fold->edges[edge->first_place];

		numbers[edge->first_place] = (uint32_t)i;
		edge->first_place = (uint32_t)graph->place_count;
		graph->place_count += is_array(from) ? 1 : from->place_count;
	}
}

static void make_places(const struct hawk_site_fold *fold, const uint32_t *numbers,
			struct hawk_site_graph *graph)
{
	for (size_t i = 0; i < fold->place_count; i++) {
		const struct hawk_fold_place *place = &fold->places[i];
		struct hawk_site_edge *edge = &graph->edges[numbers[place->edge]];

		if (!is_array(&fold->edges[place->edge]))
			graph->places[edge->first_place + edge->place_count++] =
				(struct hawk_site_place){place->offset, place->counts};
	}
	for (size_t i = 0; i < fold->edge_count; i++) {
		struct hawk_site_edge *edge = &graph->edges[numbers[i]];

		if (is_array(&fold->edges[i]))
			graph->places[edge->first_place + edge->place_count++] =
				(struct hawk_site_place){HAWK_SITE_ANYWHERE, edge->counts};
		qsort(&graph->places[edge->first_place], edge->place_count, sizeof(*graph->places),
		      compare_places);
	}
}

/* What places of arrays would have taken is given back. */
static void trim(struct hawk_site_graph *graph)
{
	struct hawk_site_place *places =
		reallocarray(graph->places, graph->place_count + 1, sizeof(*places));

	if (places)
		graph->places = places;
}

/* With the roots, which are there. */
static struct hawk_error *put_out(struct hawk_site_fold *fold, struct hawk_site_graph *ret)
{
	CLEANUP(free_ptr) uint32_t *numbers = NULL;
	struct hawk_error *err = add_roots(fold);
	struct hawk_site_graph graph = {0};

	if (err)
		return err;
	hawk_site_fold_sum(fold);
	graph.edges = calloc(fold->edge_count + 1, sizeof(*graph.edges));
	graph.places = calloc(fold->place_count + 1, sizeof(*graph.places));
	numbers = calloc(fold->edge_count + 1, sizeof(*numbers));
	if (!graph.edges || !graph.places || !numbers) {
		hawk_site_graph_deinit(&graph);
		return &hawk_enomem;
	}
	make_edges(fold, &graph, numbers);
	make_places(fold, numbers, &graph);
	trim(&graph);
	*ret = graph;
	return NULL;
}

struct hawk_error *hawk_site_graph_make(const struct hawk_graph *graph, const uint64_t *wanted,
					struct hawk_site_graph *ret)
{
	struct hawk_site_fold fold = {0};
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "folding pointers by site", graph->heap->index.count);
	err = hawk_site_fold_init(&fold, graph);
	fold.wanted = wanted;
	if (!err)
		err = hawk_pointers_read(graph, 0, graph->count, wanted,
					 wanted ? add_wanted : add_pointers, &fold);
	if (!err)
		err = put_out(&fold, ret);
	hawk_site_fold_deinit(&fold);
	hawk_progress_end(&progress);
	return err;
}

void hawk_site_graph_deinit(struct hawk_site_graph *graph)
{
	free(graph->edges);
	free(graph->places);
	*graph = (struct hawk_site_graph){0};
}
