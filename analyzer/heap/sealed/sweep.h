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
 * A sweep on several threads: each looks for headers in a share of memory; what is a block is
 * decided in the order of addresses on the caller's. What comes out is the same whatever the number
 * of threads.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_SWEEP_H
#define HAWK_ANALYZER_HEAP_SEALED_SWEEP_H

#include "hawk/heap/source.h"

/** What to look for. */
struct hawk_sweep_plan {
	struct hawk_seal_key key;
	uint32_t trace_count;             /**< trace ids at or above this are implausible */
	uint8_t birth_max;                /**< later births are implausible */
	const struct hawk_span *excluded; /**< sorted: the tracer's own memory, which is no heap */
	size_t excluded_count;
	size_t window_bytes; /**< shares to look through at a time, about; 0 = a default; the result
				does not depend on it */
};

struct hawk_sweep_result {
	struct hawk_heap_sums sums;
	uint64_t swept_bytes; /**< writable memory that was read */
	uint64_t dead;        /**< dead seals met */
};

struct hawk_sweep;

/** Begins a sweep on up to `threads` threads, which find headers while the caller uses blocks.
 * `target`, `plan` and `damages` must outlive it. */
struct hawk_error *hawk_sweep_begin(const struct hawk_target *target,
				    const struct hawk_sweep_plan *plan, unsigned threads,
				    struct hawk_damages *damages, struct hawk_sweep **ret);

/** Gives the next blocks, valid until the next call. `*count` 0 = there are no more. */
struct hawk_error *hawk_sweep_next(struct hawk_sweep *sweep, const struct hawk_block **ret,
				   size_t *count);

/** Returns what has been counted so far: of blocks that were given, and of all in front of them. */
const struct hawk_sweep_result *hawk_sweep_result(const struct hawk_sweep *sweep);

/** Returns the bytes of memory that are to be swept. */
uint64_t hawk_sweep_bytes(const struct hawk_sweep *sweep);

/** Accepts NULL. */
void hawk_sweep_end(struct hawk_sweep *sweep);

/** Bytes of the pages in [start, end) that can be read and hold anything but zeros. */
struct hawk_error *hawk_sweep_touched(const struct hawk_target *target, uint64_t start,
				      uint64_t end, uint64_t *ret);

/** Looks for a dead seal in [start, address], the nearest one to `address` first. */
bool hawk_sweep_find_dead(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			  uint64_t start, uint64_t address, struct hawk_block *ret);

/** The same in a heap whose sources include this one. */
bool hawk_sealed_dead_at(const struct hawk_heap *heap, uint64_t start, uint64_t address,
			 struct hawk_block *ret);

#endif
