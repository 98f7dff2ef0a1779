/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a group's blocks, one after the other, read in pieces. Pieces of several small
 * blocks are visited together, so that what their words lead to is fetched for all at once.
 */
#include "schema_tally.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_near.h"

enum {
	PIECE_BYTES = 64 << 10,
	BATCH_BYTES = 4 << 10, /* of pieces that are visited together, but for a larger one */
	BATCH_PIECES = 64,
	BLOCKS_AHEAD = 16,
	WORD_BYTES = sizeof(uint64_t),
};

struct piece {
	uint32_t block;
	uint64_t offset; /**< in the block */
	size_t at, size; /**< bytes of the batch */
	bool is_last;    /**< of its block */
	bool is_picked;  /**< its words are those of reader.picked */
};

struct reader {
	const struct hawk_schema_walk *walk;
	struct hawk_near near;
	uint8_t *bytes; /**< PIECE_BYTES and BATCH_BYTES */
	size_t used;
	struct piece pieces[BATCH_PIECES];
	unsigned count;
	bool in_text;
	/** Of groups without a period: the words that matter. NULL = all are read. */
	uint32_t *picked;
	uint32_t picked_count;
};

/** Whether there is no need to look closer. */
static bool plainly_is(const struct hawk_words *words, uint64_t value, enum hawk_word_family family)
{
	if (family == HAWK_FAMILY_POINTER)
		return hawk_words_is_block(words, value);
	return family == HAWK_FAMILY_NUMBER && hawk_words_is_small(words, value);
}

static struct hawk_error *visit_piece(struct reader *reader, const struct piece *piece)
{
	const struct hawk_schema_walk *walk = reader->walk;
	const uint8_t *bytes = reader->bytes + piece->at;

	if (!piece->offset)
		reader->in_text = false;
	for (size_t at = 0; at + WORD_BYTES <= piece->size; at += WORD_BYTES) {
		uint64_t offset = piece->is_picked ? reader->picked[at / WORD_BYTES] * WORD_BYTES
						   : piece->offset + at;
		struct hawk_word word;
		struct hawk_error *err;
		uint64_t value;

		memcpy(&value, bytes + at, sizeof(value));
		if (piece->is_picked &&
		    plainly_is(walk->words, value, walk->families[reader->picked[at / WORD_BYTES]]))
			continue;
		err = hawk_words_classify(walk->words, value, &word);
		if (err)
			return err;
		if (walk->text && word.class == HAWK_WORD_TEXT && !reader->in_text)
			walk->text(walk->context, offset,
				   hawk_text_length(bytes + at, piece->size - at));
		reader->in_text = word.class == HAWK_WORD_TEXT;
		walk->visit(walk->context, piece->block, offset, value, word);
	}
	if (piece->is_last && walk->end)
		walk->end(walk->context, piece->block);
	return NULL;
}

static struct hawk_error *visit_batch(struct reader *reader)
{
	struct hawk_error *err = NULL;

	if (reader->picked)
		hawk_words_prefetch_blocks(reader->walk->words, reader->bytes, reader->used);
	else
		hawk_words_prefetch(reader->walk->words, reader->bytes, reader->used);
	for (unsigned i = 0; i < reader->count && !err; i++)
		err = visit_piece(reader, &reader->pieces[i]);
	reader->count = 0;
	reader->used = 0;
	return err;
}

/** Those of its words that are looked up. */
static struct hawk_error *pick_words(struct reader *reader, uint32_t block, uint64_t size)
{
	uint64_t start = hawk_block_start(&reader->walk->graph->index, block);
	struct piece piece = {block, 0, reader->used, 0, true, true};

	for (uint32_t i = 0; i < reader->picked_count; i++) {
		uint64_t offset = (uint64_t)reader->picked[i] * WORD_BYTES;

		if (offset + WORD_BYTES > size ||
		    hawk_near_read(&reader->near, start + offset, reader->bytes + reader->used,
				   WORD_BYTES) < WORD_BYTES)
			break;
		reader->used += WORD_BYTES;
	}
	piece.size = reader->used - piece.at;
	reader->pieces[reader->count++] = piece;
	return reader->used >= BATCH_BYTES || reader->count == BATCH_PIECES ? visit_batch(reader)
									    : NULL;
}

/** What need not be looked up. */
static void blank(const struct hawk_schema_walk *walk, uint8_t *bytes, size_t size, uint64_t offset)
{
	for (size_t at = 0; at + WORD_BYTES <= size; at += WORD_BYTES) {
		uint32_t index = hawk_schema_index(walk->group, offset + at);

		if (index >= walk->group->word_count || walk->families[index] == HAWK_FAMILY_NULL)
			memset(bytes + at, 0, WORD_BYTES);
	}
}

static struct hawk_error *read_block(struct reader *reader, uint32_t block, uint64_t size)
{
	const struct hawk_schema_walk *walk = reader->walk;
	uint64_t start = hawk_block_start(&walk->graph->index, block);
	struct hawk_error *err = NULL;
	uint64_t offset = 0;
	bool is_last;

	if (size > walk->group->bytes_each)
		size = walk->group->bytes_each;
	if (reader->picked)
		return pick_words(reader, block, size);
	do {
		size_t wanted = size - offset < PIECE_BYTES ? (size_t)(size - offset) : PIECE_BYTES;
		size_t got = hawk_near_read(&reader->near, start + offset,
					    reader->bytes + reader->used, wanted);

		if (walk->families)
			blank(walk, reader->bytes + reader->used, got, offset);
		is_last = got < wanted || size - offset == wanted;
		reader->pieces[reader->count++] =
			(struct piece){block, offset, reader->used, got, is_last, false};
		reader->used += got;
		while (reader->used % WORD_BYTES)
			reader->bytes[reader->used++] = 0;
		offset += wanted;
		walk->group->unreadable += got < wanted && !walk->all;
		if (reader->used >= BATCH_BYTES || reader->count == BATCH_PIECES)
			err = visit_batch(reader);
	} while (!is_last && !err);
	return err;
}

static void prefetch_block(const struct reader *reader, uint32_t block)
{
	hawk_near_prefetch(&reader->near, hawk_block_start(&reader->walk->graph->index, block));
}

static struct hawk_error *pick(struct reader *reader)
{
	const struct hawk_schema_group *group = reader->walk->group;

	if (!reader->walk->families || group->period)
		return NULL;
	reader->picked = malloc(((size_t)group->word_count + 1) * sizeof(*reader->picked));
	if (!reader->picked)
		return &hawk_enomem;
	for (uint32_t i = 0; i < group->word_count; i++)
		if (reader->walk->families[i] != HAWK_FAMILY_NULL)
			reader->picked[reader->picked_count++] = i;
	return NULL;
}

struct hawk_error *hawk_schema_walk(const struct hawk_schema_walk *walk)
{
	CLEANUP(free_ptr) uint8_t *bytes = malloc(BATCH_BYTES + PIECE_BYTES);
	struct hawk_schema_group *group = walk->group;
	uint64_t stride = walk->all ? 1 : group->objects / HAWK_SCHEMA_BLOCKS_MAX + 1, seen = 0;
	struct reader reader = {
		.walk = walk, .near = {.target = walk->graph->target}, .bytes = bytes};
	struct hawk_error *err = pick(&reader);

	if (!bytes && !err)
		err = &hawk_enomem;
	if (!walk->all)
		group->examined = group->unreadable = 0;
	for (size_t i = 0; i < walk->blocks->count && !err; i++) {
		uint32_t block = walk->blocks->numbers[i];
		uint64_t size = hawk_block_size(&walk->graph->index, block);

		if (walk->blocks->count - i > BLOCKS_AHEAD)
			prefetch_block(&reader, walk->blocks->numbers[i + BLOCKS_AHEAD]);
		if (size < group->size_min || size > group->size_max || seen++ % stride)
			continue;
		group->examined += !walk->all;
		err = read_block(&reader, block, size);
	}
	if (!err)
		err = visit_batch(&reader);
	free(reader.picked);
	return err;
}
