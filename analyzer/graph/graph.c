/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph is made in one pass without counting first: each thread appends the pointers of its
 * share of the blocks to an area of its own, and those of pieces of others' shares to another one;
 * then all pieces are put behind each other.
 */
#include "hawk/graph/graph.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

#include "graph_batch.h"
#include "graph_shares.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"

enum {
	EDGES_AT_ONCE = 64,
	LINE_EDGES = (1 << HAWK_LINE_LOG2) / sizeof(uint32_t),
};

/** Of words that are told apart by their places; leaves room for those of one piece. */

/** Edges of some pieces, one behind the other. */
struct output {
	struct hawk_area edges;
	uint64_t count;
};

/** Where a piece's edges are, and where they belong among all. */
struct piece {
	const struct output *output;
	uint64_t first;
	uint64_t count;
	uint64_t place;
};

/** What a thread reads, and its edges. */
struct part {
	struct output own;     /**< of pieces of its share, from the first one on */
	struct output others;  /**< of pieces of other shares */
	struct output *output; /**< one of these: of the piece at hand */
	struct hawk_words words;
	struct hawk_batch batch;
	struct hawk_error *err;
};

struct job {
	const struct hawk_block_index *index;
	const struct hawk_target *target;
	uint32_t *offsets; /**< those of a piece: in its output, until the pieces are joined */
	struct hawk_shares shares;
	struct piece *pieces;
	struct part *parts;
	unsigned part_count;
};

static void flush(const struct job *job, struct part *part)
{
	struct hawk_batch *batch = &part->batch;
	uint32_t *offsets = job->offsets + batch->first_block;
	struct output *output = part->output;
	uint64_t count = output->count;
	uint32_t *edges;

	part->err = hawk_area_grow(&output->edges, sizeof(uint32_t) * (count + batch->count + 1));
	if (part->err)
		return;
	edges = (uint32_t *)output->edges.bytes + count;
	output->count += hawk_batch_resolve(batch, job->index, edges);
	for (uint32_t i = 0; i < batch->block_count; i++)
		offsets[i] = (uint32_t)count + batch->found[batch->starts[i]];
	hawk_progress_add(batch->block_count);
	batch->block_count = 0;
	batch->count = 0;
}

/* Words of the block at hand. */
static void gather(const struct job *job, struct part *part, const uint8_t *bytes, size_t words)
{
	while (words && !part->err) {
		size_t piece = words < HAWK_BATCH_PIECE ? words : HAWK_BATCH_PIECE;

		if (!hawk_batch_has_room(&part->batch)) {
			flush(job, part);
			continue;
		}
		hawk_batch_pick_words(&part->batch, job->index, bytes, piece);
		bytes += piece * HAWK_WORD_BYTES;
		words -= piece;
	}
}

/* Parts of a carved block hold each other, as if each had a pointer to its neighbours. */
static void join_parts(const struct job *job, struct part *part, uint32_t block)
{
	const struct hawk_block_part *of = hawk_block_index_part(job->index, block);
	uint64_t neighbours[2];
	size_t count = 0;

	if (of && of->previous != HAWK_BLOCK_NOWHERE)
		neighbours[count++] = hawk_block_start(job->index, of->previous);
	if (of && of->next != HAWK_BLOCK_NOWHERE)
		neighbours[count++] = hawk_block_start(job->index, of->next);
	gather(job, part, (const uint8_t *)neighbours, count);
}

/* One that is large, or a part, or begins a new view. */
static void read_block(const struct job *job, struct part *part, uint32_t block)
{
	uint64_t start = hawk_block_start(job->index, block);
	uint64_t end = (start + hawk_block_size(job->index, block)) & -(uint64_t)HAWK_WORD_BYTES;
	struct hawk_stretch stretch;
	uint64_t at = start;

	hawk_batch_begin_block(&part->batch, block);
	while (at < end && !part->err && hawk_words_next(&part->words, at, end, &stretch)) {
		gather(job, part, stretch.bytes, stretch.words);
		at = stretch.start + stretch.words * HAWK_WORD_BYTES;
	}
	if (job->index->part_count)
		join_parts(job, part, block);
}

/* The first part of a carved block from `block` on, or `end`. */
static uint32_t next_part(const struct hawk_block_index *index, uint32_t block, uint32_t end)
{
	const struct hawk_block_part *part = hawk_block_index_part_from(index, block);

	return part && part->number < end ? part->number : end;
}

static void read_blocks(const struct job *job, struct part *part, uint32_t first, uint32_t end)
{
	uint32_t whole_end = next_part(job->index, first, end);

	for (uint32_t block = first; block < end && !part->err;) {
		block = hawk_batch_pick_blocks(&part->batch, job->index, &part->words, block,
					       whole_end);
		if (!hawk_batch_has_room(&part->batch)) {
			flush(job, part);
		} else if (block < end) {
			read_block(job, part, block++);
			if (block > whole_end)
				whole_end = next_part(job->index, block, end);
		}
	}
	if (!part->err)
		flush(job, part);
}

/* Room for the edges of a share; only what is used is memory. */
static struct hawk_error *reserve_output(const struct job *job, struct output *output)
{
	if (output->edges.bytes)
		return NULL;
	return hawk_area_create(&output->edges,
				job->shares.share_bytes / HAWK_WORD_BYTES * sizeof(uint32_t));
}

static void run_piece(struct job *job, struct part *part, uint32_t number)
{
	struct piece *piece = &job->pieces[number];

	part->err = reserve_output(job, part->output);
	if (part->err)
		return;
	piece->output = part->output;
	piece->first = part->output->count;
	read_blocks(job, part, job->shares.firsts[number], job->shares.firsts[number + 1]);
	piece->count = part->output->count - piece->first;
}

static void run_part(void *context, unsigned number)
{
	struct job *job = context;
	struct part *part = &job->parts[number];
	uint32_t taken;

	while (!part->err && hawk_shares_take(&job->shares, number, &taken)) {
		part->output =
			hawk_shares_owns(&job->shares, number, taken) ? &part->own : &part->others;
		run_piece(job, part, taken);
	}
	if (!part->err && part->words.failed)
		part->err = &hawk_enomem;
}

static void hawk_cleanup_job(struct job *job)
{
	for (unsigned i = 0; job->parts && i < job->part_count; i++) {
		hawk_area_destroy(&job->parts[i].own.edges);
		hawk_area_destroy(&job->parts[i].others.edges);
		hawk_words_deinit(&job->parts[i].words);
		hawk_error_destroy(job->parts[i].err);
	}
	free(job->parts);
	free(job->pieces);
	hawk_shares_deinit(&job->shares);
}

static struct hawk_error *prepare_part(struct job *job, struct part *part)
{
	hawk_words_init(&part->words, job->target);
	return reserve_output(job, &part->own);
}

static struct hawk_error *prepare(struct job *job)
{
	struct hawk_error *err = hawk_shares_cut(&job->shares, job->index, job->part_count);

	if (err)
		return err;
	job->part_count = job->shares.share_count;
	job->pieces = calloc(job->shares.piece_count, sizeof(*job->pieces));
	job->parts = calloc(job->part_count, sizeof(*job->parts));
	if (!job->pieces || !job->parts)
		return &hawk_enomem;
	for (unsigned i = 0; i < job->part_count && !err; i++)
		err = prepare_part(job, &job->parts[i]);
	return err;
}

/** Where the edges of all pieces go. */
struct joining {
	const struct job *job;
	uint32_t *edges;
	uint32_t first; /**< the first piece that is not where it belongs */
};

static void join_piece(const struct joining *joining, uint32_t number)
{
	const struct job *job = joining->job;
	const struct piece *piece = &job->pieces[number];

	if (piece->count)
		memcpy(joining->edges + piece->place,
		       (const uint32_t *)piece->output->edges.bytes + piece->first,
		       piece->count * sizeof(uint32_t));
	for (uint32_t block = job->shares.firsts[number]; block < job->shares.firsts[number + 1];
	     block++)
		job->offsets[block] += (uint32_t)(piece->place - piece->first);
	hawk_progress_add(1);
}

/* As many pieces for each part. */
static void join_pieces(void *context, unsigned number)
{
	const struct joining *joining = context;
	uint64_t count = joining->job->shares.piece_count - joining->first;
	unsigned parts = joining->job->part_count;
	uint32_t end = joining->first + (uint32_t)(count * (number + 1) / parts);

	for (uint32_t i = joining->first + (uint32_t)(count * number / parts); i < end; i++)
		join_piece(joining, i);
}

/* Gives every piece its place; returns the number of all edges. */
static uint64_t place_pieces(struct job *job)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < job->shares.piece_count; i++) {
		job->pieces[i].place = count;
		count += job->pieces[i].count;
	}
	return count;
}

/* Puts the edges of all pieces behind those that the first part has read of its own. */
static struct hawk_error *join(struct job *job, struct hawk_graph *graph)
{
	struct output *all = &job->parts[0].own;
	struct joining joining = {.job = job};
	struct hawk_progress progress;
	struct hawk_error *err;
	uint64_t count;

	for (unsigned i = 0; i < job->part_count; i++)
		if (job->parts[i].err)
			return take_ptr(&job->parts[i].err);
	count = place_pieces(job);
	if (count >= UINT32_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "there are %llu pointers between blocks, more than 32-bit "
					 "numbers can tell apart",
					 (unsigned long long)count);
	err = hawk_area_grow(&all->edges, count * sizeof(uint32_t));
	if (err)
		return err;
	graph->edges = joining.edges = all->edges.bytes;
	while (joining.first < job->shares.piece_count && job->pieces[joining.first].output == all)
		joining.first++;
	hawk_progress_begin(&progress, "joining pointers", job->shares.piece_count - joining.first);
	if (joining.first < job->shares.piece_count)
		hawk_parallel_run(job->part_count, join_pieces, &joining);
	hawk_progress_end(&progress);
	graph->edge_count = (uint32_t)count;
	job->offsets[job->index->count] = (uint32_t)count;
	graph->edges_area = all->edges;
	all->edges = (struct hawk_area){0};
	hawk_area_trim(&graph->edges_area, count * sizeof(uint32_t));
	return NULL;
}

static struct hawk_error *make(struct job *job, struct hawk_graph *ret)
{
	const struct hawk_block_index *index = job->index;
	uint64_t offsets_bytes = sizeof(uint32_t) * ((uint64_t)index->count + 1);
	struct hawk_graph graph = {.count = index->count};
	struct hawk_progress progress;
	struct hawk_error *err;

	if (job->part_count > HAWK_PARALLEL_MAX)
		job->part_count = HAWK_PARALLEL_MAX;
	err = prepare(job);
	if (err)
		return err;
	err = hawk_area_create(&graph.offsets_area, offsets_bytes);
	if (!err)
		err = hawk_area_grow(&graph.offsets_area, offsets_bytes);
	if (!err) {
		hawk_area_trim(&graph.offsets_area, offsets_bytes);
		graph.offsets = job->offsets = graph.offsets_area.bytes;
		hawk_progress_begin(&progress, "reading pointers", index->count);
		hawk_parallel_run(job->part_count, run_part, job);
		err = join(job, &graph);
		hawk_progress_end(&progress);
	}
	if (err) {
		hawk_graph_deinit(&graph);
		return err;
	}
	*ret = graph;
	return NULL;
}

struct hawk_error *hawk_graph_read_edges(const struct hawk_heap *heap, struct hawk_graph *ret)
{
	CLEANUP(job)
	struct job job = {
		.index = &heap->index,
		.target = heap->target,
		.part_count = hawk_parallel_threads(),
	};
	struct hawk_error *err = make(&job, ret);

	if (!err)
		ret->heap = heap;
	return err;
}

struct hawk_error *hawk_graph_make(const struct hawk_heap *heap,
				   const struct hawk_vtable_oracle *vtables,
				   struct hawk_findings *findings, struct hawk_graph *ret)
{
	struct hawk_graph graph;
	struct hawk_error *err = hawk_graph_read_edges(heap, &graph);
	size_t before;

	if (err)
		return err;
	err = hawk_roots_find(heap, findings, &graph.roots);
	before = findings ? findings->count : 0;
	if (!err)
		err = hawk_heuristics_find(&graph, HAWK_HEURISTICS_ALL, vtables, &graph.explained);
	if (err) {
		hawk_graph_deinit(&graph);
		return err;
	}
	hawk_findings_sort(findings, before); /* threads ask in no order */
	/* What is made from the graph makes memory's peak. What was freed is not needed. */
	(void)malloc_trim(0);
	*ret = graph;
	return NULL;
}

static uint32_t interior_bit(const uint32_t *edges)
{
	uint32_t any = 0;

	for (unsigned i = 0; i < EDGES_AT_ONCE; i++)
		any |= edges[i];
	return any & HAWK_EDGE_INTERIOR;
}

uint32_t hawk_graph_next_interior(const struct hawk_graph *graph, uint32_t edge)
{
	const uint32_t *edges = graph->edges;
	uint32_t count = graph->edge_count;

	for (; edge < count && edge % EDGES_AT_ONCE; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR)
			return edge;
	for (; edge < count && count - edge >= EDGES_AT_ONCE; edge += EDGES_AT_ONCE) {
		for (unsigned i = 0; i < EDGES_AT_ONCE; i += LINE_EDGES)
			hawk_prefetch_ahead(&edges[edge + i]);
		if (interior_bit(&edges[edge]))
			break;
	}
	for (; edge < count; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR)
			return edge;
	return count;
}

/* About where it must be if all blocks have as many pointers, and not below `block`. */
static uint32_t guess_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block)
{
	uint64_t distance = (uint64_t)(edge - graph->offsets[block]) * graph->count;
	uint64_t guess = block + distance / graph->edge_count;

	return guess < graph->count ? (uint32_t)guess : graph->count - 1;
}

uint32_t hawk_graph_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block)
{
	uint32_t step = 1;
	uint32_t low = block;
	uint32_t high = graph->count;
	uint32_t at;

	assert(edge < graph->edge_count && graph->offsets[block] <= edge);
	at = guess_source(graph, edge, block);
	/* offsets[low] <= edge < offsets[high], at first far apart */
	if (graph->offsets[at] <= edge) {
		for (low = at; step < high - low && graph->offsets[low + step] <= edge; step *= 2)
			low += step;
		high = step < high - low ? low + step : high;
	} else {
		for (high = at; step < high - low && graph->offsets[high - step] > edge; step *= 2)
			high -= step;
		low = step < high - low ? high - step : low;
	}
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (graph->offsets[middle] <= edge)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void hawk_graph_deinit(struct hawk_graph *graph)
{
	hawk_roots_deinit(&graph->roots);
	hawk_explained_deinit(&graph->explained);
	hawk_area_destroy(&graph->offsets_area);
	hawk_area_destroy(&graph->edges_area);
	*graph = (struct hawk_graph){0};
}
