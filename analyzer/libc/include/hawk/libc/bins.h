/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lists of free chunks in the arenas of glibc's malloc: pointers that look as if they led into live
 * blocks, and hold none.
 */
#ifndef HAWK_ANALYZER_LIBC_BINS_H
#define HAWK_ANALYZER_LIBC_BINS_H

#include "hawk/base/span.h"
#include "hawk/target/words.h"

/**
 * Finds the first lists in [start, end): fast bins, top, last remainder and bins of one arena.
 * Returns false if there are none, or sets `words->failed`.
 */
bool hawk_bins_next(struct hawk_words *words, uint64_t start, uint64_t end, struct hawk_span *ret);

#endif
