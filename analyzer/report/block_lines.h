/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Streams lines about blocks, millions a second: repeated parts (ages, kinds, sites) are formatted
 * once, before the first block. Budget a line: about 30 ns and two cache misses (the trace's site,
 * the block's first word).
 */
#ifndef HAWK_ANALYZER_REPORT_BLOCK_LINES_H
#define HAWK_ANALYZER_REPORT_BLOCK_LINES_H

#include <string.h>

#include "hawk/report/blocks.h"

enum { HAWK_BLOCK_SITE_BYTES = 16, HAWK_BLOCK_TAIL_MAX = 64 };

/** The part of a line behind the site, for one birth code and kind. */
struct hawk_block_tail {
	char text[HAWK_BLOCK_TAIL_MAX];
	uint8_t length;
};

/** How lines look. */
struct hawk_block_form {
	const char *aged, *ageless; /**< tails for printf: seconds and kind; kind alone */
	/** Writes a line up to the tail, under 256 bytes; returns its end. `site` has
	 * HAWK_BLOCK_SITE_BYTES. */
	char *(*begin)(char *to, const struct hawk_block *block, const char *site);
	const char *typeless; /**< the end of a line whose block has no type */
	void (*put_type)(const char *type, struct hawk_output *output); /**< another end */
};

/** Prints the lines. `*ret`, if a limit is given, is the number of blocks before it. */
struct hawk_error *hawk_block_lines_put(const struct hawk_blocks_report *report,
					const struct hawk_block_form *form,
					struct hawk_output *output, uint64_t *ret);

static inline char *hawk_block_line_add(char *to, const char *text, size_t size)
{
	memcpy(to, text, size);
	return to + size;
}

#endif
