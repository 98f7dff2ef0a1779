/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The source of blocks in a snapshot. Frames are decoded a batch at a time, on several threads.
 * Their blocks are then checked to ascend, since all layers above rely on that, and go to the sink.
 */
#include "snapshot.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"

enum {
	BATCH_MAX = 8,
	ADDRESS_BITS = 48,
};

/** One frame, decoded. */
struct decoded {
	struct hawk_block *blocks;
	size_t count;
	uint64_t first;
	bool deep; /**< some blocks are nested */
	struct hawk_error *err;
};

/** The state of the order check, over all frames. */
struct order {
	uint64_t start; /**< of the next block, at least */
	/** Ranges of the latest block of each depth below `next_depth`. */
	uint64_t starts[HAWK_BLOCK_DEPTH_MAX + 1];
	uint64_t ends[HAWK_BLOCK_DEPTH_MAX + 1];
	unsigned next_depth; /**< of the next block, at most */
};

/** One walk. */
struct walker {
	const struct hawk_snapshot *snapshot;
	unsigned granule_log2;
	unsigned threads;
	size_t batch;          /**< number of the batch's first frame */
	unsigned frames, next; /**< of the batch; index of the next one */
	struct decoded decoded[BATCH_MAX];
	struct order order;
};

static void get_starts(struct hawk_cursor *from, struct hawk_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		blocks[i].start = (uint64_t)hawk_column_get_signed(from);
	for (size_t i = 0; i < count; i++)
		blocks[i].size = hawk_column_get_below(from, UINT64_C(1) << ADDRESS_BITS);
}

/* Places blocks: each start is a distance from the end of the previous block. */
static bool place_blocks(struct hawk_block *blocks, size_t count, unsigned granule_log2)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t granule = end + blocks[i].start;

		if (granule >> (ADDRESS_BITS - granule_log2))
			return false;
		blocks[i].start = granule << granule_log2;
		end = granule + ((blocks[i].size + (1u << granule_log2) - 1) >> granule_log2);
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

static struct hawk_error *decode(struct hawk_snapshot_contents *contents, unsigned granule_log2,
				 struct decoded *ret)
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
	if (from->failed || !place_blocks(ret->blocks, ret->count, granule_log2))
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
		decoded->err = decode(&contents, walker->granule_log2, decoded);
}

/* Returns true if a nested block lies in its outer block, header included, and behind its siblings,
 * or if another block lies behind all earlier ones. */
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

/* Frees the blocks of a batch and decodes the next one. */
static struct hawk_error *next_batch(struct walker *walker)
{
	size_t left =
		hawk_snapshot_frame_count(walker->snapshot, HAWK_SNAPSHOT_BLOCKS) - walker->batch;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < walker->frames; i++)
		free(walker->decoded[i].blocks);
	memset(walker->decoded, 0, sizeof(walker->decoded));
	walker->next = 0;
	walker->frames = left < walker->threads ? (unsigned)left : walker->threads;
	hawk_parallel_run(walker->frames, decode_frame, walker);
	walker->batch += walker->frames;
	for (unsigned i = 0; i < walker->frames; i++) {
		if (err)
			hawk_error_destroy(walker->decoded[i].err);
		else
			err = walker->decoded[i].err;
	}
	return err;
}

static struct hawk_error *begin(struct hawk_heap_walk *walk)
{
	const struct hawk_heap_record *record = walk->found->state;
	struct walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		return &hawk_enomem;
	walk->state = walker;
	walk->sums = record->sums;
	walker->snapshot = hawk_target_snapshot(walk->found->target);
	walker->granule_log2 = HAWK_GRANULE_LOG2 - record->small_granules;
	walker->threads = walk->threads < BATCH_MAX ? walk->threads : BATCH_MAX;
	return hawk_snapshot_is_whole(walker->snapshot, HAWK_SNAPSHOT_BLOCKS, record->blocks);
}

static struct hawk_error *walk(struct hawk_heap_walk *walk, const struct hawk_block **ret,
			       size_t *count)
{
	struct hawk_error *err = walk->state ? NULL : begin(walk);
	struct walker *walker = walk->state;
	const struct decoded *decoded;

	*count = 0;
	if (!err && walker->next == walker->frames)
		err = next_batch(walker);
	if (err || !walker->frames)
		return err;
	decoded = &walker->decoded[walker->next++];
	err = check_order(&walker->order, decoded);
	if (err)
		return err;
	*ret = decoded->blocks;
	*count = decoded->count;
	walk->done += decoded->count;
	walk->all = ((const struct hawk_heap_record *)walk->found->state)->blocks;
	return NULL;
}

static void leave(struct hawk_heap_walk *walk)
{
	struct walker *walker = walk->state;

	for (unsigned i = 0; walker && i < walker->frames; i++)
		free(walker->decoded[i].blocks);
	free(walker);
}

/* Returns true if the numbers of traces and classes agree with the table and with each other. */
static bool numbers_agree(const struct hawk_heap_record *record, const struct hawk_table *table)
{
	bool stacks = record->origins[0].knows & HAWK_HEAP_STACKS;

	if (!record->origin_count)
		return true;
	return record->class_first == (stacks ? record->origins[0].end : 0) &&
	       record->class_end == record->origins[record->origin_count - 1].end &&
	       (!stacks ||
		(table && record->class_first == hawk_table_header(table)->trace_count)) &&
	       (record->knows & HAWK_HEAP_BLOCKS || record->trace_count == record->class_end);
}

/* Finds the heap: the table's data as in a core, other sources' data as saved. */
static struct hawk_error *find(const struct hawk_heap_search *search, struct hawk_heap_found *ret,
			       bool *is_there)
{
	struct hawk_heap_record *record = calloc(1, sizeof(*record));
	struct hawk_error *err =
		record ? hawk_heap_record_read(search->target, record) : &hawk_enomem;

	ret->state = record;
	if (!err)
		err = hawk_table_find(hawk_target_table(search->target), search->findings,
				      &ret->table);
	*is_there = !err && (ret->table || (record->knows && !(record->knows & HAWK_HEAP_STACKS)));
	if (err || !*is_there)
		return err;
	if (!numbers_agree(record, ret->table))
		return hawk_snapshot_nonsense(HAWK_SNAPSHOT_HEAP);
	ret->knows = record->knows;
	ret->class_count = record->class_end;
	if (!record->origin_count && ret->table) { /* of an older writer */
		ret->knows |= record->knows & HAWK_HEAP_BLOCKS ? HAWK_HEAP_HEADERS : 0;
		ret->class_count = hawk_table_header(ret->table)->trace_count;
	}
	ret->origins = record->origins;
	ret->origin_count = record->origin_count;
	ret->small_granules = record->small_granules;
	ret->blocks_apart = true; /* its saved graph knows the pointers one past the end */
	ret->undumped_known = record->undumped_known;
	ret->spans = record->spans;
	*search->damages = record->damages;
	record->spans = (struct hawk_heap_spans){0};
	record->damages = (struct hawk_damages){0};
	return NULL;
}

static struct hawk_error *account(const struct hawk_heap_found *found, struct hawk_heap *heap)
{
	struct hawk_heap_record *record = found->state;

	heap->accounting = record->accounting;
	heap->sums = record->sums;
	if (heap->knows & HAWK_HEAP_BLOCKS)
		return NULL;
	heap->sites = take_ptr(&record->sites);
	heap->site_count = record->site_count;
	heap->site_of_trace = take_ptr(&record->site_of_trace);
	heap->trace_count = record->trace_count;
	heap->lost_site = record->lost_site;
	return NULL;
}

static void find_class(const struct hawk_heap_found *found, uint32_t number, struct hawk_class *ret)
{
	const struct hawk_heap_record *record = found->state;

	if (number >= record->class_first && number < record->class_end)
		*ret = record->classes[number - record->class_first];
}

static void forget(struct hawk_heap_found *found)
{
	if (found->state)
		hawk_heap_record_deinit(found->state);
	free(found->state);
	found->state = NULL;
}

const struct hawk_heap_source hawk_heap_snapshot = {
	.name = "sweep", // the way they were found
	.doing = "reading blocks",
	.find = find,
	.walk = walk,
	.leave = leave,
	.account = account,
	.class = find_class,
	.forget = forget,
};
