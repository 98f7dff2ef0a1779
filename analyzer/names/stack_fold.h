/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folds a stack of up to a million frames into a few hundred entries, in linear time: lists a
 * repeated cycle once, then cuts out the middle if still too long.
 */
#ifndef HAWK_ANALYZER_NAMES_STACK_FOLD_H
#define HAWK_ANALYZER_NAMES_STACK_FOLD_H

#include "hawk/symbols/symbols.h"

enum {
	HAWK_FOLD_ENTRIES_MAX = 256,
	HAWK_FOLD_PERIOD_MAX = 32, /**< longest cycle that is recognised, in frames */
};

enum hawk_fold_kind {
	HAWK_FOLD_FRAME = 0,
	HAWK_FOLD_REPEAT, /**< the `period` frames before it occur `times` times in all */
	HAWK_FOLD_CUT,    /**< the left-out frames do not repeat */
};

struct hawk_fold_entry {
	enum hawk_fold_kind kind;
	uint32_t period;
	size_t frame;  /**< index of the frame, or of the first one left out */
	size_t frames; /**< left out; 0 for a frame */
	size_t times;
};

/**
 * Fills `*ret` (the caller frees it) with at most HAWK_FOLD_ENTRIES_MAX entries, innermost first. A
 * stack within that limit is listed unchanged.
 */
struct hawk_error *hawk_stack_fold(const struct hawk_stack_frame *frames, size_t count,
				   struct hawk_fold_entry **ret, size_t *entry_count);

#endif
