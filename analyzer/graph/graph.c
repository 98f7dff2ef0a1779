/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph is made in one pass without counting first: each thread appends the pointers of its
 * share of the blocks to an area of its own; then the areas are put behind each other.
 */
#include "hawk_graph.h"

#include <assert.h>
#include <stdlib.h>

#include "graph_batch.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_pointers.h"

enum {
	BLOCK_COST_BYTES = 64,       /* of a block, whatever its size, for fair shares */
	SHARE_BYTES_MIN = 256 << 10, /* not worth a thread of its own */
	EDGES_AT_ONCE = 64,
};

/** Of words that are told apart by their places; leaves room for those of one piece. */
static const uint32_t PLACE_MAX = UINT32_MAX - HAWK_BATCH_PIECE;

/** The blocks [first, end) and their pointers. */
struct part {
	uint32_t first;
	uint32_t end;
	uint64_t bytes; /**< of the blocks, no less (of the last share all) */
	uint64_t edge_count;
	struct hawk_area edges;
	struct hawk_words words;
	struct hawk_batch batch;
	uint32_t block;                /**< that the first candidates of the batch belong to */
	struct hawk_pointer *pointers; /**< of a batch; NULL = nobody wants them */
	struct hawk_error *err;
};

struct job {
	const struct hawk_block_index *index;
	const struct hawk_target *target;
	const struct hawk_batch_code *code;
	uint32_t *offsets;
	struct part *parts;
	unsigned part_count;
	hawk_pointers_function *function; /**< for the pointers; NULL = none */
	void *const *contexts;            /**< its own, by part */
};

/* The edges of the candidates [first, end), which are `block`'s. */
static void tell_places(struct part *part, uint32_t block, uint32_t first, uint32_t end,
			const uint32_t *edges)
{
	const struct hawk_batch *batch = &part->batch;

	/* What is no edge is written, too, and written over. */
	for (uint32_t i = first; i < end; i++)
		part->pointers[batch->found[i]] = (struct hawk_pointer){
			.offset = (uint64_t)batch->places[i] * HAWK_WORD_BYTES,
			.source = block,
			.edge = edges[batch->found[i]],
		};
}

/* Hands on the pointers of a batch whose edges have been found. */
static void tell(const struct job *job, struct part *part, const uint32_t *edges)
{
	void *context = job->contexts[part - job->parts];
	const struct hawk_batch *batch = &part->batch;
	uint32_t first = 0;

	for (uint32_t i = 0; i < batch->block_count; i++) {
		tell_places(part, part->block, first, batch->starts[i], edges);
		part->block = batch->first_block + i;
		first = batch->starts[i];
	}
	tell_places(part, part->block, first, batch->count, edges);
	if (batch->found[batch->count])
		part->err = job->function(context, part->pointers, batch->found[batch->count]);
}

static void flush(const struct job *job, struct part *part)
{
	struct hawk_batch *batch = &part->batch;
	uint32_t *offsets = job->offsets + batch->first_block;
	uint64_t count = part->edge_count;
	uint32_t *edges;

	part->err = hawk_area_grow(&part->edges, sizeof(uint32_t) * (count + batch->count + 1));
	if (part->err)
		return;
	edges = (uint32_t *)part->edges.bytes + count;
	part->edge_count += job->code->resolve(batch, job->index, edges);
	for (uint32_t i = 0; i < batch->block_count; i++)
		offsets[i] = (uint32_t)count + batch->found[batch->starts[i]];
	if (part->pointers)
		tell(job, part, edges);
	batch->block_count = 0;
	batch->count = 0;
}

/* Words of the block at hand, the first of which is number `place`. */
static void gather(const struct job *job, struct part *part, const uint8_t *bytes, size_t words,
		   uint64_t place)
{
	while (words && !part->err) {
		size_t piece = words < HAWK_BATCH_PIECE ? words : HAWK_BATCH_PIECE;

		if (!hawk_batch_has_room(&part->batch)) {
			flush(job, part);
			continue;
		}
		job->code->pick_words(&part->batch, job->index, bytes, piece,
				      place < PLACE_MAX ? (uint32_t)place : PLACE_MAX);
		bytes += piece * HAWK_WORD_BYTES;
		words -= piece;
		place += piece;
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
	gather(job, part, (const uint8_t *)neighbours, count, 0);
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
		gather(job, part, stretch.bytes, stretch.words,
		       (stretch.start - start) / HAWK_WORD_BYTES);
		at = stretch.start + stretch.words * HAWK_WORD_BYTES;
	}
	if (job->index->part_count)
		join_parts(job, part, block);
}

/* The first part of a carved block from `block` on, or `end`. */
static uint32_t next_part(const struct hawk_block_index *index, uint32_t block, uint32_t end)
{
	size_t low = 0;
	size_t high = index->part_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->parts[middle].number < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < index->part_count && index->parts[low].number < end ? index->parts[low].number
									 : end;
}

static void run_part(void *context, unsigned number)
{
	const struct job *job = context;
	struct part *part = &job->parts[number];
	uint32_t whole_end = next_part(job->index, part->first, part->end);

	for (uint32_t block = part->first; block < part->end && !part->err;) {
		block = job->code->pick_blocks(&part->batch, job->index, &part->words, block,
					       whole_end);
		if (!hawk_batch_has_room(&part->batch)) {
			flush(job, part);
		} else if (block < part->end) {
			read_block(job, part, block++);
			if (block > whole_end)
				whole_end = next_part(job->index, block, part->end);
		}
	}
	if (!part->err)
		flush(job, part);
	if (!part->err && part->words.failed)
		part->err = &hawk_enomem;
}

/* What it takes to read the blocks [first, end), in bytes. */
static uint64_t cost_of(const struct hawk_block_index *index, uint32_t first, uint32_t end)
{
	uint64_t bytes = 0;

	for (uint32_t i = first; i < end; i++)
		bytes += index->sizes[i];
	for (size_t i = 0; i < index->large_count; i++)
		if (index->large[i].number >= first && index->large[i].number < end)
			bytes += index->large[i].size - index->sizes[index->large[i].number];
	return bytes + (uint64_t)(end - first) * BLOCK_COST_BYTES;
}

/* The first block from `first` on that is not needed for `cost`. */
static uint32_t cut_at(const struct hawk_block_index *index, uint32_t first, uint64_t cost)
{
	uint32_t low = first;
	uint32_t high = index->count;

	/* Half of what is left each time, twice what is left in all. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t half = cost_of(index, low, middle + 1);

		if (half <= cost) {
			low = middle + 1;
			cost -= half;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Shares of about the same cost, in order. */
static void cut(struct job *job)
{
	const struct hawk_block_index *index = job->index;
	uint64_t all = cost_of(index, 0, index->count);
	uint64_t share;
	uint32_t block = 0;

	if (all / SHARE_BYTES_MIN < job->part_count)
		job->part_count = (unsigned)(all / SHARE_BYTES_MIN);
	if (!job->part_count)
		job->part_count = 1;
	share = all / job->part_count;
	for (unsigned i = 0; i < job->part_count; i++) {
		struct part *part = &job->parts[i];

		part->first = block;
		block = i + 1 < job->part_count ? cut_at(index, block, share) : index->count;
		part->end = block;
		part->bytes = i + 1 < job->part_count ? share : all;
	}
}

static void hawk_cleanup_job(struct job *job)
{
	for (unsigned i = 0; job->parts && i < job->part_count; i++) {
		hawk_area_destroy(&job->parts[i].edges);
		hawk_words_deinit(&job->parts[i].words);
		free(job->parts[i].pointers);
		hawk_error_destroy(job->parts[i].err);
	}
	free(job->parts);
}

static struct hawk_error *prepare(struct job *job)
{
	cut(job);
	for (unsigned i = 0; i < job->part_count; i++) {
		struct part *part = &job->parts[i];
		struct hawk_error *err;

		hawk_words_init(&part->words, job->target);
		if (job->function) {
			part->pointers =
				malloc((HAWK_BATCH_CANDIDATES + 1) * sizeof(*part->pointers));
			if (!part->pointers)
				return &hawk_enomem;
			part->batch.wants_places = true;
		}
		err = hawk_area_create(&part->edges,
				       part->bytes / HAWK_WORD_BYTES * sizeof(uint32_t));
		if (err)
			return err;
	}
	return NULL;
}

/** Where the edges of all parts go. */
struct joining {
	const struct job *job;
	uint32_t *edges;
};

/* A piece of the edges and of the offsets of each part but the first, as many pieces as parts. */
static void join_piece(void *context, unsigned number)
{
	const struct joining *joining = context;
	const struct job *job = joining->job;
	uint64_t before = job->parts[0].edge_count;

	for (unsigned i = 1; i < job->part_count; i++) {
		const struct part *part = &job->parts[i];
		uint64_t blocks = part->end - part->first;
		uint64_t first = part->edge_count * number / job->part_count;
		uint64_t end = part->edge_count * (number + 1) / job->part_count;

		if (first < end)
			memcpy(joining->edges + before + first,
			       (const uint32_t *)part->edges.bytes + first,
			       (end - first) * sizeof(uint32_t));
		first = part->first + blocks * number / job->part_count;
		end = part->first + blocks * (number + 1) / job->part_count;
		for (uint64_t block = first; block < end; block++)
			job->offsets[block] += (uint32_t)before;
		before += part->edge_count;
	}
}

/* Puts the edges of all parts behind those of the first. */
static struct hawk_error *join(struct job *job, struct hawk_graph *graph)
{
	uint64_t count = 0;
	struct hawk_error *err;

	for (unsigned i = 0; i < job->part_count; i++) {
		if (job->parts[i].err)
			return take_ptr(&job->parts[i].err);
		count += job->parts[i].edge_count;
	}
	if (count >= UINT32_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "there are %llu pointers between blocks, more than 32-bit "
					 "numbers can tell apart",
					 (unsigned long long)count);
	err = hawk_area_grow(&job->parts[0].edges, count * sizeof(uint32_t));
	if (err)
		return err;
	graph->edges = job->parts[0].edges.bytes;
	hawk_parallel_run(job->part_count, join_piece, &(struct joining){job, graph->edges});
	for (unsigned i = 1; i < job->part_count; i++)
		hawk_area_destroy(&job->parts[i].edges);
	graph->edge_count = (uint32_t)count;
	job->offsets[job->index->count] = (uint32_t)count;
	graph->edges_area = job->parts[0].edges;
	job->parts[0].edges = (struct hawk_area){0};
	hawk_area_trim(&graph->edges_area, count * sizeof(uint32_t));
	return NULL;
}

static struct hawk_error *make(struct job *job, struct hawk_graph *ret)
{
	const struct hawk_block_index *index = job->index;
	struct hawk_graph graph = {.count = index->count};
	struct hawk_error *err;

	if (job->part_count > HAWK_PARALLEL_MAX)
		job->part_count = HAWK_PARALLEL_MAX;
	job->parts = calloc(job->part_count, sizeof(*job->parts));
	if (!job->parts)
		return &hawk_enomem;
	err = prepare(job);
	if (err)
		return err;
	err = hawk_area_create(&graph.offsets_area,
			       sizeof(uint32_t) * ((uint64_t)index->count + 1));
	if (!err)
		err = hawk_area_grow(&graph.offsets_area,
				     sizeof(uint32_t) * ((uint64_t)index->count + 1));
	if (!err) {
		graph.offsets = job->offsets = graph.offsets_area.bytes;
		hawk_parallel_run(job->part_count, run_part, job);
		err = join(job, &graph);
	}
	if (err) {
		hawk_graph_deinit(&graph);
		return err;
	}
	*ret = graph;
	return NULL;
}

struct hawk_error *hawk_graph_make(const struct hawk_target *target,
				   const struct hawk_block_index *index, unsigned threads,
				   struct hawk_graph *ret)
{
	CLEANUP(job)
	struct job job = {
		.index = index,
		.target = target,
		.code = hawk_batch_code(),
		.part_count = threads ? threads : hawk_parallel_processors(),
	};

	return make(&job, ret);
}

struct hawk_error *hawk_graph_make_with_pointers(const struct hawk_target *target,
						 const struct hawk_block_index *index,
						 unsigned threads, hawk_pointers_function *function,
						 void *const *contexts, struct hawk_graph *ret)
{
	CLEANUP(job)
	struct job job = {
		.index = index,
		.target = target,
		.code = hawk_batch_code(),
		.part_count = threads,
		.function = function,
		.contexts = contexts,
	};

	assert(!index->part_count);
	return make(&job, ret);
}

uint32_t hawk_graph_next_interior(const struct hawk_graph *graph, uint32_t edge)
{
	const uint32_t *edges = graph->edges;
	uint32_t count = graph->edge_count;

	for (; edge < count && edge % EDGES_AT_ONCE; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR)
			return edge;
	for (; edge < count && count - edge >= EDGES_AT_ONCE; edge += EDGES_AT_ONCE) {
		uint32_t any = 0;

		for (unsigned i = 0; i < EDGES_AT_ONCE; i++)
			any |= edges[edge + i];
		if (any & HAWK_EDGE_INTERIOR)
			break;
	}
	for (; edge < count; edge++)
		if (edges[edge] & HAWK_EDGE_INTERIOR)
			return edge;
	return count;
}

uint32_t hawk_graph_source(const struct hawk_graph *graph, uint32_t edge, uint32_t block)
{
	uint32_t step = 1;
	uint32_t low = block;
	uint32_t high;

	assert(edge < graph->edge_count && graph->offsets[block] <= edge);
	while (step < graph->count - low && graph->offsets[low + step] <= edge) {
		low += step;
		step = step < UINT32_MAX / 2 ? 2 * step : step;
	}
	high = step < graph->count - low ? low + step : graph->count;
	/* offsets[low] <= edge < offsets[high] */
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
	hawk_area_destroy(&graph->offsets_area);
	hawk_area_destroy(&graph->edges_area);
	*graph = (struct hawk_graph){0};
}
