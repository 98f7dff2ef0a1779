/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Who finds the blocks of a heap. A source gives them in ascending order, disjoint but for nesting;
 * hawk_heap_load_from() joins them into index and sites.
 */
#ifndef HAWK_ANALYZER_HEAP_SOURCE_H
#define HAWK_ANALYZER_HEAP_SOURCE_H

#include "hawk_block_header.h"
#include "hawk/target/target.h"

/** A live block. */
struct hawk_block {
	uint64_t start; /**< the pointer the program holds */
	uint64_t size;  /**< requested bytes */
	uint32_t trace; /**< 0 = no stack was recorded */
	uint8_t kind;   /**< enum hawk_block_kind */
	uint8_t birth;  /**< hawk_birth_decode() */
	uint8_t offset_code;
	uint8_t depth; /**< blocks that it was carved out of: the last ones before it of less depth
			*/
};

enum { HAWK_BLOCK_DEPTH_MAX = 15 };

struct hawk_sweep_plan {
	struct hawk_seal_key key;
	uint32_t trace_count; /**< trace ids at or above this are implausible */
	uint8_t birth_max;    /**< later births are implausible */
	const struct hawk_span {
		uint64_t start, end;
	} * excluded; /**< sorted; the tracer's own extents, which are not heap */
	size_t excluded_count;
	/** What the program keeps out of cores (MADV_DONTDUMP). Is that all of it, as the tracer
	 * saw it? */
	const struct hawk_span *undumped;
	size_t undumped_count;
	bool undumped_known;
	/** Blocks that live have no valid header (dropped, damaged): what lies outside of blocks
	 * may be in use. Set after the sweep, for roots. */
	bool blocks_missing;
	size_t window_bytes; /**< shares to look through at a time, about; 0 = a default; the result
				does not depend on it */
};

struct hawk_sweep_result {
	uint64_t blocks;
	uint64_t bytes;          /**< requested; without what was carved out of blocks */
	uint64_t carved_objects; /**< blocks in blocks */
	uint64_t carved_bytes;   /**< theirs and their headers' */
	uint64_t header_bytes;   /**< headers and alignment padding in front of the blocks */
	uint64_t swept_bytes;    /**< writable memory that was read */
	uint64_t heap_bytes;     /**< swept bytes of the mappings in which blocks were found */
	uint64_t overlapping; /**< sealed headers set aside because they lie in a younger block, or
				 around one */
	uint64_t dead;        /**< dead seals met */
	uint64_t implausible; /**< the seal fits but size, trace id, kind or birth cannot be */
	uint64_t clipped;     /**< live blocks whose end the core does not hold */
	uint64_t touched_bytes;   /**< of swept_bytes: pages that hold anything but zeros */
	uint64_t heap_zero_bytes; /**< of heap_bytes: pages of zeros outside of blocks (never used,
				     or given back) */
};

/** What there is at an address. */
enum hawk_block_state {
	HAWK_BLOCK_NONE = 0,
	HAWK_BLOCK_LIVE,
	HAWK_BLOCK_HEADER, /**< the address is inside the header or padding of a live block */
	HAWK_BLOCK_DEAD,   /**< directly behind a dead seal: a block died here; only trace and start
			      are valid */
};

/** Called for up to HAWK_SWEEP_BATCH blocks at a time. A returned error ends the walk and is passed
 * on. */
enum { HAWK_SWEEP_BATCH = 1024 };
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
	/** Up to HAWK_SWEEP_BATCH blocks. No `fill` of earlier ones is unfinished. */
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
	const char *name; /**< "sealed headers" */
	void *context;    /**< the source's own */
	/**
	 * Looks for the heap. `*ret` false: it is none of this source's. Else fills of `heap`,
	 * which has a target and nothing else, `knows`, `plan`, and `trace_count`: sites of blocks
	 * are below that, by allocation stack with a table, else by class. 0 = no site is known.
	 */
	struct hawk_error *(*find)(const struct hawk_heap_source *source, struct hawk_heap *heap,
				   struct hawk_findings *findings, bool *ret);
	/** Gives all blocks to `sink`, on at most `threads` threads (0 = as many as processors),
	 * and reports progress. `heap` is as `find` left it, or loaded. */
	struct hawk_error *(*walk)(const struct hawk_heap *heap, unsigned threads,
				   const struct hawk_heap_sink *sink,
				   struct hawk_findings *findings, struct hawk_sweep_result *ret);
};

/** Blocks with the tracer's sealed headers, in memory with its table or beside a table file. */
extern const struct hawk_heap_source hawk_heap_sealed;

#endif
