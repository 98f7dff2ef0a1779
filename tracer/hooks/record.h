/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The recorder: turns a call into a trace id, and seals a block's header. Knows nothing of hooks,
 * so that it is tested in an ordinary process.
 *
 * Invariant: a block counted as live has a sealed header, whenever the process dies or forks. So it
 * is sealed before it is counted, and counted as freed before it is un-sealed. A counted block
 * without a header was therefore overwritten (HAWK_TABLE_COUNTS_SEALED).
 */
#ifndef HAWK_TRACER_HOOKS_RECORD_H
#define HAWK_TRACER_HOOKS_RECORD_H

#include "table/arena.h"
#include "unwind/unwind.h"

/** A block that is to get a header. */
struct hawk_new_block {
	void *pointer; /**< the user's pointer; the header goes in front of it */
	uint64_t word0;
};

/**
 * Seals the block's header with the id of the stack that starts at `caller`, then counts one
 * allocation for it. The id is 0 if no stack was recorded (stacks=0, no room). Returns the block's
 * pointer. Safe in signal handlers, even if they interrupt this function.
 */
void *hawk_record_block(const struct hawk_frame_state *caller, struct hawk_new_block block);

/** Same for nested callers and exiting threads (table/threads.h): uses no per-thread state, and
 * counts directly in the trace's record. */
void *hawk_record_stateless(const struct hawk_frame_state *caller, struct hawk_new_block block);

/**
 * Returns the table's id for a flat stack, or 0 if the table is full. `pcs[0 .. walk->count-1]` are
 * program counters, leaf first, HAWK_PC_EXACT set where due. With collapse=, every run of equal
 * cycles is reduced to one, in place.
 */
uint32_t hawk_flat_intern(uint64_t *pcs, const struct hawk_walk_result *walk);

/** Counts a block of `trace` (0 = none) as freed. Call before un-sealing it. */
void hawk_record_free(uint32_t trace, uint64_t bytes);

/** Takes a free back, because the next allocator left the block as it was. Call after sealing it
 * again. */
void hawk_record_free_taken_back(uint32_t trace, uint64_t bytes);

/** Counts as dropped an allocation without a header, or whose stack no slot can count. */
void hawk_record_dropped(uint64_t bytes);

/** Counts heaps that an allocator takes back with blocks still sealed; negative to undo a call that
 * failed. */
void hawk_record_discarded(int heaps);

static inline struct hawk_block_header *hawk_header_of(const void *pointer)
{
	return (struct hawk_block_header *)pointer - 1;
}

/** Returns true if a live header of ours lies in front of `pointer`. Never faults, whatever
 * `pointer` is.
 */
static inline bool hawk_header_valid(const void *pointer)
{
	const struct hawk_block_header *header = hawk_header_of(pointer);
	uint64_t page_offset_mask = 4095;

	/* A foreign block may begin a mapping. One in 256 of our blocks begins a page and costs a
	 * system call here. */
	if (__builtin_expect(!((uintptr_t)pointer & page_offset_mask), 0) &&
	    !hawk_readable((uint64_t)header))
		return false;
	if ((uintptr_t)pointer & (HAWK_GRANULE_BYTES - 1))
		return false;
	return hawk_header_is_live(&hawk_table_header->key, header->word0, header->word1,
				   (uint64_t)header);
}

/** Seals the header in front of `pointer`. The order of stores is what a core shows if the process
 * dies here. */
static inline void hawk_header_seal(void *pointer, uint64_t word0, uint32_t trace)
{
	struct hawk_block_header *header = hawk_header_of(pointer);
	uint32_t seal = hawk_seal(&hawk_table_header->key, word0, trace, (uint64_t)header);

	header->word0 = word0;
	__atomic_store_n(&header->word1, hawk_header_word1(trace, seal), __ATOMIC_RELEASE);
}

/** Replaces the seal by a dead seal, after all earlier stores. Volatile: the compiler knows that
 * free() follows and would drop the store. */
static inline void hawk_header_unseal(void *pointer)
{
	struct hawk_block_header *header = hawk_header_of(pointer);
	uint32_t trace = hawk_header_trace(header->word1);
	uint32_t seal = hawk_dead_seal(&hawk_table_header->key, trace, (uint64_t)header);

	__asm__ volatile("" : : : "memory");
	*(volatile uint64_t *)&header->word1 = hawk_header_word1(trace, seal);
	__asm__ volatile("" : : : "memory");
}

/** Returns log2 of the distance from the allocator's pointer to the user's. The header must be
 * valid. */
static inline unsigned hawk_header_offset_log2(const void *pointer)
{
	const struct hawk_block_header *header = hawk_header_of(pointer);
	unsigned code = hawk_header_offset_code(header->word0);

	if (__builtin_expect(code == HAWK_OFFSET_LARGE, 0))
		return (unsigned)((const uint64_t *)header)[-1];
	return code + 4;
}

#endif
