/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds every live traced block by its sealed header, in all writable memory, with no knowledge of
 * the allocator.
 *
 * Every granule is tested, the inside of blocks too (the audit), so that a stale header never hides
 * a live block. Blocks come out in ascending order of address, disjoint but for nesting. If two
 * headers overlap, the older one (by birth, then by address) is set aside and counted, whatever
 * becomes of the younger one: the older block was gone when the younger was made. Memory use does
 * not grow with the number of blocks.
 *
 * Nesting: a pool's object (HAWK_KIND_POOL) that lies wholly, header included, in a block that is
 * not younger was carved out of that block, and both are live. Nesting may go deeper. A block comes
 * out before its pieces. No byte counts twice: a carved block counts only its rest.
 *
 * The sweep covers writable memory and anonymous memory with any rights, since programs protect
 * pages inside blocks. Likewise a block may reach into an adjacent mapping with any rights.
 *
 * Several threads may sweep: each looks for headers in a share of memory. The caller's thread
 * decides in order of addresses which headers are blocks. The result does not depend on the number
 * of threads.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_SWEEP_H
#define HAWK_ANALYZER_HEAP_SEALED_SWEEP_H

#include "hawk/heap/source.h"

/** Limits of plausible headers, and memory to leave out. */
struct hawk_sweep_plan {
	struct hawk_seal_key key;
	uint32_t trace_count;             /**< trace ids at or above this are implausible */
	uint8_t birth_max;                /**< later births are implausible */
	const struct hawk_span *excluded; /**< sorted; the tracer's own memory, which is no heap */
	size_t excluded_count;
	size_t window_bytes; /**< approximate bytes of shares in work at a time; 0 = a default; no
				effect on the result */
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

/** Gives the next blocks, valid until the next call. `*count` is 0 at the end. */
struct hawk_error *hawk_sweep_next(struct hawk_sweep *sweep, const struct hawk_block **ret,
				   size_t *count);

/** Returns the counts so far: of the blocks given and all memory before them. */
const struct hawk_sweep_result *hawk_sweep_result(const struct hawk_sweep *sweep);

/** Returns the bytes of memory to sweep. */
uint64_t hawk_sweep_bytes(const struct hawk_sweep *sweep);

/** Accepts NULL. */
void hawk_sweep_end(struct hawk_sweep *sweep);

/** Looks for a dead seal in [start, address], the nearest one to `address` first. */
bool hawk_sweep_find_dead(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			  uint64_t start, uint64_t address, struct hawk_block *ret);

/** As hawk_sweep_find_dead(), in a heap whose sources include this one. */
bool hawk_sealed_dead_at(const struct hawk_heap *heap, uint64_t start, uint64_t address,
			 struct hawk_block *ret);

/** Finds the first word of the live header at `address`, of whose second one only `word1` is left.
 * Tries every header that a block in `room` bytes, itself included, may have. Returns false if none
 * fits the seal. */
bool hawk_sealed_recover(const struct hawk_heap *heap, uint64_t address, uint64_t room,
			 uint64_t word1, uint64_t *ret);

#endif
