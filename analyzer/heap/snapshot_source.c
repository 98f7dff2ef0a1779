/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks in a snapshot as the source of a heap. Frames are decoded a batch at a time, on
 * several threads; then their blocks are checked in ascending order, since everything above relies
 * on that, and go to the sink.
 */
#include "snapshot.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"
#include "sealed/sweep.h"

enum {
	BATCH_MAX = HAWK_HEAP_PARTS_MAX,
	ADDRESS_BITS = 48,
};

/** One frame, decoded. */
struct decoded {
	struct hawk_block *blocks;
	size_t count;
	uint64_t first;
	bool deep; /**< there are blocks in blocks */
	struct hawk_error *err;
};

/** What lies in order so far, over all frames. */
struct order {
	uint64_t start; /**< of the next block, at least */
	/** Of the latest block of each depth below `next_depth`. */
	uint64_t starts[HAWK_BLOCK_DEPTH_MAX + 1];
	uint64_t ends[HAWK_BLOCK_DEPTH_MAX + 1];
	unsigned next_depth; /**< of the next block, at most */
};

/** Runs that wait to be filled. */
struct runs {
	struct hawk_heap_run *items;
	size_t count;
	size_t capacity;
};

struct walker {
	const struct hawk_snapshot *snapshot;
	const struct hawk_heap_sink *sink;
	unsigned threads;
	size_t batch; /**< number of the first frame of the batch */
	struct decoded decoded[BATCH_MAX];
	struct order order;
	struct runs runs;
};

static void get_starts(struct hawk_cursor *from, struct hawk_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		blocks[i].start = (uint64_t)hawk_column_get_signed(from);
	for (size_t i = 0; i < count; i++)
		blocks[i].size = hawk_column_get_below(from, UINT64_C(1) << ADDRESS_BITS);
}

/* Starts were counted from the end of the block before. */
static bool place_blocks(struct hawk_block *blocks, size_t count)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t granule = end + blocks[i].start;

		if (granule >= UINT64_C(1) << (ADDRESS_BITS - 4))
			return false;
		blocks[i].start = granule * HAWK_GRANULE_BYTES;
		end = granule + (blocks[i].size + HAWK_GRANULE_BYTES - 1) / HAWK_GRANULE_BYTES;
	}
	return true;
}

static void get_bytes(struct hawk_cursor *from, struct decoded *decoded)
{
	size_t count = decoded->count;
	const uint8_t *kinds = hawk_cursor_bytes(from, count);
	const uint8_t *births = hawk_cursor_bytes(from, count);
	const uint8_t *depths = NULL;

	decoded->deep = hawk_cursor_u8(from);
	if (decoded->deep)
		depths = hawk_cursor_bytes(from, count);
	for (size_t i = 0; i < count && !from->failed; i++) {
		decoded->blocks[i].kind = kinds[i] >> 4;
		decoded->blocks[i].offset_code = kinds[i] & 15;
		decoded->blocks[i].birth = births[i];
		decoded->blocks[i].depth = depths ? depths[i] : 0;
	}
}

static struct hawk_error *decode(struct hawk_snapshot_contents *contents, struct decoded *ret)
{
	struct hawk_cursor *from = &contents->cursor;

	/* A block takes five bytes at least. */
	if (!contents->items || contents->items > from->size)
		return hawk_snapshot_nonsense(HAWK_SNAPSHOT_BLOCKS);
	ret->first = contents->first;
	ret->count = (size_t)contents->items;
	ret->blocks = malloc(ret->count * sizeof(*ret->blocks));
	if (!ret->blocks)
		return &hawk_enomem;
	get_starts(from, ret->blocks, ret->count);
	for (size_t i = 0; i < ret->count; i++)
		ret->blocks[i].trace = (uint32_t)hawk_column_get_below(from, UINT32_MAX);
	get_bytes(from, ret);
	if (from->failed || !place_blocks(ret->blocks, ret->count))
		return hawk_snapshot_nonsense(HAWK_SNAPSHOT_BLOCKS);
	return NULL;
}

static void decode_frame(void *context, unsigned part)
{
	struct walker *walker = context;
	struct decoded *decoded = &walker->decoded[part];
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};

	decoded->err = hawk_snapshot_read(walker->snapshot, HAWK_SNAPSHOT_BLOCKS,
					  walker->batch + part, &contents);
	if (!decoded->err)
		decoded->err = decode(&contents, decoded);
}

/* A block carved out of another one lies in it, with its header, behind its siblings; one that is
 * in none lies behind all. */
static bool is_in_order(struct order *order, const struct hawk_block *block)
{
	unsigned depth = block->depth;
	uint64_t end = block->start + block->size;
	uint64_t header = block->start - (depth ? HAWK_HEADER_BYTES : 0);

	if (block->start < order->start || depth > HAWK_BLOCK_DEPTH_MAX ||
	    depth > order->next_depth)
		return false;
	if (depth < order->next_depth && header < order->ends[depth])
		return false;
	if (depth && (end > order->ends[depth - 1] || header < order->starts[depth - 1]))
		return false;
	order->start = block->start + 1;
	order->next_depth = depth + 1;
	order->starts[depth] = block->start;
	order->ends[depth] = end;
	return true;
}

static struct hawk_error *check_order(struct order *order, const struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->count; i++)
		if (!is_in_order(order, &decoded->blocks[i]))
			return hawk_snapshot_nonsense(HAWK_SNAPSHOT_BLOCKS);
	return NULL;
}

static void fill_runs(void *context, unsigned part)
{
	struct walker *walker = context;

	for (size_t i = part; i < walker->runs.count; i += walker->threads)
		walker->sink->fill(walker->sink->context, &walker->runs.items[i], part);
}

static void flush_runs(struct walker *walker)
{
	if (walker->runs.count)
		hawk_parallel_run(walker->threads, fill_runs, walker);
	walker->runs.count = 0;
}

static struct hawk_error *take(struct walker *walker, const struct hawk_block *blocks, size_t count)
{
	struct hawk_error *err = NULL;

	flush_runs(walker);
	for (size_t i = 0; i < count && !err; i += HAWK_HEAP_BATCH)
		err = walker->sink->take(walker->sink->context, blocks + i,
					 count - i < HAWK_HEAP_BATCH ? count - i : HAWK_HEAP_BATCH);
	return err;
}

/* How many blocks begin in the chunk of the first one. */
static size_t count_in_chunk(const struct hawk_block *blocks, size_t count)
{
	size_t i = 1;

	while (i < count &&
	       blocks[i].start >> HAWK_CHUNK_LOG2 == blocks[0].start >> HAWK_CHUNK_LOG2)
		i++;
	return i;
}

/* Blocks of one chunk. */
static struct hawk_error *give_run(struct walker *walker, const struct hawk_block *blocks,
				   size_t count)
{
	uint64_t start = blocks[0].start >> HAWK_CHUNK_LOG2 << HAWK_CHUNK_LOG2;
	struct hawk_heap_run run = {
		.start = start,
		.end = start + (UINT64_C(1) << HAWK_CHUNK_LOG2),
		.blocks = blocks,
		.count = count,
	};
	bool reserved = false;
	struct hawk_error *err = NULL;

	if (walker->runs.count < walker->runs.capacity)
		err = walker->sink->reserve(walker->sink->context, &run, &reserved);
	if (err)
		return err;
	if (!reserved)
		return take(walker, blocks, count);
	walker->runs.items[walker->runs.count++] = run;
	return NULL;
}

static struct hawk_error *give(struct walker *walker, const struct decoded *decoded)
{
	struct hawk_error *err = check_order(&walker->order, decoded);
	size_t count;

	if (!err && (decoded->deep || !walker->sink->fill || !walker->sink->reserve))
		return take(walker, decoded->blocks, decoded->count);
	for (size_t i = 0; i < decoded->count && !err; i += count) {
		count = count_in_chunk(decoded->blocks + i, decoded->count - i);
		err = give_run(walker, decoded->blocks + i, count);
	}
	return err;
}

static struct hawk_error *walk_batch(struct walker *walker, unsigned frames)
{
	struct hawk_error *err = NULL;

	hawk_parallel_run(frames, decode_frame, walker);
	for (unsigned i = 0; i < frames; i++) {
		struct decoded *decoded = &walker->decoded[i];

		if (err)
			hawk_error_destroy(decoded->err);
		else
			err = decoded->err ? decoded->err : give(walker, decoded);
		hawk_progress_add(decoded->count);
	}
	flush_runs(walker);
	for (unsigned i = 0; i < frames; i++)
		free(walker->decoded[i].blocks);
	memset(walker->decoded, 0, sizeof(walker->decoded));
	return err;
}

static struct hawk_error *walk_frames(struct walker *walker, uint64_t blocks)
{
	enum { RUNS_MAX = 4096 };
	size_t count = hawk_snapshot_frame_count(walker->snapshot, HAWK_SNAPSHOT_BLOCKS);
	struct hawk_error *err =
		hawk_snapshot_is_whole(walker->snapshot, HAWK_SNAPSHOT_BLOCKS, blocks);
	CLEANUP(free_ptr) struct hawk_heap_run *runs = calloc(RUNS_MAX, sizeof(*runs));

	if (!err && !runs)
		err = &hawk_enomem;
	walker->runs.items = runs;
	walker->runs.capacity = RUNS_MAX;
	for (; walker->batch < count && !err; walker->batch += walker->threads) {
		size_t left = count - walker->batch;

		err = walk_batch(walker, left < walker->threads ? (unsigned)left : walker->threads);
	}
	return err;
}

static struct hawk_error *walk(const struct hawk_heap *heap, unsigned threads,
			       const struct hawk_heap_sink *sink, struct hawk_findings *findings,
			       struct hawk_heap_sums *ret)
{
	struct walker walker = {.snapshot = hawk_target_snapshot(heap->target), .sink = sink};
	struct hawk_heap_record record;
	struct hawk_progress progress;
	struct hawk_error *err = hawk_heap_record_read(walker.snapshot, &record);

	if (err)
		return err;
	walker.threads = threads ? threads : hawk_parallel_threads();
	if (walker.threads > BATCH_MAX)
		walker.threads = BATCH_MAX;
	hawk_progress_begin(&progress, "reading blocks", record.blocks);
	err = walk_frames(&walker, record.blocks);
	hawk_progress_end(&progress);
	*ret = record.sums;
	hawk_heap_record_deinit(&record);
	if (!err)
		hawk_sweep_report(ret, findings);
	return err;
}

static struct hawk_error *find(const struct hawk_heap_source *source, struct hawk_heap *heap,
			       struct hawk_findings *findings, bool *ret)
{
	const struct hawk_snapshot *snapshot = hawk_target_snapshot(heap->target);
	struct hawk_heap_record record;
	struct hawk_error *err;

	(void)source;
	*ret = false;
	if (!snapshot)
		return NULL;
	err = hawk_heap_record_read(snapshot, &record);
	if (err)
		return err;
	/* What the table says is found as in a core. */
	err = hawk_heap_sealed.find(&hawk_heap_sealed, heap, findings, ret);
	heap->knows &= record.knows;
	hawk_heap_record_deinit(&record);
	return err;
}

static struct hawk_error *account(struct hawk_heap *heap)
{
	struct hawk_heap_record record;
	struct hawk_error *err = hawk_heap_record_read(hawk_target_snapshot(heap->target), &record);

	if (err)
		return err;
	heap->accounting = record.accounting;
	if (!(heap->knows & HAWK_HEAP_BLOCKS)) {
		heap->sums = record.sums;
		heap->sites = take_ptr(&record.sites);
		heap->site_count = record.site_count;
		heap->site_of_trace = take_ptr(&record.site_of_trace);
		heap->trace_count = record.trace_count;
		heap->lost_site = record.lost_site;
	}
	hawk_heap_record_deinit(&record);
	return NULL;
}

const struct hawk_heap_source hawk_heap_snapshot = {
	.name = "sweep", // that is how they were found
	.has_headers = true,
	.find = find,
	.walk = walk,
	.account = account,
};
