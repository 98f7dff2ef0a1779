/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a target, stretch by stretch, in place where that is possible; and pointers among
 * them, batch by batch, so that the cache misses of many look-ups overlap. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_GRAPH_WORDS_H
#define HAWK_ANALYZER_GRAPH_GRAPH_WORDS_H

#include <string.h>

#include "hawk/heap/block_index.h"

enum {
	HAWK_WORD_BYTES = 8,
	HAWK_WORDS_BATCH = 512,
};

/** Where reading is; one for each thread. */
struct hawk_words {
	const struct hawk_target *target;
	const uint8_t *view; /**< bytes at view_start */
	uint64_t view_start;
	uint64_t view_end;
	uint8_t *buffer; /**< for targets that cannot be read in place; made when first needed */
	bool failed;     /**< no memory for it */
	uint64_t unreadable_bytes; /**< of writable memory, passed over in the middle of mappings */
};

/** Bytes that can be read. */
struct hawk_stretch {
	const uint8_t *bytes; /**< may be unaligned; valid until the next call */
	uint64_t start;       /**< address, a multiple of 8 */
	size_t words;
};

void hawk_words_init(struct hawk_words *words, const struct hawk_target *target);
void hawk_words_deinit(struct hawk_words *words);

/** The slow half of the function below. */
bool hawk_words_seek(struct hawk_words *words, uint64_t at, uint64_t end, struct hawk_stretch *ret);

/**
 * The first stretch of whole words in [at, end), `at` a multiple of 8; false = there are none, or
 * `failed`. Holes (which are zeros) and what cannot be read are left out.
 */
static inline bool hawk_words_next(struct hawk_words *words, uint64_t at, uint64_t end,
				   struct hawk_stretch *ret)
{
	if (at < words->view_start || end > words->view_end || at > end)
		return hawk_words_seek(words, at, end, ret);
	*ret = (struct hawk_stretch){
		.bytes = words->view + (at - words->view_start),
		.start = at,
		.words = (size_t)(end - at) / HAWK_WORD_BYTES,
	};
	return ret->words > 0;
}

/** Words that lie between the first and the last block; not looked up yet. */
struct hawk_candidates {
	size_t count;
	uint64_t values[HAWK_WORDS_BATCH];
	uint64_t tags[HAWK_WORDS_BATCH]; /**< the caller's: where the word was found */
};

/**
 * Picks candidates from `words` words at `bytes`, which must have room; each tag is `tag` plus
 * `step` for each word before it. Free of branches: what a word is cannot be predicted.
 */
static inline void hawk_candidates_pick(struct hawk_candidates *candidates,
					const struct hawk_block_index *index, const uint8_t *bytes,
					size_t words, uint64_t tag, uint64_t step)
{
	uint64_t first = index->first_chunk;
	uint64_t span = index->chunk_span;
	size_t count = candidates->count;

	for (size_t i = 0; i < words; i++) {
		uint64_t value;

		memcpy(&value, bytes + i * HAWK_WORD_BYTES, sizeof(value));
		candidates->values[count] = value;
		candidates->tags[count] = tag + i * step;
		count += (value >> HAWK_CHUNK_LOG2) - first < span;
	}
	candidates->count = count;
}

/** Replaces every value by its edge (block << 1 | interior) or HAWK_BLOCK_NOWHERE. */
void hawk_candidates_resolve(struct hawk_candidates *candidates,
			     const struct hawk_block_index *index);

#endif
