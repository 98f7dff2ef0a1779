/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading pointers again: as graph.c does, but with every word's place. A candidate's tag is its
 * place in a list of sources and offsets.
 */
#include "hawk_pointers.h"

#include <stdlib.h>

#include "graph_words.h"
#include "hawk_cleanup.h"

struct reader {
	const struct hawk_block_index *index;
	hawk_pointers_function *function;
	void *context;
	struct hawk_words words;
	struct hawk_candidates candidates;
	struct hawk_pointer pointers[HAWK_WORDS_BATCH];
	/** Of the candidates that begin here, the block; sorted, as tags are. */
	struct {
		uint64_t tag; /**< of the first word at hand */
		uint64_t offset;
		uint32_t block;
	} pieces[HAWK_WORDS_BATCH];
	size_t piece_count;
	uint64_t tag;
};

static struct hawk_error *flush(struct reader *reader)
{
	struct hawk_candidates *candidates = &reader->candidates;
	size_t count = 0;
	size_t piece = 0;

	hawk_candidates_resolve(candidates, reader->index);
	for (size_t i = 0; i < candidates->count; i++) {
		uint64_t tag = candidates->tags[i];

		if ((uint32_t)candidates->values[i] == HAWK_BLOCK_NOWHERE)
			continue;
		while (piece + 1 < reader->piece_count && reader->pieces[piece + 1].tag <= tag)
			piece++;
		reader->pointers[count++] = (struct hawk_pointer){
			.offset = reader->pieces[piece].offset +
				  (tag - reader->pieces[piece].tag) * HAWK_WORD_BYTES,
			.source = reader->pieces[piece].block,
			.edge = (uint32_t)candidates->values[i],
		};
	}
	candidates->count = 0;
	reader->piece_count = 0;
	reader->tag = 0;
	return count ? reader->function(reader->context, reader->pointers, count) : NULL;
}

static struct hawk_error *gather(struct reader *reader, uint32_t block, uint64_t offset,
				 const struct hawk_stretch *stretch)
{
	for (size_t done = 0; done < stretch->words;) {
		size_t room = HAWK_WORDS_BATCH - reader->candidates.count;
		size_t words = stretch->words - done;

		if (reader->piece_count == HAWK_WORDS_BATCH ||
		    (words > room && room < HAWK_WORDS_BATCH / 2)) {
			struct hawk_error *err = flush(reader);

			if (err)
				return err;
			continue;
		}
		if (words > room)
			words = room;
		reader->pieces[reader->piece_count].tag = reader->tag;
		reader->pieces[reader->piece_count].offset = offset + done * HAWK_WORD_BYTES;
		reader->pieces[reader->piece_count++].block = block;
		hawk_candidates_pick(&reader->candidates, reader->index,
				     stretch->bytes + done * HAWK_WORD_BYTES, words, reader->tag,
				     1);
		reader->tag += words;
		done += words;
	}
	return NULL;
}

static struct hawk_error *read_block(struct reader *reader, uint32_t block)
{
	uint64_t start = hawk_block_start(reader->index, block);
	uint64_t end = (start + hawk_block_size(reader->index, block)) & -(uint64_t)HAWK_WORD_BYTES;
	struct hawk_stretch stretch;

	for (uint64_t at = start; at < end && hawk_words_next(&reader->words, at, end, &stretch);
	     at = stretch.start + stretch.words * HAWK_WORD_BYTES) {
		struct hawk_error *err = gather(reader, block, stretch.start - start, &stretch);

		if (err)
			return err;
	}
	return NULL;
}

struct hawk_error *hawk_pointers_read(const struct hawk_target *target,
				      const struct hawk_block_index *index, uint32_t first,
				      uint32_t end, hawk_pointers_function *function, void *context)
{
	CLEANUP(free_ptr) struct reader *reader = calloc(1, sizeof(*reader));
	struct hawk_error *err = NULL;

	if (!reader)
		return &hawk_enomem;
	reader->index = index;
	reader->function = function;
	reader->context = context;
	hawk_words_init(&reader->words, target);
	for (uint32_t block = first; !err && block < end; block++)
		err = read_block(reader, block);
	if (!err)
		err = flush(reader);
	if (!err && reader->words.failed)
		err = &hawk_enomem;
	hawk_words_deinit(&reader->words);
	return err;
}
