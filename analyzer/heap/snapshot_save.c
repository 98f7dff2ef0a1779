/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the blocks of a heap: column by column, in frames of whole chunks of the index, so that a
 * reader can fill the index on several threads.
 */
#include "snapshot.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

enum { FRAME_BLOCKS = 1 << 15 };

/** Blocks of one frame, by number in the index. */
struct frame {
	uint32_t start, end;
};

struct saver {
	const struct hawk_heap *heap;
	struct frame *frames;
	size_t count;
	uint8_t *depths; /**< by number; NULL = all 0 */
};

static uint64_t chunk_of(const struct hawk_block_index *index, uint32_t block)
{
	return hawk_block_start(index, block) >> hawk_block_index_chunk_log2(index);
}

/* Finds the nesting depth of each block. */
static struct hawk_error *find_depths(struct saver *saver)
{
	const struct hawk_block_index *index = &saver->heap->index;

	if (!index->nest_count)
		return NULL;
	saver->depths = calloc((size_t)index->count + 1, 1);
	if (!saver->depths)
		return &hawk_enomem;
	for (size_t i = 0; i < index->nest_count; i++)
		for (uint32_t j = index->nests[i].number + 1; j < index->nests[i].behind; j++)
			saver->depths[j]++;
	return NULL;
}

/* Returns true if a frame may begin here: at a chunk, with a block that is not nested. */
static bool may_begin(const struct saver *saver, uint32_t block)
{
	const struct hawk_block_index *index = &saver->heap->index;

	return chunk_of(index, block) != chunk_of(index, block - 1) &&
	       !(saver->depths && saver->depths[block]);
}

static struct hawk_error *cut_frames(struct saver *saver)
{
	const struct hawk_block_index *index = &saver->heap->index;

	saver->frames = calloc(index->count / FRAME_BLOCKS + 1, sizeof(*saver->frames));
	if (!saver->frames)
		return &hawk_enomem;
	for (uint32_t start = 0, end; start < index->count; start = end) {
		end = index->count - start > FRAME_BLOCKS ? start + FRAME_BLOCKS : index->count;
		while (end < index->count && !may_begin(saver, end))
			end++;
		saver->frames[saver->count++] = (struct frame){start, end};
	}
	return NULL;
}

/** The blocks of a frame, read once. */
static struct hawk_error *read_blocks(const struct saver *saver, const struct frame *frame,
				      struct hawk_block **ret)
{
	struct hawk_near near = {.target = saver->heap->target};
	struct hawk_block *blocks = calloc(frame->end - frame->start, sizeof(*blocks));

	if (!blocks)
		return &hawk_enomem;
	for (uint32_t i = frame->start; i < frame->end; i++) {
		hawk_heap_next_block(saver->heap, &near, i, &blocks[i - frame->start]);
		blocks[i - frame->start].depth = saver->depths ? saver->depths[i] : 0;
	}
	*ret = blocks;
	return NULL;
}

/* Puts starts as distances from the end of the previous block, in granules: mostly just a header.
 */
static void put_starts(struct hawk_column *to, unsigned granule_log2,
		       const struct hawk_block *blocks, size_t count)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t granule = blocks[i].start >> granule_log2;

		hawk_column_put_signed(to, (int64_t)(granule - end));
		end = granule + ((blocks[i].size + (1u << granule_log2) - 1) >> granule_log2);
	}
}

static void put_bytes(struct hawk_column *to, const struct hawk_block *blocks, size_t count)
{
	bool deep = false;

	if (!hawk_column_reserve(to, 3 * count + 1))
		return;
	for (size_t i = 0; i < count; i++)
		to->bytes[to->size++] =
			(uint8_t)(blocks[i].kind << 4 | (blocks[i].offset_code & 15));
	for (size_t i = 0; i < count; i++) {
		to->bytes[to->size++] = blocks[i].birth;
		deep |= blocks[i].depth;
	}
	to->bytes[to->size++] = deep;
	for (size_t i = 0; deep && i < count; i++)
		to->bytes[to->size++] = blocks[i].depth;
}

static struct hawk_error *fill(void *context, size_t number, struct hawk_snapshot_piece *piece)
{
	const struct saver *saver = context;
	CLEANUP(free_ptr) struct hawk_block *blocks = NULL;
	const struct frame *frame = &saver->frames[number];
	size_t count = frame->end - frame->start;
	struct hawk_error *err = read_blocks(saver, frame, &blocks);

	if (err)
		return err;
	piece->first = frame->start;
	piece->items = count;
	put_starts(&piece->column, hawk_block_index_granule_log2(&saver->heap->index), blocks,
		   count);
	for (size_t i = 0; i < count; i++)
		hawk_column_put(&piece->column, blocks[i].size);
	for (size_t i = 0; i < count; i++)
		hawk_column_put(&piece->column, blocks[i].trace);
	put_bytes(&piece->column, blocks, count);
	return NULL;
}

static void hawk_cleanup_saver(struct saver *saver)
{
	free(saver->frames);
	free(saver->depths);
}

static struct hawk_error *save_blocks(const struct hawk_heap *heap,
				      struct hawk_snapshot_writer *writer)
{
	CLEANUP(saver) struct saver saver = {.heap = heap};
	struct hawk_error *err = find_depths(&saver);

	if (!err)
		err = cut_frames(&saver);
	return err ? err
		   : hawk_snapshot_put_all(writer, HAWK_SNAPSHOT_BLOCKS, saver.count, fill, &saver);
}

struct hawk_error *hawk_heap_save(const struct hawk_heap *heap, struct hawk_snapshot_writer *writer)
{
	struct hawk_heap_record record = {
		.knows = heap->knows & ~HAWK_HEAP_CONTENTS,
		.sums = heap->sums,
		.overlapping = heap->damages.counts[HAWK_DAMAGE_OVERLAP],
		.implausible = heap->damages.counts[HAWK_DAMAGE_HEADER],
		.origin_count = heap->origin_count,
		.small_granules = heap->index.finer,
		.undumped_known = heap->undumped_known,
		.spans = heap->spans,
		.damages = heap->damages,
		.classes = heap->classes,
		.class_first = heap->class_first,
		.class_end = heap->trace_count,
		.accounting = heap->accounting,
		.sites = heap->sites,
		.site_count = heap->site_count,
		.site_of_trace = heap->site_of_trace,
		.trace_count = heap->trace_count,
		.lost_site = heap->lost_site,
	};
	struct hawk_error *err;

	memcpy(record.origins, heap->origins, sizeof(record.origins));
	if (!heap->knows)
		record.lost_site = UINT32_MAX;
	if (writer->flags & HAWK_SNAPSHOT_SITES_ONLY)
		record.knows &= ~HAWK_HEAP_BLOCKS;
	if (record.knows & HAWK_HEAP_BLOCKS)
		record.blocks = heap->index.count;
	err = hawk_heap_record_save(&record, heap->target, writer);
	return err || !(record.knows & HAWK_HEAP_BLOCKS) ? err : save_blocks(heap, writer);
}
