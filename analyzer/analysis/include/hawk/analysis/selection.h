/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The blocks that a filter chooses: a bit per block, and sums per site. Code that works on chosen
 * blocks takes these bits; NULL = all blocks.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SELECTION_H
#define HAWK_ANALYZER_ANALYSIS_SELECTION_H

#include "hawk/heap/heap.h"
#include "hawk/target/near.h"

enum { HAWK_BIRTHS = 256 };

/** Describes the wanted blocks. */
struct hawk_selector {
	uint64_t size_low, size_high; /**< requested bytes, inclusive; others are not wanted */
	bool births_matter;           /**< `births` says which are wanted, by birth code */
	bool births[HAWK_BIRTHS];
	/** Returns false if no block of `trace` is wanted. NULL = every trace may be. */
	bool (*trace)(const void *context, uint32_t trace);
	/** Returns true if the type of block `number` is wanted. NULL = any type is. */
	bool (*type)(const void *context, uint32_t number);
	const void *context;
};

/**
 * Makes a bit for each number of the index, set if the block is wanted (`selector` NULL = all are)
 * and, with `sited`, has a site. Bits behind the last number, up to a multiple of 64, are 0. Parts
 * have the bit of their block. Asks in the order of blocks. Caller frees.
 */
struct hawk_error *hawk_selection_bits_make(const struct hawk_heap *heap,
					    const struct hawk_selector *selector, bool sited,
					    uint64_t **ret);

struct hawk_chosen {
	uint64_t objects;
	uint64_t bytes; /**< requested; for carved blocks, the remainder */
};

/** Adds the blocks from `first` on that have a bit in `bits`. */
void hawk_chosen_add_64(struct hawk_chosen *chosen, const struct hawk_block_index *index,
			uint32_t first, uint64_t bits);

/** Adds block `number` of the index; a carved block counts once, whatever its parts. */
void hawk_chosen_add(struct hawk_chosen *chosen, const struct hawk_block_index *index,
		     uint32_t number);

/** Returns the blocks of `site` among `chosen`, by site (NULL = all blocks). No estimates, which
 * may be 0 where there is a block. */
struct hawk_chosen hawk_chosen_of_site(const struct hawk_heap *heap,
				       const struct hawk_chosen *chosen, uint32_t site);

/** Returns the sum of `chosen` over all sites; 0 for NULL. */
struct hawk_chosen hawk_chosen_sum(const struct hawk_heap *heap, const struct hawk_chosen *chosen);

struct hawk_selection {
	uint64_t *blocks;          /**< a bit per number of the index; parts have their block's */
	struct hawk_chosen *sites; /**< for each of the heap's sites */
};

/** `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_selection_make(const struct hawk_heap *heap,
				       const struct hawk_selector *selector,
				       struct hawk_selection *ret);

/** Accepts a zeroed selection. */
void hawk_selection_deinit(struct hawk_selection *selection);

/** Returns true if `block` is set in `blocks`, the bits of a selection; NULL = all are. */
static inline bool hawk_block_is_chosen(const uint64_t *blocks, uint32_t block)
{
	return !blocks || blocks[block / 64] >> block % 64 & 1;
}

/** Returns the first chosen block from `block` on; `end` or more = none below `end`. */
static inline uint32_t hawk_block_next_chosen(const uint64_t *blocks, uint32_t block, uint32_t end)
{
	uint64_t left;

	if (!blocks || block >= end)
		return block;
	left = blocks[block / 64] >> block % 64;
	if (left)
		return block + (uint32_t)__builtin_ctzll(left);
	for (block = block / 64 * 64 + 64; block < end; block += 64)
		if (blocks[block / 64])
			return block + (uint32_t)__builtin_ctzll(blocks[block / 64]);
	return end;
}

#endif
