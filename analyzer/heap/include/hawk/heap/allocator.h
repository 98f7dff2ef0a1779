/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What an allocator's own structures say of its memory, as a ledger.
 */
#ifndef HAWK_ANALYZER_HEAP_ALLOCATOR_H
#define HAWK_ANALYZER_HEAP_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

/** What a piece of an allocator's memory is. */
enum hawk_piece_state {
	HAWK_PIECE_LIVE = 0,
	HAWK_PIECE_INTERNAL, /**< a block of the allocator's own */
	HAWK_PIECE_FREE,
	HAWK_PIECE_FAST,      /**< free, kept for the next block of its size */
	HAWK_PIECE_CACHED,    /**< free, in the cache of a thread */
	HAWK_PIECE_UNTOUCHED, /**< behind everything that was ever used */
	HAWK_PIECE_OVERHEAD,  /**< marks, rests of pages */
	HAWK_PIECE_FOREIGN,   /**< somebody else's */
	HAWK_PIECE_DAMAGED,   /**< cannot be told apart into blocks */
	HAWK_PIECE_MISSING,   /**< not in the core */
	HAWK_PIECE_STATES
};

/** One allocator in the process. */
struct hawk_allocator {
	const char *name;    /**< "glibc", "jemalloc" ... */
	const char *version; /**< as far as its structures tell: "2.27 to 2.42"; NULL = not known */
	/** Sums over its memory by state: blocks, and bytes with what lies before and behind them.
	 */
	uint64_t objects[HAWK_PIECE_STATES], bytes[HAWK_PIECE_STATES];
	uint64_t arenas;    /**< 0 = it has none, or their number is not known */
	uint64_t differing; /**< of its own counts, those that are not what was found */
	bool incomplete;    /**< some of its memory was not found or understood */
};

/** Bytes that it could hand out again, or give back. */
static inline uint64_t hawk_allocator_free_bytes(const struct hawk_allocator *allocator)
{
	return allocator->bytes[HAWK_PIECE_FREE] + allocator->bytes[HAWK_PIECE_FAST] +
	       allocator->bytes[HAWK_PIECE_CACHED] + allocator->bytes[HAWK_PIECE_UNTOUCHED];
}

#endif
