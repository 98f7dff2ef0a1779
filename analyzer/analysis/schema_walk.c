/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From bits to bytes: blocks are seen in place where they can be. Three batches of pieces are under
 * way: memory of the last one is asked for, that of the one before has come, and tells what its
 * words will need; that has come for the first one.
 */
#include "schema_walk.h"

#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_progress.h"

enum {
	LINE_BYTES = 64,
	PIECE_BYTES = 64 << 10,
	BATCH_BYTES = 4 << 10, /**< but for the last piece */
	BATCHES = 3,
	BITS = 64,
	QUEUE = 16, /**< a power of two */
};

struct reader {
	struct hawk_schema_walk *walk;
	const struct hawk_block_index *index;
	struct hawk_near near;
	bool one_size;      /**< all blocks are of that, and of the group */
	size_t piece_bytes; /**< at most; of arrays, whole elements */
	struct hawk_schema_batch batches[BATCHES];
	struct hawk_schema_batch *now, *next, *last;
	size_t batch_bytes; /**< of the last one */
	/** For each of them, of what cannot be seen in place: BATCH_BYTES and PIECE_BYTES. */
	uint8_t *copies;
	/** Of a share, whose blocks are far apart: where they begin is asked for before. */
	uint32_t queue[QUEUE];
	uint64_t queued; /**< so many were, altogether */
};

/* Multiples of the golden ratio, modulo one: a share of them is the same share of any stretch of
 * numbers, and of every n-th number, whatever n. */
static bool is_in_share(uint32_t number, uint64_t share)
{
	return number * UINT64_C(0x9e3779b97f4a7c15) >> 32 < share;
}

/** Visits the first batch, with the second ahead; the third one is empty then. */
static struct hawk_error *visit(struct reader *reader)
{
	struct hawk_schema_batch *now = reader->now;
	struct hawk_error *err = reader->walk->visit(reader->walk->context, now, reader->next);

	reader->now = reader->next;
	reader->next = reader->last;
	reader->last = now;
	now->count = 0;
	reader->batch_bytes = 0;
	return err;
}

/** A copy of up to `size` bytes, in place of them. */
static void copy_piece(struct reader *reader, uint64_t address, struct hawk_schema_piece *piece)
{
	size_t batch = (size_t)(reader->last - reader->batches);
	uint8_t *copy = reader->copies + batch * (BATCH_BYTES + PIECE_BYTES) + reader->batch_bytes;

	piece->size = hawk_near_read(&reader->near, address, copy, piece->size);
	piece->bytes = copy;
}

/** The next piece of a block, which has `left` bytes from `offset` on. */
static struct hawk_error *take_piece(struct reader *reader, uint32_t block, uint64_t start,
				     uint64_t offset, uint64_t left, bool *is_last)
{
	struct hawk_schema_batch *batch = reader->last;
	struct hawk_schema_piece *piece = &batch->pieces[batch->count++];
	size_t wanted = left < reader->piece_bytes ? (size_t)left : reader->piece_bytes;

	piece->block = block;
	piece->offset = offset;
	piece->size = wanted;
	piece->bytes = hawk_near_view(&reader->near, start + offset, wanted);
	if (piece->bytes) {
		hawk_prefetch(piece->bytes);
		if (wanted > LINE_BYTES / 2)
			hawk_prefetch(piece->bytes +
				      (wanted > LINE_BYTES ? LINE_BYTES : wanted - 1));
	} else {
		copy_piece(reader, start + offset, piece);
		reader->walk->unreadable += piece->size < wanted;
	}
	piece->is_last = *is_last = piece->size < wanted || left == wanted;
	reader->batch_bytes += piece->size;
	if (batch->count == HAWK_SCHEMA_BATCH_PIECES || reader->batch_bytes >= BATCH_BYTES)
		return visit(reader);
	return NULL;
}

static struct hawk_error *take_block(struct reader *reader, uint32_t block, uint64_t size)
{
	uint64_t start = hawk_block_start(reader->index, block);
	struct hawk_error *err;
	bool is_last;

	reader->walk->examined++;
	err = take_piece(reader, block, start, 0, size, &is_last);
	for (uint64_t offset = reader->piece_bytes; !is_last && !err; offset += reader->piece_bytes)
		err = take_piece(reader, block, start, offset, size - offset, &is_last);
	return err;
}

/** If it is of the group. */
static struct hawk_error *take_number(struct reader *reader, uint32_t number)
{
	const struct hawk_schema_group *group = reader->walk->group;
	uint64_t size = group->size_min;

	if (!reader->one_size) {
		size = hawk_block_size(reader->index, number);
		if (size < group->size_min || size > group->size_max)
			return NULL;
	}
	return take_block(reader, number, size < group->bytes_each ? size : group->bytes_each);
}

static struct hawk_error *take_queued(struct reader *reader, uint32_t number)
{
	uint32_t *place = &reader->queue[reader->queued++ % QUEUE];
	uint32_t before = *place;

	hawk_prefetch(&reader->index->granules[number]);
	hawk_prefetch(&reader->index->sizes[number]);
	*place = number;
	return reader->queued > QUEUE ? take_number(reader, before) : NULL;
}

static struct hawk_error *empty_queue(struct reader *reader)
{
	uint64_t i = reader->queued > QUEUE ? reader->queued - QUEUE : 0;
	struct hawk_error *err = NULL;

	for (; i < reader->queued && !err; i++)
		err = take_number(reader, reader->queue[i % QUEUE]);
	return err;
}

/** Those that `bits` stand for, of the index from `first` on. */
static struct hawk_error *take_blocks(struct reader *reader, uint32_t first, uint64_t bits)
{
	uint64_t share = reader->walk->share;
	struct hawk_error *err = NULL;

	for (; bits && !err; bits &= bits - 1) {
		uint32_t number = first + (uint32_t)__builtin_ctzll(bits);

		if (share == HAWK_SCHEMA_ALL)
			err = take_number(reader, number);
		else if (is_in_share(number, share))
			err = take_queued(reader, number);
	}
	return err;
}

struct hawk_error *hawk_schema_walk(struct hawk_schema_walk *walk)
{
	const struct hawk_schema_blocks *blocks = walk->blocks;
	CLEANUP(free_ptr) struct reader *reader = calloc(1, sizeof(*reader));
	CLEANUP(free_ptr) uint8_t *copies = malloc(BATCHES * (BATCH_BYTES + PIECE_BYTES));
	struct hawk_error *err = NULL;
	size_t element = walk->group->period ? walk->group->period * sizeof(uint64_t) : 1;

	walk->examined = walk->unreadable = 0;
	if (!reader || !copies)
		return &hawk_enomem;
	reader->walk = walk;
	reader->index = &blocks->heap->index;
	reader->near.target = blocks->heap->target;
	reader->one_size = walk->group->objects == blocks->count &&
			   walk->group->size_min == walk->group->size_max;
	reader->piece_bytes = PIECE_BYTES - PIECE_BYTES % element;
	reader->copies = copies;
	reader->now = &reader->batches[0];
	reader->next = &reader->batches[1];
	reader->last = &reader->batches[2];
	for (size_t i = blocks->bounds[walk->part]; i < blocks->bounds[walk->part + 1] && !err;
	     i++) {
		err = take_blocks(reader, (uint32_t)i * BITS, blocks->bits[i]);
		hawk_progress_tick(i);
	}
	if (!err)
		err = empty_queue(reader);
	for (unsigned i = 0; i < BATCHES && !err; i++)
		err = visit(reader);
	return err;
}
