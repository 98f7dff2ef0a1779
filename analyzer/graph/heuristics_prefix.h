/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks behind a header that a wrapper of malloc() keeps for itself (talloc, mpv's ta, Python's
 * collector): the program knows each of them by the same small offset. Found by counting, for each
 * site and for each caller of malloc(), at which offsets blocks are pointed to; no contents are
 * read. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_HEURISTICS_PREFIX_H
#define HAWK_ANALYZER_GRAPH_HEURISTICS_PREFIX_H

#include "hawk/heap/heap.h"

/** Where blocks are pointed to. Uses 2 bytes a block, where there are such pointers. */
struct hawk_prefixes {
	const struct hawk_heap *heap;
	struct hawk_area offsets; /**< uint16_t by block: bit i = at 8 * (i + 1) bytes */
	bool any;                 /**< hawk_prefixes_choose() found a site with a prefix */
};

/** Deinitialize only after success. */
struct hawk_error *hawk_prefixes_init(const struct hawk_heap *heap, struct hawk_prefixes *ret);

/** Accepts zeros. */
void hawk_prefixes_deinit(struct hawk_prefixes *prefixes);

/** Counts a pointer from outside of `block`, `inside` bytes behind its start. On any thread. */
void hawk_prefixes_note(struct hawk_prefixes *prefixes, uint32_t block, uint64_t inside);

/** Chooses an offset for each site, or none. To be called once, when all pointers are noted. */
struct hawk_error *hawk_prefixes_choose(struct hawk_prefixes *prefixes);

/** Returns true if `inside` is the offset chosen for the site of `block`, and the block is pointed
 * to there. */
bool hawk_prefixes_has(const struct hawk_prefixes *prefixes, uint32_t block, uint64_t inside);

/** The same for any offset. */
static inline bool hawk_prefixes_of(const struct hawk_prefixes *prefixes, uint32_t block)
{
	return ((const uint16_t *)prefixes->offsets.bytes)[block] != 0;
}

#endif
