/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks that are held behind a header with their own length: strings with a length prefix (sds of
 * redis), and headers that libraries' allocators put before their memory.
 *
 * A pure function of a block's first bytes. The layouts are those of public code, each named in the
 * source; a header is believed only if its length fits the block as the program requested it, so
 * that bytes of another meaning pass by chance only (docs/leaks.md says how rarely).
 */
#ifndef HAWK_ANALYZER_GRAPH_LENGTH_PREFIX_H
#define HAWK_ANALYZER_GRAPH_LENGTH_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk/heap/requested.h"

enum { HAWK_LENGTH_PREFIX_MAX = 96 }; /**< bytes that are read of a header */

/** Conditions on the bytes behind the header. */
struct hawk_length_prefix {
	uint64_t end;   /**< of the contents, in bytes from the block's start */
	unsigned zeros; /**< bytes that are 0 there, up to 4; perhaps behind the requested bytes */
};

/**
 * Returns true if the `header_bytes` bytes before a pointer, which begin `block`, are such a
 * header. `header` holds the first HAWK_LENGTH_PREFIX_MAX of them. The caller must then check
 * `*ret`.
 */
bool hawk_length_prefix_fits(const uint8_t *header, uint64_t header_bytes,
			     struct hawk_requested block, struct hawk_length_prefix *ret);

#endif
