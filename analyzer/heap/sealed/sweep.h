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
 *
 * A sweep on several threads: each looks for blocks in a share of memory, what lies there is
 * decided in the order of addresses, and what has been decided is taken side by side again. What
 * comes out is the same whatever the number of threads.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_SWEEP_H
#define HAWK_ANALYZER_HEAP_SEALED_SWEEP_H

#include "hawk/heap/source.h"

/** What to look for. */
struct hawk_sweep_plan {
	struct hawk_seal_key key;
	uint32_t trace_count;       /**< trace ids at or above this are implausible */
	uint8_t birth_max;          /**< later births are implausible */
	struct hawk_spans excluded; /**< the tracer's own extents, which are not heap */
	size_t window_bytes; /**< shares to look through at a time, about; 0 = a default; the result
				does not depend on it */
};

struct hawk_sweep_result {
	struct hawk_heap_sums sums;
	uint64_t swept_bytes; /**< writable memory that was read */
	uint64_t dead;        /**< dead seals met */
};

/** How many threads there are at most for `threads`, of which 0 = as many as processors. */
unsigned hawk_sweep_parts(unsigned threads);

/** `progress` may be NULL; called on the caller's thread, with bytes done and bytes in all. The
 * taker has seen everything, and runs no more, when this returns; after an error not all of it. */
struct hawk_error *hawk_sweep_parallel(const struct hawk_target *target,
				       const struct hawk_sweep_plan *plan, unsigned threads,
				       const struct hawk_heap_sink *taker,
				       void (*progress)(void *context, uint64_t done, uint64_t all),
				       void *progress_context, struct hawk_findings *findings,
				       struct hawk_sweep_result *ret);

/** Bytes of the pages in [start, end) that can be read and hold anything but zeros. */
struct hawk_error *hawk_sweep_touched(const struct hawk_target *target, uint64_t start,
				      uint64_t end, uint64_t *ret);

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

/** Adds what a sweep found damaged to `findings`. */
void hawk_sweep_report(const struct hawk_heap_sums *result, struct hawk_findings *findings);

#endif
