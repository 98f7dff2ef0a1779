/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lists of free chunks in the arenas of glibc's malloc. Their pointers seem to lead into live
 * blocks but hold none.
 */
#ifndef HAWK_ANALYZER_LIBC_BINS_H
#define HAWK_ANALYZER_LIBC_BINS_H

#include "hawk/base/span.h"
#include "hawk/target/words.h"

/**
 * Finds the first lists in [start, end): fast bins, top, last remainder and bins of one arena.
 * Returns false if the range has none, or after setting `words->failed`.
 */
bool hawk_bins_next(struct hawk_words *words, uint64_t start, uint64_t end, struct hawk_span *ret);

#endif
