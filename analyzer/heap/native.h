/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes a source of each walker, for heaps found by the allocator's own structures. A walker knows
 * nothing of sources, sites and classes: it gives spans, and pieces of memory in ascending order.
 * Private to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_NATIVE_H
#define HAWK_ANALYZER_HEAP_NATIVE_H

#include "hawk/heap/allocator.h"
#include "hawk/heap/source.h"
#include "walker.h"

/** A block whose stack the allocator took. */
struct hawk_sample {
	uint64_t start;
	uint64_t requested; /**< bytes, at most the usable ones */
	uint64_t *frames;   /**< return addresses, innermost first */
	uint32_t frame_count;
};

struct hawk_walker {
	const char *name;
	bool small_granules; /**< blocks begin on multiples of 8; else of 16 */
	bool blocks_apart;   /**< no block begins where another one ends */
	bool rounds_to_16;   /**< see struct hawk_heap_found */
	bool exact;          /**< sizes are as requested by the program */
	size_t state_bytes;
	/** Looks for the allocator and fills `state`, which is zeros. Sets `*is_there` to false if
	 * it is absent. `claims` are other allocators', owned by the caller, who forgets `state` in
	 * any case. */
	struct hawk_error *(*find)(const struct hawk_target *target,
				   const struct hawk_claims *claims, void *state, bool *is_there);
	/** Adds spans for all of the allocator's memory, and for the parts without blocks. */
	struct hawk_error *(*spans)(const void *state, struct hawk_heap_spans *ret);
	/** Makes a cursor, for the caller to free; NULL = no memory. */
	void *(*begin)(const void *state);
	bool (*next)(void *cursor, struct hawk_piece *ret); /**< gives the next piece */
	/** Adds what contradicts itself in the allocator's structures. */
	void (*verify)(const void *state, struct hawk_damages *ret);
	/** Returns the usable bytes of the free block that begins at `address`, 0 = none does.
	 * NULL: not known. */
	uint64_t (*free_bytes)(const void *state, uint64_t address);
	/** Fills what its structures say. */
	void (*describe)(const void *state, struct hawk_allocator *ret);
	/** As hawk_allocator_arena() and hawk_allocator_thread_arenas(). NULL: no arenas. */
	bool (*arena)(const void *state, size_t number, struct hawk_allocator_arena *ret);
	void (*thread_arenas)(const void *state, uint32_t *ret);
	/** As hawk_allocator_cached(). NULL: pieces tell, or nobody knows. */
	bool (*cached)(const void *state, size_t thread, uint64_t *objects, uint64_t *bytes);
	/** Returns true if the program may have been given an aligned pointer into the block at
	 * `address`, instead of its start. NULL: never. */
	bool (*aligns_within)(const void *state, uint64_t address);
	/** Returns all samples, ascending. NULL = none. */
	const struct hawk_sample *(*samples)(const void *state, size_t *count);
	/** Gives the memory that a redacted core needs in addition to metadata spans. NULL = none.
	 */
	struct hawk_error *(*keep)(const void *state, hawk_keep_function *take, void *context);
	void (*forget)(void *state); /**< frees what `find` made, except `state` itself */
};

extern const struct hawk_walker hawk_walker_glibc;
extern const struct hawk_walker hawk_walker_jemalloc;
extern const struct hawk_walker hawk_walker_mimalloc;
extern const struct hawk_walker hawk_walker_musl;
extern const struct hawk_walker hawk_walker_pymalloc;
extern const struct hawk_walker hawk_walker_tcmalloc;

/** Returns the walker of an allocator that was found, and its state; NULL for other sources. */
const struct hawk_walker *hawk_native_walker(const struct hawk_heap_found *found,
					     const void **state);

#endif
