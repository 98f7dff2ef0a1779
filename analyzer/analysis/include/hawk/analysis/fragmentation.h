/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Why free memory is not given back, and which live blocks pin it. Allocators give back units:
 * pages of chunks (glibc), slabs, spans, pages of their own (others). A unit with a live block
 * stays.
 *
 *     free_bytes = whole_bytes + given_back_bytes + cached_bytes + pinned_bytes + scattered_bytes
 */
#ifndef HAWK_ANALYZER_ANALYSIS_FRAGMENTATION_H
#define HAWK_ANALYZER_ANALYSIS_FRAGMENTATION_H

#include "hawk/heap/heap.h"

enum hawk_fragmentation_verdict {
	HAWK_FRAGMENTATION_NONE = 0,   /**< free memory is below a quarter of the heap, or little */
	HAWK_FRAGMENTATION_PINNED,     /**< live blocks pin it */
	HAWK_FRAGMENTATION_THRESHOLDS, /**< the allocator could give it back */
	HAWK_FRAGMENTATION_ARENAS,     /**< likewise, and many arenas beside the main one have it */
	HAWK_FRAGMENTATION_CACHES,     /**< threads' caches hold it */
	HAWK_FRAGMENTATION_VERDICTS
};

/** What the blocks of a site pin: units that are at least half free. */
struct hawk_pin {
	uint32_t site;           /**< of the heap; HAWK_NOT_KNOWN = cached, or not known */
	bool is_cached;          /**< free pieces in caches of threads */
	uint64_t objects, bytes; /**< of the blocks there */
	uint64_t units;          /**< pinned by them alone */
	uint64_t returns_bytes;  /**< of these units, live ones included: what would return if the
				    blocks were gone */
	uint64_t shared_bytes;   /**< free bytes of units that other sites' blocks pin as well */
	/** One of the blocks: if ages are known, the oldest of those that come first in a unit. */
	uint64_t example;
	uint32_t block;       /**< its number; HAWK_NOT_KNOWN = it is no block of the heap's */
	bool has_birth;       /**< the next is known */
	uint64_t birth_units; /**< of the example */
};

struct hawk_fragmentation {
	enum hawk_fragmentation_verdict verdict;
	uint64_t live_bytes, free_bytes;
	uint64_t whole_bytes;      /**< whole units, resident: could be given back */
	uint64_t given_back_bytes; /**< whole units of zeros: given back, or never touched */
	uint64_t cached_bytes;     /**< in caches of threads */
	uint64_t pinned_bytes;     /**< in units that are at least half free */
	uint64_t scattered_bytes;  /**< in units that are more than half used */
	uint64_t pinned_units;
	uint64_t arena_bytes;  /**< part of whole_bytes, in arenas beside the main one */
	uint64_t arenas;       /**< of all allocators */
	const char *allocator; /**< with the most free memory; NULL = none is known */
	struct hawk_pin *pins; /**< what would return first, largest first */
	size_t pin_count;
	char *saved_name; /**< of the allocator, from a snapshot */
};

/** Sees a piece of the allocator that `source` of the allocators' heap found. */
typedef void hawk_piece_function(void *context, unsigned source, const struct hawk_piece *piece);

/** Finds out for allocators as in hawk_balance_make(). Shows `see` (or NULL) each piece of their
 * memory. Reads; deinitialize `ret` also after an error. */
struct hawk_error *hawk_fragmentation_make(const struct hawk_heap *heap,
					   const struct hawk_heap *allocators,
					   hawk_piece_function *see, void *context,
					   struct hawk_fragmentation *ret);
void hawk_fragmentation_deinit(struct hawk_fragmentation *fragmentation);

/** "none", "fragmentation", "retained by thresholds", "too many arenas", "caches of threads" */
const char *hawk_fragmentation_verdict_name(enum hawk_fragmentation_verdict verdict);

/** Returns the resident free memory: all but what was given back. */
static inline uint64_t hawk_fragmentation_kept(const struct hawk_fragmentation *fragmentation)
{
	return fragmentation->free_bytes - fragmentation->given_back_bytes;
}

#endif
