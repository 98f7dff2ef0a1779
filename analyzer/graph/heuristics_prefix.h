/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks behind a header that a wrapper of malloc() keeps for itself (talloc, mpv's ta, Python's
 * collector): the program knows each of them by the same small offset. Counts, for each site and
 * each caller of malloc(), the offsets at which blocks are pointed to. Reads no contents. Internal
 * to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_HEURISTICS_PREFIX_H
#define HAWK_ANALYZER_GRAPH_HEURISTICS_PREFIX_H

#include "hawk/heap/heap.h"

/** Offsets at which blocks are pointed to. Uses 2 bytes a block where such pointers exist. */
struct hawk_prefixes {
	const struct hawk_heap *heap;
	struct hawk_area offsets; /**< uint16_t by block: bit i = at 8 * (i + 1) bytes */
	bool any;                 /**< hawk_prefixes_choose() found a site with a prefix */
};

/** Deinitialize only after success. */
struct hawk_error *hawk_prefixes_init(const struct hawk_heap *heap, struct hawk_prefixes *ret);

/** Accepts zeros. */
void hawk_prefixes_deinit(struct hawk_prefixes *prefixes);

/** Counts a pointer from outside `block` to `inside` bytes behind its start. Thread-safe. */
void hawk_prefixes_note(struct hawk_prefixes *prefixes, uint32_t block, uint64_t inside);

/** Chooses an offset for each site, or none. Call once, after all pointers are noted. */
struct hawk_error *hawk_prefixes_choose(struct hawk_prefixes *prefixes);

/** Returns true if `inside` is the offset chosen for the site of `block`, and the block is pointed
 * to there. */
bool hawk_prefixes_has(const struct hawk_prefixes *prefixes, uint32_t block, uint64_t inside);

/** Returns true if the block is pointed to at any chosen offset. */
static inline bool hawk_prefixes_of(const struct hawk_prefixes *prefixes, uint32_t block)
{
	return ((const uint16_t *)prefixes->offsets.bytes)[block] != 0;
}

#endif
