/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The balance of a process's memory: every byte that can be read belongs to one use, so that the
 * uses add up to the core. Allocators' own structures are walked piece by piece, also below a
 * traced heap; nothing is kept for a block.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_BALANCE_H
#define HAWK_ANALYZER_ANALYSIS_BALANCE_H

#include "hawk/analysis/fragmentation.h"

struct hawk_snapshot_writer;

enum hawk_use {
	HAWK_USE_LIVE = 0,  /**< live blocks: as requested, or usable */
	HAWK_USE_HEADERS,   /**< the tracer's, before blocks */
	HAWK_USE_ROUNDING,  /**< the rest of chunks with traced blocks */
	HAWK_USE_UNTRACED,  /**< live chunks that the tracer did not see */
	HAWK_USE_FREE,      /**< free pieces of chunks, slabs and spans */
	HAWK_USE_FAST,      /**< free, in glibc's fast bins */
	HAWK_USE_CACHED,    /**< free, in caches of threads */
	HAWK_USE_SPANS,     /**< free pages: whole extents or spans */
	HAWK_USE_UNUSED,    /**< parts of slabs, spans and segments that hold nothing */
	HAWK_USE_TOP,       /**< behind the last chunk of an arena or heap */
	HAWK_USE_METADATA,  /**< the allocators' own */
	HAWK_USE_UNDIVIDED, /**< of heaps: what it is cannot be told */
	HAWK_USE_TRACER,    /**< its table */
	HAWK_USE_STACKS,    /**< mappings with stacks of threads */
	HAWK_USE_MODULES,   /**< programs and libraries: code and data */
	HAWK_USE_FILES,     /**< other mapped files */
	HAWK_USE_OTHER,     /**< other anonymous memory */
	HAWK_USES
};

/** Pieces of one state. */
struct hawk_pieces {
	uint64_t objects, bytes;
};

/** An arena, or all memory outside of arenas. */
struct hawk_arena_balance {
	struct hawk_allocator_arena arena;
	struct hawk_pieces live, free, cached, top; /**< fast bins are free */
	uint64_t threads; /**< that use it, if any thread's arena is known */
};

/** One allocator's part. */
struct hawk_allocator_balance {
	struct hawk_allocator allocator; /**< with sums as far as the core holds the memory */
	uint64_t bytes;                  /**< all its memory */
	struct hawk_arena_balance *arenas;
	size_t arena_count;
	struct hawk_arena_balance mapped; /**< what lies outside of arenas */
	bool has_chunks;         /**< memory is divided into chunks of any size; else into slabs */
	uint32_t *thread_arenas; /**< by thread, or HAWK_NOT_KNOWN; NULL = none is known */
};

/** A thread's part. */
struct hawk_thread_balance {
	struct hawk_pieces cached; /**< in its cache, where that is known */
};

/** Blocks and free pieces of similar sizes. */
struct hawk_size_balance {
	uint64_t bytes; /**< usable ones; above 1 KiB the least of a range */
	struct hawk_pieces live, free;
};

enum { HAWK_BALANCE_ALLOCATORS = HAWK_HEAP_SOURCES_MAX, HAWK_BALANCE_SIZES = 280 };

struct hawk_balance {
	uint64_t bytes; /**< all that can be read: the sum of the uses */
	uint64_t uses[HAWK_USES];
	uint64_t objects[HAWK_USES]; /**< 0 = not known, or not counted */
	/** Bytes by which the parts of allocators exceed their memory: damage, or a lie. */
	uint64_t excess;
	struct hawk_allocator_balance *allocators;
	size_t allocator_count;
	struct hawk_thread_balance *threads; /**< as the target's */
	size_t thread_count;
	bool caches_known; /**< some cached pieces have a thread */
	struct hawk_size_balance sizes[HAWK_BALANCE_SIZES];
	char *names; /**< of allocators, from a snapshot */
};

/** Makes the balance, and finds fragmentation in the same walk; a process must still be held.
 * `allocators` is `heap` itself if it was not traced, else of hawk_heap_find_allocators().
 * Deinitialize both also after an error. */
struct hawk_error *hawk_balance_make(const struct hawk_heap *heap,
				     const struct hawk_heap *allocators, struct hawk_balance *ret,
				     struct hawk_fragmentation *fragmentation);
void hawk_balance_deinit(struct hawk_balance *balance);

/** Fills the sizes' bytes. */
void hawk_balance_name_sizes(struct hawk_balance *balance);

/** Writes both to a snapshot. */
struct hawk_error *hawk_balance_save(const struct hawk_balance *balance,
				     const struct hawk_fragmentation *fragmentation,
				     struct hawk_snapshot_writer *writer);

/** Reads both from the heap's snapshot. Sets `*is_there` to false if it has none: an older one.
 * Deinitialize both in any case. */
struct hawk_error *hawk_balance_read(const struct hawk_heap *heap, struct hawk_balance *ret,
				     struct hawk_fragmentation *fragmentation, bool *is_there);

#endif
