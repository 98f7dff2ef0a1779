/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suppressions as they are kept. Internal to analysis/.
 */
#ifndef HAWK_SUPPRESSIONS_STATE_H
#define HAWK_SUPPRESSIONS_STATE_H

#include "hawk_suppressions.h"

enum hawk_suppression_part {
	HAWK_SUPPRESSION_ANYWHERE, /**< LeakSanitizer's: any frame's function, file or module */
	HAWK_SUPPRESSION_FUNCTION,
	HAWK_SUPPRESSION_OBJECT,
	HAWK_SUPPRESSION_SOURCE,
	HAWK_SUPPRESSION_ELLIPSIS, /**< any number of frames */
};

struct hawk_suppression_pattern {
	enum hawk_suppression_part part;
	const char *text; /**< part of the file's copy */
	uint32_t line;    /**< of the source; 0 = any */
};

struct hawk_suppression_entry {
	struct hawk_suppression told;
	unsigned kinds; /**< bits 1u << enum hawk_reach_kind */
	size_t first;   /**< index into patterns */
	size_t count;
};

struct hawk_suppressions {
	struct hawk_suppression_entry *entries;
	size_t count;
	size_t capacity;
	struct hawk_suppression_pattern *patterns;
	size_t pattern_count;
	size_t pattern_capacity;
	char **texts; /**< copies of files and of their names */
	size_t text_count;
};

#endif
