/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An allocator's memory by state, from its own structures.
 */
#ifndef HAWK_ANALYZER_HEAP_ALLOCATOR_H
#define HAWK_ANALYZER_HEAP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hawk_heap_found;

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

/** No arena, or no thread. */
static const uint32_t HAWK_NOT_KNOWN = UINT32_MAX;

/** A block, or another piece of an allocator's memory. */
struct hawk_piece {
	uint64_t start; /**< of the block or other piece */
	uint64_t bytes; /**< usable, or as requested if the walker is `exact` */
	enum hawk_piece_state state;
	uint64_t found;     /**< HAWK_PIECE_DAMAGED: the impossible word */
	uint64_t neighbour; /**< likewise: the block below, which may have run over; 0 = none */
	uint64_t overhead;  /**< bytes of the allocator's that belong to the piece */
	uint64_t before;    /**< some of these lie below `start` */
	uint32_t arena;     /**< number; HAWK_NOT_KNOWN, also without arenas */
	/** HAWK_PIECE_CACHED, _INTERNAL: number of the thread whose cache it is, or is in;
	 * HAWK_NOT_KNOWN. */
	uint32_t thread;
	/** Slab, span or the like that the allocator gives back in one; 0 = pages of memory. */
	uint64_t unit, unit_bytes;
};

/** A value that the allocator was told, or chose: "trim_threshold". */
struct hawk_allocator_setting {
	const char *name;
	uint64_t value;
};

enum { HAWK_ALLOCATOR_SETTINGS = 5 };

/** One of an allocator's arenas; of mimalloc: the heaps of a thread. */
struct hawk_allocator_arena {
	uint64_t address;
	uint64_t system_bytes; /**< from the system, by its own count; 0 = it keeps none */
	bool is_main;
	bool has_lock;  /**< one lock for all of it */
	bool is_locked; /**< a thread was working in it */
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
	struct hawk_allocator_setting settings[HAWK_ALLOCATOR_SETTINGS]; /**< those known */
	unsigned setting_count;
};

/** Adds a piece to the allocator's sums. */
static inline void hawk_allocator_count(struct hawk_allocator *allocator,
					const struct hawk_piece *piece)
{
	allocator->objects[piece->state]++;
	allocator->bytes[piece->state] += piece->bytes;
	allocator->bytes[HAWK_PIECE_OVERHEAD] += piece->overhead;
}

/** Returns the bytes that it could hand out again or give back. */
static inline uint64_t hawk_allocator_free_bytes(const struct hawk_allocator *allocator)
{
	return allocator->bytes[HAWK_PIECE_FREE] + allocator->bytes[HAWK_PIECE_FAST] +
	       allocator->bytes[HAWK_PIECE_CACHED] + allocator->bytes[HAWK_PIECE_UNTOUCHED];
}

struct hawk_findings;

/** Adds findings if its own counts differ from what was found, or parts are missing. */
void hawk_allocator_report(const struct hawk_allocator *allocator, struct hawk_findings *findings);

/*
 * Let others ask an allocator that was found. They return false or NULL if `found` is no
 * allocator's.
 */

/** Fills `ret`, without sums. */
bool hawk_allocator_describe(const struct hawk_heap_found *found, struct hawk_allocator *ret);

/** Fills arena `number`; returns false behind the last one. */
bool hawk_allocator_arena(const struct hawk_heap_found *found, size_t number,
			  struct hawk_allocator_arena *ret);

/** Fills the number of the arena that each of the target's threads uses, or HAWK_NOT_KNOWN. Returns
 * false if the allocator has no such arenas. */
bool hawk_allocator_thread_arenas(const struct hawk_heap_found *found, uint32_t *ret);

/** Adds the free objects in the cache of thread `number`, where pieces do not tell (else `thread`
 * of pieces does). Returns false if caches' threads are not known. */
bool hawk_allocator_cached(const struct hawk_heap_found *found, size_t number, uint64_t *objects,
			   uint64_t *bytes);

/** Begins a walk over all its memory in ascending order; the caller frees it. Also returns NULL if
 * memory runs out. */
void *hawk_allocator_begin(const struct hawk_heap_found *found);
bool hawk_allocator_next(const struct hawk_heap_found *found, void *walk, struct hawk_piece *ret);

struct hawk_column;
struct hawk_cursor;

/** Put and get an allocator in a snapshot. Names are copied to `*names`, as by
 * hawk_column_get_name(). */
void hawk_allocator_put(const struct hawk_allocator *allocator, struct hawk_column *to);
void hawk_allocator_get(struct hawk_cursor *from, char **names, struct hawk_allocator *ret);

#endif
