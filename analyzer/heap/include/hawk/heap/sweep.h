/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds every live traced block by its sealed header, in all writable memory, with no knowledge of
 * the allocator.
 *
 * Every granule is tested, the inside of blocks too (the audit), so that a stale header never hides
 * a live block. Blocks come out in ascending order of address, disjoint but for nesting. Of two
 * headers that overlap the older one is set aside and counted (by birth, then the one that begins
 * first), whatever becomes of the younger one: when that was made, the older block was gone. Memory
 * use does not grow with the number of blocks.
 *
 * Nesting: a pool's object (HAWK_KIND_POOL) that lies, header and all, in a block that is not
 * younger was carved out of that, and both are live; and so on inwards. A block comes out before
 * its pieces. No byte is counted twice: of a block that was carved up only the rest counts.
 *
 * Swept is all memory that is writable, and anonymous memory whatever its rights: programs protect
 * pages inside of blocks. Likewise a block may reach into a mapping of any rights that touches.
 */
#ifndef HAWK_ANALYZER_HEAP_SWEEP_H
#define HAWK_ANALYZER_HEAP_SWEEP_H

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

/** Called for up to HAWK_SWEEP_BATCH blocks at a time. A returned error ends the sweep and is
 * passed on. */
enum { HAWK_SWEEP_BATCH = 1024 };
typedef struct hawk_error *hawk_sweep_function(void *context, const struct hawk_block *blocks,
					       size_t count);

/** `progress` may be NULL; called with bytes done and bytes in all. */
struct hawk_error *hawk_sweep(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			      hawk_sweep_function *function, void *context,
			      void (*progress)(void *context, uint64_t done, uint64_t all),
			      void *progress_context, struct hawk_findings *findings,
			      struct hawk_sweep_result *ret);

/** Bytes of the pages in [start, end) that can be read and hold anything but zeros. */
struct hawk_error *hawk_sweep_touched(const struct hawk_target *target, uint64_t start,
				      uint64_t end, uint64_t *ret);

/** What hawk_block_at() found. */
enum hawk_block_state {
	HAWK_BLOCK_NONE = 0,
	HAWK_BLOCK_LIVE,
	HAWK_BLOCK_HEADER, /**< the address is inside the header or padding of a live block */
	HAWK_BLOCK_DEAD,   /**< directly behind a dead seal: a block died here; only trace and start
			      are valid */
};

/**
 * The block that contains `address`, found by looking backwards from it through the mappings that
 * touch (and, once a block has been found, for one around it for another
 * HAWK_BLOCK_AT_AUDIT_BYTES). The answer is that of the sweep for everything within this distance.
 * `*ret` is set for every state but HAWK_BLOCK_NONE.
 */
enum { HAWK_BLOCK_AT_AUDIT_BYTES = 16 << 20 };
enum hawk_block_state hawk_block_at(const struct hawk_target *target,
				    const struct hawk_sweep_plan *plan, uint64_t address,
				    struct hawk_block *ret);

#endif
