/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the words of a target range by range, in place where possible.
 */
#ifndef HAWK_ANALYZER_TARGET_WORDS_H
#define HAWK_ANALYZER_TARGET_WORDS_H

#include <string.h>

#include "hawk/target/target.h"

enum { HAWK_WORD_BYTES = 8 };

/** A reader's position; use one for each thread. */
struct hawk_words {
	const struct hawk_target *target;
	const uint8_t *view; /**< bytes at view_start */
	uint64_t view_start;
	uint64_t view_end;
	uint8_t *buffer; /**< for targets that cannot be read in place; allocated on first use */
	bool failed;     /**< out of memory for it */
	uint64_t unreadable_bytes; /**< of writable memory, skipped in the middle of mappings */
};

/** A readable range. */
struct hawk_word_range {
	const uint8_t *bytes; /**< may be unaligned; valid until the next call */
	uint64_t start;       /**< address, a multiple of 8 */
	size_t words;
};

void hawk_words_init(struct hawk_words *words, const struct hawk_target *target);
void hawk_words_deinit(struct hawk_words *words);

/** The slow half of the function below. */
bool hawk_words_seek(struct hawk_words *words, uint64_t at, uint64_t end,
		     struct hawk_word_range *ret);

/**
 * Finds the first range of whole words in [at, end), `at` a multiple of 8. Returns false if none is
 * left, or sets `failed`. Skips holes (zeros) and unreadable memory.
 */
static inline bool hawk_words_next(struct hawk_words *words, uint64_t at, uint64_t end,
				   struct hawk_word_range *ret)
{
	if (at < words->view_start || end > words->view_end || at > end)
		return hawk_words_seek(words, at, end, ret);
	*ret = (struct hawk_word_range){
		.bytes = words->view + (at - words->view_start),
		.start = at,
		.words = (size_t)(end - at) / HAWK_WORD_BYTES,
	};
	return ret->words > 0;
}

#endif
