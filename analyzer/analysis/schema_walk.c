/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a group's blocks, one after the other, read in pieces.
 */
#include "schema_tally.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

enum { PIECE_BYTES = 64 << 10, WORD_BYTES = sizeof(uint64_t) };

struct reader {
	const struct hawk_schema_walk *walk;
	uint8_t *piece;
	bool in_text;
};

static struct hawk_error *visit_piece(struct reader *reader, uint32_t block, uint64_t offset,
				      size_t size)
{
	const struct hawk_schema_walk *walk = reader->walk;

	for (size_t at = 0; at + WORD_BYTES <= size; at += WORD_BYTES) {
		struct hawk_word word;
		struct hawk_error *err;
		uint64_t value;

		memcpy(&value, reader->piece + at, sizeof(value));
		err = hawk_words_classify(walk->words, value, &word);
		if (err)
			return err;
		if (walk->text && word.class == HAWK_WORD_TEXT && !reader->in_text)
			walk->text(walk->context, offset + at,
				   hawk_text_length(reader->piece + at, size - at));
		reader->in_text = word.class == HAWK_WORD_TEXT;
		walk->visit(walk->context, block, offset + at, value, word);
	}
	return NULL;
}

static struct hawk_error *visit_block(struct reader *reader, uint32_t block, uint64_t size)
{
	const struct hawk_schema_walk *walk = reader->walk;
	uint64_t start = hawk_block_start(&walk->graph->index, block);
	struct hawk_error *err = NULL;

	if (size > walk->group->bytes_each)
		size = walk->group->bytes_each;
	reader->in_text = false;
	for (uint64_t offset = 0; offset < size && !err; offset += PIECE_BYTES) {
		size_t wanted = size - offset < PIECE_BYTES ? (size_t)(size - offset) : PIECE_BYTES;
		size_t got = hawk_target_read_some(walk->graph->target, start + offset,
						   reader->piece, wanted);

		err = visit_piece(reader, block, offset, got);
		if (got < wanted) {
			walk->group->unreadable += !walk->all;
			break;
		}
	}
	if (!err && walk->end)
		walk->end(walk->context, block);
	return err;
}

struct hawk_error *hawk_schema_walk(const struct hawk_schema_walk *walk)
{
	CLEANUP(free_ptr) uint8_t *piece = malloc(PIECE_BYTES);
	struct hawk_schema_group *group = walk->group;
	uint64_t stride = walk->all ? 1 : group->objects / HAWK_SCHEMA_BLOCKS_MAX + 1, seen = 0;
	struct reader reader = {.walk = walk, .piece = piece};
	struct hawk_error *err = NULL;

	if (!piece)
		return &hawk_enomem;
	if (!walk->all)
		group->examined = group->unreadable = 0;
	for (size_t i = 0; i < walk->blocks->count && !err; i++) {
		uint32_t block = walk->blocks->numbers[i];
		uint64_t size = hawk_block_size(&walk->graph->index, block);

		if (size < group->size_min || size > group->size_max || seen++ % stride)
			continue;
		group->examined += !walk->all;
		err = visit_block(&reader, block, size);
	}
	return err;
}
