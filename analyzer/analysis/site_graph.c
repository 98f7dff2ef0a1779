/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers of roots and blocks put into the fold, and what comes out of it sorted.
 */
#include "hawk_site_graph.h"

#include <stdlib.h>

#include "hawk_block_choice.h"
#include "hawk_block_graph.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"
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
		struct hawk_pointer pointer = whole_pointer(&fold->graph->index, pointers[i]);

		err = hawk_site_fold_add(fold, &pointer, 1);
	}
	return err;
}

static struct hawk_error *add_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	struct hawk_site_fold *fold = context;

	return fold->graph->index.part_count ? add_whole(fold, pointers, count)
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

static hawk_pointers_function *adder(const uint64_t *wanted)
{
	return wanted ? add_wanted : add_pointers;
}

static struct hawk_error *add_roots(struct hawk_site_fold *fold)
{
	const struct hawk_roots *roots = &fold->graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		uint32_t edge = roots->items[i].edge;
		size_t ahead = i + ROOTS_AHEAD < roots->count ? i + ROOTS_AHEAD : i;
		uint32_t block = hawk_block_index_whole(&fold->graph->index, edge >> 1);
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

/* Edges and roots are there, and the bytes of blocks can be read. */
static struct hawk_error *fold_all(const struct hawk_block_graph *graph, const uint64_t *wanted,
				   void *first, struct hawk_site_graph *ret)
{
	struct hawk_site_fold fold = {0};
	struct hawk_error *err = hawk_site_fold_init(&fold, graph, first);

	fold.wanted = wanted;
	if (!err)
		err = hawk_pointers_read(graph->target, &graph->index, &graph->edges, 0,
					 graph->index.count, wanted, adder(wanted), &fold);
	if (!err)
		err = put_out(&fold, ret);
	hawk_site_fold_deinit(&fold);
	return err;
}

enum { FOLDS = 2 };

/** Folds of shares of the blocks, made on threads of their own. */
struct shares {
	struct hawk_block_graph *graph;
	unsigned parts; /**< that the caller will need of the graph */
	const uint64_t *wanted;
	struct hawk_site_graph sites;
	struct hawk_site_fold folds[FOLDS];
	unsigned count;
	struct hawk_error *errors[FOLDS];
};

static void run_join(void *context, unsigned part)
{
	struct shares *shares = context;

	if (part)
		shares->errors[1] = hawk_site_fold_merge(&shares->folds[0], &shares->folds[1]);
	else
		shares->errors[0] = hawk_block_graph_need(shares->graph, HAWK_PART_ROOTS);
}

/* What reach will need, meanwhile. */
static void run_put_out(void *context, unsigned part)
{
	struct shares *shares = context;
	bool explain = shares->parts & (HAWK_PART_REACH | HAWK_PART_RETAINED);

	if (part)
		shares->errors[1] = put_out(&shares->folds[0], &shares->sites);
	else
		shares->errors[0] = explain ? hawk_block_graph_explain(shares->graph) : NULL;
}

static struct hawk_error *first_error(struct hawk_error *const errors[2])
{
	if (errors[0])
		hawk_error_destroy(errors[1]);
	return errors[0] ? errors[0] : errors[1];
}

/* Whether places of pointers are kept, for the wanted ones. */
static bool has_places(const struct hawk_block_graph *graph, const uint64_t *wanted)
{
	const unsigned needed = HAWK_PART_EDGES | HAWK_PART_PLACES;

	return wanted && (graph->parts & needed) == needed;
}

/* Where edges are there: the pointers of half of all blocks. */
static void run_read(void *context, unsigned part)
{
	struct shares *shares = context;
	const struct hawk_block_graph *graph = shares->graph;
	uint64_t count = graph->index.count;
	uint32_t first = (uint32_t)(count * part / shares->count);
	uint32_t end = (uint32_t)(count * (part + 1) / shares->count);

	shares->errors[part] =
		has_places(graph, shares->wanted)
			? hawk_pointer_places_tell(&graph->places, &graph->edges, first, end,
						   shares->wanted, add_pointers,
						   &shares->folds[part])
			: hawk_pointers_read(graph->target, &graph->index, &graph->edges, first,
					     end, shares->wanted, adder(shares->wanted),
					     &shares->folds[part]);
}

static struct hawk_error *read_shares(struct shares *shares)
{
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_progress_begin(&progress, "folding pointers by site", shares->graph->index.count);
	hawk_parallel_run(shares->count, run_read, shares);
	hawk_progress_end(&progress);
	err = first_error(shares->errors);
	shares->errors[0] = shares->errors[1] = NULL;
	return err;
}

/* Pointers put into the folds, and edges made, where they are not. */
static struct hawk_error *take_pointers(struct shares *shares)
{
	struct hawk_block_graph *graph = shares->graph;
	void *contexts[FOLDS] = {&shares->folds[0], &shares->folds[1]};
	struct hawk_error *err;

	if (graph->parts & HAWK_PART_EDGES)
		return read_shares(shares);
	err = hawk_graph_make_with_pointers(graph->target, &graph->index, shares->count,
					    adder(shares->wanted), contexts, &graph->edges);
	if (!err)
		graph->parts |= HAWK_PART_EDGES;
	return err;
}

static struct hawk_error *fold_shares(struct shares *shares)
{
	struct hawk_progress progress;
	struct hawk_error *err = take_pointers(shares);

	if (err)
		return err;
	hawk_progress_begin(&progress, "folding pointers by site", shares->graph->index.count);
	hawk_parallel_run(shares->count, run_join, shares);
	hawk_progress_end(&progress);
	return first_error(shares->errors);
}

/* The same in shares; with the edges in one reading of memory, if they are not there. */
static struct hawk_error *fold_with_edges(struct hawk_block_graph *graph, unsigned parts,
					  const uint64_t *wanted, unsigned count,
					  void *const first[FOLDS], struct hawk_site_graph *ret)
{
	struct shares shares = {.graph = graph, .parts = parts, .wanted = wanted, .count = count};
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < count && !err; i++) {
		err = hawk_site_fold_init(&shares.folds[i], graph, first[i]);
		shares.folds[i].wanted = wanted;
		if (has_places(graph, wanted))
			shares.folds[i].shared = graph->places.shared;
	}
	if (!err)
		err = fold_shares(&shares);
	if (!err) {
		if (count > 1)
			hawk_parallel_run(2, run_put_out, &shares);
		else
			run_put_out(&shares, 1);
		err = first_error(shares.errors);
	}
	for (unsigned i = 0; i < count; i++)
		hawk_site_fold_deinit(&shares.folds[i]);
	if (err)
		hawk_site_graph_deinit(&shares.sites);
	else
		*ret = shares.sites;
	return err;
}

static struct hawk_error *prepare(struct hawk_block_graph *graph)
{
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_EDGES | HAWK_PART_ROOTS);

	return err ? err : hawk_block_graph_readable(graph);
}

/* Memory that dominators will need later is as good as new, which is dear. NULL: not now. */
static struct hawk_error *borrow(struct hawk_block_graph *graph, unsigned count, void *ret[FOLDS])
{
	struct hawk_workspace *workspace = &graph->workspace;
	bool used = workspace->area.bytes != NULL;
	struct hawk_error *err;

	if (graph->parts & HAWK_PART_RETAINED)
		return NULL;
	err = hawk_block_graph_workspace(graph);
	for (unsigned i = 0; i < count && !err; i++) {
		ret[i] = hawk_workspace_lane(workspace, 2 * i);
		if (used)
			memset(ret[i], 0, 2 * workspace->stride * sizeof(uint32_t));
	}
	return err;
}

/* `parts`: what the caller will need of the graph. */
static struct hawk_error *make(struct hawk_block_graph *graph, unsigned parts,
			       const uint64_t *wanted, struct hawk_site_graph *ret)
{
	struct hawk_error *err = hawk_block_graph_need(graph, HAWK_PART_INDEX);
	unsigned count = hawk_block_graph_threads(graph) > 1 ? FOLDS : 1;
	void *first[FOLDS] = {NULL};

	if (!err)
		err = hawk_block_graph_readable(graph);
	if (!err)
		err = borrow(graph, count, first);
	if (!err && !hawk_site_graph_is_cheap(graph))
		err = prepare(graph);
	return err ? err : fold_with_edges(graph, parts, wanted, count, first, ret);
}

struct hawk_error *hawk_site_graph_make(struct hawk_block_graph *graph, struct hawk_site_graph *ret)
{
	return make(graph, 0, NULL, ret);
}

struct hawk_error *hawk_site_graph_make_of(struct hawk_block_graph *graph, const uint64_t *wanted,
					   struct hawk_site_graph *ret)
{
	return make(graph, 0, wanted, ret);
}

bool hawk_site_graph_is_cheap(const struct hawk_block_graph *graph)
{
	return !(graph->parts & HAWK_PART_EDGES) && !graph->index.part_count;
}

/* Whether it is quicker to read memory again beside all else than to fold it with the edges. */
static bool is_beside(const struct hawk_block_graph *graph)
{
	unsigned threads = hawk_block_graph_threads(graph);

	return threads > FOLDS || (threads > 1 && !hawk_site_graph_is_cheap(graph));
}

/** The fold on one thread, all else on the other. */
struct beside {
	struct hawk_block_graph *graph;
	unsigned parts;
	struct hawk_site_graph sites;
	struct hawk_error *errors[2];
};

static void run_beside(void *context, unsigned part)
{
	struct beside *beside = context;

	if (part)
		beside->errors[1] = fold_all(beside->graph, NULL, NULL, &beside->sites);
	else
		beside->errors[0] = hawk_block_graph_need(beside->graph, beside->parts);
}

struct hawk_error *hawk_site_graph_make_beside(struct hawk_block_graph *graph, unsigned parts,
					       struct hawk_site_graph *ret)
{
	struct beside beside = {.graph = graph, .parts = parts};
	struct hawk_progress progress;
	struct hawk_error *err;

	err = hawk_block_graph_need(graph, HAWK_PART_INDEX);
	if (err)
		return err;
	if (!is_beside(graph)) {
		/* First, so that its memory is free again before the others need theirs. */
		err = make(graph, parts, NULL, &beside.sites);
		if (!err)
			err = hawk_block_graph_need(graph, parts);
	} else {
		err = prepare(graph);
		if (err)
			return err;
		/* Seen when the other thread has no more to do. */
		hawk_progress_begin(&progress, "folding pointers by site", graph->index.count);
		hawk_parallel_run(2, run_beside, &beside);
		hawk_progress_end(&progress);
		err = first_error(beside.errors);
	}
	if (err)
		hawk_site_graph_deinit(&beside.sites);
	else
		*ret = beside.sites;
	return err;
}

void hawk_site_graph_deinit(struct hawk_site_graph *graph)
{
	free(graph->edges);
	free(graph->places);
	*graph = (struct hawk_site_graph){0};
}
