/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks that are held behind a header in which their own length stands: strings with a length in
 * front (sds of redis), and what allocators of libraries put before the memory they hand out.
 *
 * A pure function of a block's first bytes. The layouts are those of public code, each named in the
 * source; a header is believed only if its length fits the block as the program requested it, so
 * that bytes of another meaning pass by chance only (docs/leaks.md says how rarely).
 */
#ifndef HAWK_ANALYZER_GRAPH_LENGTH_PREFIX_H
#define HAWK_ANALYZER_GRAPH_LENGTH_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

enum { HAWK_LENGTH_PREFIX_MAX = 96 }; /**< bytes of the longest header */

/** What must be true behind the header as well. */
struct hawk_length_prefix {
	uint64_t end;   /**< of the contents, in bytes from the block's start */
	unsigned zeros; /**< bytes that are 0 there, up to 4; perhaps behind the requested bytes */
};

/**
 * Whether the `header_bytes` bytes in front of a pointer, which begin a block of `block_bytes`
 * requested bytes, are such a header. True: `*ret` is left to be looked at.
 */
bool hawk_length_prefix_fits(const uint8_t *header, uint64_t header_bytes, uint64_t block_bytes,
			     struct hawk_length_prefix *ret);

#endif
