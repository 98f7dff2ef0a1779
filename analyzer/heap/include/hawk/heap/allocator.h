/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An allocator's memory by state, from its own structures.
 */
#ifndef HAWK_ANALYZER_HEAP_ALLOCATOR_H
#define HAWK_ANALYZER_HEAP_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

/** The state of a piece of an allocator's memory. */
enum hawk_piece_state {
	HAWK_PIECE_LIVE = 0,
	HAWK_PIECE_INTERNAL, /**< a block of the allocator's own */
	HAWK_PIECE_FREE,
	HAWK_PIECE_FAST,      /**< free, kept for the next block of its size */
	HAWK_PIECE_CACHED,    /**< free, in the cache of a thread */
	HAWK_PIECE_UNTOUCHED, /**< behind all memory ever used */
	HAWK_PIECE_OVERHEAD,  /**< fence posts, rests of pages */
	HAWK_PIECE_FOREIGN,   /**< not the allocator's */
	HAWK_PIECE_DAMAGED,   /**< cannot be divided into blocks */
	HAWK_PIECE_MISSING,   /**< not in the core */
	HAWK_PIECE_STATES
};

/** One allocator in the process. */
struct hawk_allocator {
	const char *name;    /**< "glibc", "jemalloc" ... */
	const char *version; /**< as far as its structures show: "2.27 to 2.42"; NULL = not known */
	/** Sums over its memory by state: objects, and bytes with the overhead before and behind
	 * them. */
	uint64_t objects[HAWK_PIECE_STATES], bytes[HAWK_PIECE_STATES];
	uint64_t arenas;    /**< 0 = none, or their number is not known */
	uint64_t samples;   /**< blocks whose stack the allocator took */
	uint64_t differing; /**< its own counts that differ from what was found */
	bool incomplete;    /**< some of its memory was not found or understood */
};

/** Returns the bytes that it could hand out again or give back. */
static inline uint64_t hawk_allocator_free_bytes(const struct hawk_allocator *allocator)
{
	return allocator->bytes[HAWK_PIECE_FREE] + allocator->bytes[HAWK_PIECE_FAST] +
	       allocator->bytes[HAWK_PIECE_CACHED] + allocator->bytes[HAWK_PIECE_UNTOUCHED];
}

#endif
