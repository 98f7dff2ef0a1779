/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who finds the blocks of a heap. A source gives them in ascending order, disjoint but for nesting;
 * hawk_heap_load_from() joins them into index and sites.
 */
#ifndef HAWK_ANALYZER_HEAP_SOURCE_H
#define HAWK_ANALYZER_HEAP_SOURCE_H

#include "hawk/heap/regions.h"
#include "hawk_block_header.h"
#include "hawk/target/target.h"

/** A live block. */
struct hawk_block {
	uint64_t start; /**< the pointer the program holds */
	uint64_t size;  /**< requested bytes */
	uint32_t trace; /**< 0 = no stack was recorded */
	uint8_t kind;   /**< enum hawk_block_kind; 0 = not known */
	uint8_t birth;  /**< hawk_birth_decode() */
	uint8_t offset_code;
	uint8_t depth; /**< blocks that it was carved out of: the last ones before it of less depth
			*/
};

enum { HAWK_BLOCK_DEPTH_MAX = 15 };

/** What a walk counts. A source leaves what it does not know zero. */
struct hawk_heap_sums {
	uint64_t blocks;
	uint64_t bytes;          /**< requested; without what was carved out of blocks */
	uint64_t carved_objects; /**< blocks in blocks */
	uint64_t carved_bytes;   /**< theirs and their headers' */
	uint64_t overlapping;    /**< set aside because they overlap younger ones */
	uint64_t implausible;    /**< damaged: certainly a block, but its description cannot be */
	uint64_t clipped;        /**< live blocks whose end the core does not hold */
	uint64_t header_bytes;   /**< the tracer's headers and alignment padding */
	uint64_t heap_bytes;     /**< readable bytes of the mappings in which blocks were found */
	uint64_t zero_bytes;     /**< of heap_bytes: pages of zeros outside of blocks (never used,
				    or given back) */
	uint64_t touched_bytes;  /**< of all writable memory: pages that hold anything but zeros */
};

/** What there is at an address. */
enum hawk_block_state {
	HAWK_BLOCK_NONE = 0,
	HAWK_BLOCK_LIVE,
	HAWK_BLOCK_HEADER, /**< the address is inside the header or padding of a live block */
	HAWK_BLOCK_DEAD,   /**< directly behind a dead seal: a block died here; only trace and start
			      are valid */
};

/** Called for up to HAWK_HEAP_BATCH blocks at a time. A returned error ends the walk and is passed
 * on. */
enum { HAWK_HEAP_BATCH = 1024 };
typedef struct hawk_error *hawk_heap_function(void *context, const struct hawk_block *blocks,
					      size_t count);

/** Threads that are of use: memory does not come quicker for more. */
enum { HAWK_HEAP_PARTS_MAX = 8 };

/**
 * Blocks of one share of memory, at least one: disjoint, none carved out of another nor carved up,
 * their headers in [start, end). Only the last one may begin at `end`, or reach beyond it.
 */
struct hawk_heap_run {
	uint64_t start;
	uint64_t end;
	const struct hawk_block *blocks;
	size_t count;
	uint32_t number; /**< for `fill`; whatever `reserve` puts there */
};

/**
 * Who takes blocks. They come in ascending order, some by `take`, and where there is a `fill`, the
 * others, nearly all, in runs: first to `reserve`, whose calls are in this order among those of
 * `take`, then to `fill`.
 */
struct hawk_heap_sink {
	void *context;
	/** Up to HAWK_HEAP_BATCH blocks. No `fill` of earlier ones is unfinished. */
	hawk_heap_function *take;
	/** `*ret` false: nothing was done, the blocks come to `take`. NULL = there is nothing to
	 * do. */
	struct hawk_error *(*reserve)(void *context, struct hawk_heap_run *run, bool *ret);
	/** On any thread, in no order, beside itself and `reserve`: `part` is another one, below
	 * HAWK_HEAP_PARTS_MAX, for calls at the same time. NULL = all comes to `take`. */
	void (*fill)(void *context, const struct hawk_heap_run *run, unsigned part);
};

struct hawk_heap;

/** One way to find the blocks of a heap. */
struct hawk_heap_source {
	const char *name; /**< how blocks are found, in a word: "sweep" */
	void *context;    /**< the source's own */
	/** Blocks have the tracer's headers in front, which tell kind and birth. */
	bool has_headers;
	/**
	 * Looks for the heap. `*ret` false: it is none of this source's. Else fills of `heap`,
	 * which has a target and nothing else, `knows`, `regions`, and `trace_count`: sites of
	 * blocks are below that, by allocation stack with a table, else by class. 0 = no site is
	 * known. Nothing may be changed if there is none.
	 */
	struct hawk_error *(*find)(const struct hawk_heap_source *source, struct hawk_heap *heap,
				   struct hawk_findings *findings, bool *ret);
	/** Gives all blocks to `sink`, on at most `threads` threads (0 = as many as processors),
	 * and reports progress. `heap` is as `find` left it, or loaded. */
	struct hawk_error *(*walk)(const struct hawk_heap *heap, unsigned threads,
				   const struct hawk_heap_sink *sink,
				   struct hawk_findings *findings, struct hawk_heap_sums *ret);
	/** What there is at an address, without a walk; `*ret` is set for every state but
	 * HAWK_BLOCK_NONE. NULL: only a loaded heap can tell. */
	enum hawk_block_state (*at)(const struct hawk_heap *heap, uint64_t address,
				    struct hawk_block *ret);
	/** Fills what the source knows of memory and sites, in place of hawk_accounting_make().
	 * Without HAWK_HEAP_BLOCKS it fills sites and sums as well. NULL: memory is read. */
	struct hawk_error *(*account)(struct hawk_heap *heap);
	/** Finds the extent of the heap around `block`. Returns false if it is the whole mapping;
	 * NULL: it always is. */
	bool (*extent)(const struct hawk_target *target, const struct hawk_block *block,
		       struct hawk_span *ret);
	/** Returns the name of class `number`, from 1 on and below trace_count; never NULL. Belongs
	 * to the source. NULL: sites are stacks. */
	const char *(*class_name)(const struct hawk_heap *heap, uint32_t number);
};

/** Blocks with the tracer's sealed headers, in memory with its table or beside a table file. */
extern const struct hawk_heap_source hawk_heap_sealed;

/** The blocks in a snapshot. */
extern const struct hawk_heap_source hawk_heap_snapshot;

#endif
