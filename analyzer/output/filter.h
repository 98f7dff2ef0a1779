/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filters between an output's buffer and its descriptor.
 *
 * Filters form a list that ends at the descriptor. The first failure is the output's `errnum`; from
 * then on nothing passes.
 */
#ifndef HAWK_ANALYZER_OUTPUT_FILTER_H
#define HAWK_ANALYZER_OUTPUT_FILTER_H

#include "hawk/output/output.h"

enum { HAWK_FILTER_BYTES = 64 * 1024 }; /**< bytes that a filter passes on at once */

struct hawk_filter {
	struct hawk_output *output;
	struct hawk_filter *next; /**< NULL = the descriptor */
	void (*put)(struct hawk_filter *filter, const void *bytes, size_t size);
	/** Completes the stream: passes on all bytes held back. */
	void (*end)(struct hawk_filter *filter);
	void (*destroy)(struct hawk_filter *filter);
};

/** Gives bytes to `to`, or to the descriptor if that is NULL. */
void hawk_filter_pass(struct hawk_output *output, struct hawk_filter *to, const void *bytes,
		      size_t size);

/** Adds `filter` before the existing ones; the output owns it. */
void hawk_filter_add(struct hawk_output *output, struct hawk_filter *filter);

#endif
