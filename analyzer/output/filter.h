/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What bytes pass between the buffer of an output and its descriptor.
 *
 * Filters form a list that ends at the descriptor. The first failure is the output's `errnum`; from
 * then on nothing passes.
 */
#ifndef HAWK_ANALYZER_OUTPUT_FILTER_H
#define HAWK_ANALYZER_OUTPUT_FILTER_H

#include "hawk/output/output.h"

enum { HAWK_FILTER_BYTES = 64 * 1024 }; /**< that a filter passes on at once */

struct hawk_filter {
	struct hawk_output *output;
	struct hawk_filter *next; /**< NULL = the descriptor */
	void (*put)(struct hawk_filter *filter, const void *bytes, size_t size);
	/** Passes on what is held back: the stream is complete. */
	void (*end)(struct hawk_filter *filter);
	void (*destroy)(struct hawk_filter *filter);
};

/** Gives bytes to `to`, or to the descriptor if that is NULL. */
void hawk_filter_pass(struct hawk_output *output, struct hawk_filter *to, const void *bytes,
		      size_t size);

/** Puts `filter`, which the output owns from now on, in front of those that are there. */
void hawk_filter_add(struct hawk_output *output, struct hawk_filter *filter);

#endif
