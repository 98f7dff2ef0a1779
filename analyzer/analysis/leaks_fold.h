/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of folding blocks into loss records. Internal to analysis/.
 */
#ifndef HAWK_LEAKS_FOLD_H
#define HAWK_LEAKS_FOLD_H

#include "hawk_leaks.h"

static const uint32_t HAWK_LEAK_NO_RECORD = UINT32_MAX;

/** One bit per block; all clear at first. */
struct hawk_leak_bits {
	uint8_t *bits;
	struct hawk_area area;
};

struct hawk_leak_fold {
	struct hawk_near near;
	const struct hawk_block_graph *graph;
	const struct hawk_explained *explained;
	const struct hawk_choice_wish *filter; /**< NULL = all blocks */
	unsigned kinds;
	struct hawk_leaks *leaks;
	size_t capacity;
	uint32_t *record_of;            /**< by site (the last: none) and kind */
	struct hawk_leak_bits recorded; /**< blocks that count for a record */
};

static inline bool hawk_leak_bit(const struct hawk_leak_bits *bits, uint32_t block)
{
	return bits->bits[block >> 3] >> (block & 7) & 1;
}

/** Returns what the bit was. */
static inline bool hawk_leak_set_bit(struct hawk_leak_bits *bits, uint32_t block)
{
	bool was = hawk_leak_bit(bits, block);

	bits->bits[block >> 3] = (uint8_t)(bits->bits[block >> 3] | 1u << (block & 7));
	return was;
}

struct hawk_error *hawk_leak_bits_create(struct hawk_leak_bits *bits, uint32_t count);

/** What is told of blocks of a kind. */
static inline enum hawk_reach_kind hawk_leak_told(const struct hawk_leak_fold *fold,
						  enum hawk_reach_kind kind)
{
	return fold->leaks->downgraded && kind > HAWK_REACH_POSSIBLY ? HAWK_REACH_POSSIBLY : kind;
}

/** The kind that is told of a block. */
static inline enum hawk_reach_kind hawk_leak_kind(const struct hawk_leak_fold *fold, uint32_t block)
{
	return hawk_leak_told(fold, (enum hawk_reach_kind)fold->leaks->reach.kinds[block]);
}

/** Where its record is kept. */
static inline uint32_t *hawk_leak_slot(const struct hawk_leak_fold *fold, uint32_t block,
				       enum hawk_reach_kind kind)
{
	size_t site = hawk_block_graph_site(fold->graph, block);

	if (site >= fold->graph->heap->site_count)
		site = fold->graph->heap->site_count;
	return &fold->record_of[site * HAWK_REACH_KINDS + kind];
}

/** Fills pointed_objects, source_blocks, explained, pointers and first_root of all records. */
struct hawk_error *hawk_leaks_find_evidence(struct hawk_leak_fold *fold);

/** Fills indirect_objects and indirect_bytes. `stack` has room for every block. */
struct hawk_error *hawk_leaks_add_indirect(struct hawk_leak_fold *fold, uint32_t *stack);

#endif
