/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The arena that each thread uses, by a word in its thread-local storage. Private to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_THREAD_WORDS_H
#define HAWK_ANALYZER_HEAP_THREAD_WORDS_H

#include "walker.h"

struct hawk_thread_words {
	const struct hawk_target *target;
	uint64_t first, last; /**< distances (hawk_tls_at()), multiples of 8 */
	/** Returns the number of the arena to which a word leads, or HAWK_NOT_KNOWN. */
	uint32_t (*arena_at)(const void *context, uint64_t word);
	const void *context;
};

/** Fills the arena of each of the target's threads, or HAWK_NOT_KNOWN. Among distances that are
 * equally good the nearest to the thread pointer counts. */
void hawk_thread_words_find(const struct hawk_thread_words *words, uint32_t *ret);

#endif
