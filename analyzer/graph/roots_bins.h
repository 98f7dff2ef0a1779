/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where glibc's malloc keeps its lists of free memory: pointers that look as if they led into live
 * blocks, and hold none. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_BINS_H
#define HAWK_ANALYZER_GRAPH_ROOTS_BINS_H

#include "graph_words.h"

/**
 * The first lists in [start, end): fast bins, top, last remainder and bins of one arena. False =
 * there are none, or `words->failed`.
 */
bool hawk_roots_bins_next(struct hawk_words *words, uint64_t start, uint64_t end,
			  struct hawk_span *ret);

#endif
