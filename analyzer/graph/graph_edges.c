/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the edges in one pass, without counting first. Each thread appends the pointers of its part
 * of the blocks to its own area; then the parts are joined.
 *
 * Words are picked from a run of blocks and looked up together, so that their cache misses overlap.
 * No branch depends on a word, since it could not be predicted.
 */
#include "hawk/graph/graph.h"

#include <stdlib.h>

#include "hawk/target/words.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum {
	BATCH_BLOCKS = 512,
	BATCH_WORDS = 1024,
	PIECE_WORDS = 64,          /* picked at a time */
	BLOCK_COST_BYTES = 64,     /* of reading a block, whatever its size */
	PART_BYTES_MIN = 256 << 10 /* less is not worth a thread */
};

/** Words that may be pointers, of blocks one behind the other. */
struct batch {
	uint32_t first_block; /**< of the blocks that begin in this batch */
	uint32_t block_count;
	uint32_t count;
	uint32_t starts[BATCH_BLOCKS];    /**< words before the block */
	uint32_t found[BATCH_WORDS + 1];  /**< edges before the word */
	uint64_t values[BATCH_WORDS + 1]; /**< each is written before it is known to count */
};

/** A part of the blocks, [first, end), read by one thread. */
struct part {
	uint32_t first, end;
	struct hawk_area edges;
	uint64_t count;
	uint64_t place; /**< of its first edge among all edges */
	struct hawk_words words;
	struct batch batch;
	struct hawk_error *err;
};

struct job {
	const struct hawk_heap *heap;
	const struct hawk_block_index *index;
	uint32_t *offsets; /**< within a part's edges until the parts are joined */
	uint32_t *edges;   /**< of all parts, while they are joined */
	struct part *parts;
	unsigned part_count;
};

/* Turns words into edges. Returns the number of edges. `edges` has room for all words. */
static uint32_t resolve(struct batch *batch, const struct hawk_heap *heap, uint32_t *edges)
{
	const struct hawk_block_index *index = &heap->index;
	uint32_t edge_count = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t value = batch->values[i];
		uint32_t number = hawk_block_index_chunk(index, value);

		if (number != HAWK_CHUNK_INSIDE)
			hawk_prefetch(hawk_block_index_record(index, number, value));
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t value = batch->values[i];
		uint32_t edge = hawk_block_index_edge(index, value);

		edge = hawk_guests_edge(&heap->guests, index, value, edge);
		batch->found[i] = edge_count;
		edges[edge_count] = edge;
		edge_count += edge != HAWK_BLOCK_NOWHERE;
	}
	batch->found[batch->count] = edge_count;
	return edge_count;
}

static void flush(const struct job *job, struct part *part)
{
	struct batch *batch = &part->batch;
	uint32_t *offsets = job->offsets + batch->first_block;
	uint64_t count = part->count;

	part->err = hawk_area_grow(&part->edges, sizeof(uint32_t) * (count + batch->count + 1));
	if (part->err)
		return;
	part->count += resolve(batch, job->heap, (uint32_t *)part->edges.bytes + count);
	for (uint32_t i = 0; i < batch->block_count; i++)
		offsets[i] = (uint32_t)count + batch->found[batch->starts[i]];
	hawk_progress_add(batch->block_count);
	batch->block_count = 0;
	batch->count = 0;
}

/* Makes room for a piece and for one more block. */
static void make_room(const struct job *job, struct part *part)
{
	if (part->batch.block_count == BATCH_BLOCKS ||
	    part->batch.count > BATCH_WORDS - PIECE_WORDS)
		flush(job, part);
}

/* Picks the words that lie between the first and the last block. */
static void pick(struct batch *batch, const struct hawk_block_index *index, const uint8_t *bytes,
		 size_t words)
{
	uint64_t first = index->first_chunk;
	uint64_t span = index->chunk_span;
	unsigned chunk_log2 = hawk_block_index_chunk_log2(index);
	uint32_t count = batch->count;

	for (size_t i = 0; i < words; i++) {
		uint64_t value;

		memcpy(&value, bytes + i * HAWK_WORD_BYTES, sizeof(value));
		batch->values[count] = value;
		count += (value >> chunk_log2) - first < span;
	}
	batch->count = count;
}

static void gather(const struct job *job, struct part *part, const uint8_t *bytes, size_t words)
{
	while (words && !part->err) {
		size_t piece = words < PIECE_WORDS ? words : PIECE_WORDS;

		make_room(job, part);
		if (part->err)
			return;
		pick(&part->batch, job->index, bytes, piece);
		bytes += piece * HAWK_WORD_BYTES;
		words -= piece;
	}
}

/* Gathers the words of a guest's object that may be references; the first is word `number`. */
static void gather_object(const struct job *job, struct part *part,
			  const struct hawk_guest_layout *layout, uint64_t number,
			  const struct hawk_word_range *range)
{
	size_t from = 0;

	for (size_t i = 0; i <= range->words; i++) {
		if (i < range->words && !hawk_guest_ignores(layout, number + i))
			continue;
		gather(job, part, range->bytes + from * HAWK_WORD_BYTES, i - from);
		from = i + 1;
	}
}

/* Gathers the values of an object with compressed references. */
static void gather_narrow(const struct job *job, struct part *part,
			  const struct hawk_guest_layout *layout, uint64_t number,
			  const struct hawk_word_range *range)
{
	uint64_t values[PIECE_WORDS], word;
	size_t count = 0;

	for (size_t i = 0; i < range->words; i++) {
		memcpy(&word, range->bytes + i * HAWK_WORD_BYTES, sizeof(word));
		for (unsigned which = 0; word && which < HAWK_GUEST_VALUES; which++)
			count += hawk_guest_value(layout, number + i, which, word, &values[count]);
		if (count + HAWK_GUEST_VALUES > PIECE_WORDS || i + 1 == range->words) {
			gather(job, part, (const uint8_t *)values, count);
			count = 0;
		}
	}
}

static void read_block(const struct job *job, struct part *part, uint32_t block)
{
	const struct hawk_guest_type *type = hawk_guests_type(&job->heap->guests, block);
	struct batch *batch = &part->batch;
	struct hawk_stretch stretch = {0};
	struct hawk_word_range range;

	make_room(job, part);
	if (!batch->block_count)
		batch->first_block = block;
	batch->starts[batch->block_count++] = batch->count;
	/* An allocator's pointers lead to free blocks, and stale ones to any. */
	if (hawk_heap_is_internal(job->heap, block))
		return;
	while (hawk_block_next_stretch(job->index, block, &stretch)) {
		uint64_t at = stretch.start, end = stretch.end & -(uint64_t)HAWK_WORD_BYTES;

		while (at < end && !part->err && hawk_words_next(&part->words, at, end, &range)) {
			hawk_prefetch_ahead(range.bytes);
			hawk_prefetch_ahead(range.bytes + (1 << HAWK_LINE_LOG2));
			uint64_t number = (range.start - stretch.start) / HAWK_WORD_BYTES;

			if (type && hawk_guest_is_narrow(&type->layout))
				gather_narrow(job, part, &type->layout, number, &range);
			else if (type)
				gather_object(job, part, &type->layout, number, &range);
			else
				gather(job, part, range.bytes, range.words);
			at = range.start + range.words * HAWK_WORD_BYTES;
		}
	}
}

static void read_part(void *context, unsigned number)
{
	struct job *job = context;
	struct part *part = &job->parts[number];

	for (uint32_t block = part->first; block < part->end && !part->err; block++)
		read_block(job, part, block);
	if (!part->err)
		flush(job, part);
	if (!part->err && part->words.failed)
		part->err = &hawk_enomem;
}

/* Returns the cost of reading the blocks before `block`, in bytes. Large blocks count for less: no
 * other block begins in their chunks. */
static uint64_t cost_before(const struct hawk_block_index *index, uint32_t block)
{
	return ((uint64_t)(index->granules[block] - index->granules[0])
		<< hawk_block_index_granule_log2(index)) +
	       (uint64_t)block * BLOCK_COST_BYTES;
}

/* Returns the first block with at least `cost` in front of it, or the last block. */
static uint32_t block_at(const struct hawk_block_index *index, uint64_t cost)
{
	uint32_t low = 0, high = index->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cost_before(index, middle) < cost)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Cuts the blocks into parts of about the same cost. */
static struct hawk_error *prepare(struct job *job, const struct hawk_target *target)
{
	const struct hawk_block_index *index = job->index;
	uint32_t last = index->count ? index->count - 1 : 0;
	uint64_t all = index->count ? cost_before(index, last) + hawk_block_size(index, last) : 0;
	unsigned count = hawk_parallel_threads();

	if (count > all / PART_BYTES_MIN)
		count = all < PART_BYTES_MIN ? 1 : (unsigned)(all / PART_BYTES_MIN);
	job->parts = calloc(count, sizeof(*job->parts));
	if (!job->parts)
		return &hawk_enomem;
	job->part_count = count;
	for (unsigned i = 0; i < count; i++) {
		struct part *part = &job->parts[i];
		struct hawk_error *err = hawk_area_create(
			&part->edges, all / count / HAWK_WORD_BYTES * sizeof(uint32_t));

		if (err)
			return err;
		hawk_words_init(&part->words, target);
		part->first = i ? job->parts[i - 1].end : 0;
		part->end = i + 1 < count ? block_at(index, all / count * (i + 1)) : index->count;
	}
	return NULL;
}

static void hawk_cleanup_job(struct job *job)
{
	for (unsigned i = 0; i < job->part_count; i++) {
		hawk_area_destroy(&job->parts[i].edges);
		hawk_words_deinit(&job->parts[i].words);
		hawk_error_destroy(job->parts[i].err);
	}
	free(job->parts);
}

/* Moves the edges of a part behind those of the parts before it. Those of the first one stay. */
static void join_part(void *context, unsigned number)
{
	const struct job *job = context;
	struct part *part = &job->parts[number];

	if (!number)
		return;
	for (uint32_t block = part->first; block < part->end; block++)
		job->offsets[block] += (uint32_t)part->place;
	if (part->count)
		memcpy(job->edges + part->place, part->edges.bytes, part->count * sizeof(uint32_t));
	hawk_area_destroy(&part->edges);
}

/* Counts the edges, and gives those of each part their place. */
static struct hawk_error *place_parts(struct job *job, uint64_t *ret)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < job->part_count; i++) {
		if (job->parts[i].err)
			return take_ptr(&job->parts[i].err);
		job->parts[i].place = count;
		count += job->parts[i].count;
	}
	*ret = count;
	if (count < UINT32_MAX)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "there are %llu pointers between blocks, more than 32-bit "
				 "numbers can tell apart",
				 (unsigned long long)count);
}

static struct hawk_error *join(struct job *job, struct hawk_graph *graph)
{
	struct hawk_area *area = &job->parts[0].edges;
	uint64_t count;
	struct hawk_error *err = place_parts(job, &count);

	if (!err)
		err = hawk_area_grow(area, count * sizeof(uint32_t));
	if (err)
		return err;
	job->edges = area->bytes;
	hawk_parallel_run(job->part_count, join_part, job);
	hawk_area_trim(area, count * sizeof(uint32_t));
	graph->edges = area->bytes;
	graph->edges_area = *area;
	*area = (struct hawk_area){0};
	graph->edge_count = (uint32_t)count;
	graph->offsets[graph->count] = (uint32_t)count;
	return NULL;
}

static struct hawk_error *read_parts(struct job *job, struct hawk_graph *graph)
{
	uint64_t bytes = sizeof(uint32_t) * ((uint64_t)graph->count + 1);
	struct hawk_progress progress;
	struct hawk_error *err = hawk_area_create(&graph->offsets_area, bytes);

	if (!err)
		err = hawk_area_grow(&graph->offsets_area, bytes);
	if (err)
		return err;
	hawk_area_trim(&graph->offsets_area, bytes);
	graph->offsets = job->offsets = graph->offsets_area.bytes;
	hawk_progress_begin(&progress, "reading pointers", graph->count);
	hawk_parallel_run(job->part_count, read_part, job);
	err = join(job, graph);
	hawk_progress_end(&progress);
	return err;
}

struct hawk_error *hawk_graph_read_edges(const struct hawk_heap *heap, struct hawk_graph *ret)
{
	CLEANUP(job) struct job job = {.heap = heap, .index = &heap->index};
	struct hawk_graph graph = {.heap = heap, .count = heap->index.count};
	struct hawk_error *err = prepare(&job, heap->target);

	if (!err)
		err = read_parts(&job, &graph);
	if (err)
		hawk_graph_deinit(&graph);
	else
		*ret = graph;
	return err;
}
