/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages of folding blocks into loss records. Internal to analysis/.
 */
#ifndef HAWK_LEAKS_FOLD_H
#define HAWK_LEAKS_FOLD_H

#include <stdlib.h>

#include "hawk_leaks.h"

static const uint32_t HAWK_LEAK_NO_RECORD = UINT32_MAX;

struct hawk_leak_fold {
	const struct hawk_block_graph *graph;
	const struct hawk_explained *explained;
	uint64_t *chosen; /**< a bit for each block that the filter wants; NULL = all */
	unsigned kinds;
	struct hawk_leaks *leaks;
	size_t capacity;
	uint32_t *record_of; /**< by site (the last: none) and kind */
	uint64_t *recorded;  /**< a bit for each block that counts for a record */
};

enum {
	HAWK_LEAK_SHARES_MAX = 8,
	/** Blocks or pointers; fewer are not worth records of their own for a share. */
	HAWK_LEAK_PER_RECORD = 256,
};

static inline bool hawk_leak_bit(const uint64_t *bits, uint32_t block)
{
	return bits[block / 64] >> block % 64 & 1;
}

/** Returns what the bit was. */
static inline bool hawk_leak_set_bit(uint64_t *bits, uint32_t block)
{
	bool was = hawk_leak_bit(bits, block);

	bits[block / 64] |= UINT64_C(1) << block % 64;
	return was;
}

/** A bit for each block, all clear; caller frees. NULL: no memory. */
static inline uint64_t *hawk_leak_bits(const struct hawk_block_graph *graph)
{
	return calloc((size_t)graph->index.count / 64 + 1, sizeof(uint64_t));
}

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

/** Numbers of records that are kept by site and kind. */
static inline size_t hawk_leak_slot_count(const struct hawk_leak_fold *fold)
{
	return (fold->graph->heap->site_count + 1) * HAWK_REACH_KINDS;
}

/** Which of them is that of a site (UINT32_MAX = none) and kind. */
static inline size_t hawk_leak_slot(const struct hawk_leak_fold *fold, size_t site,
				    enum hawk_reach_kind kind)
{
	if (site >= fold->graph->heap->site_count)
		site = fold->graph->heap->site_count;
	return site * HAWK_REACH_KINDS + kind;
}

/** Records by slot, in the order in which they were made. */
struct hawk_leak_records {
	struct hawk_leak_record *items;
	size_t count, capacity;
	uint32_t *numbers; /**< by slot; HAWK_LEAK_NO_RECORD = there is none */
};

/** For the slots of `fold`. Caller deinitializes, after an error too. */
struct hawk_error *hawk_leak_records_init(const struct hawk_leak_fold *fold,
					  struct hawk_leak_records *ret);
/** Accepts records of zeros, and leaves them behind. */
void hawk_leak_records_deinit(struct hawk_leak_records *records);

/** The record of a site and kind; made, with `block` as its example, if there is none. NULL: no
 * memory. */
struct hawk_leak_record *hawk_leak_records_make(const struct hawk_leak_fold *fold,
						struct hawk_leak_records *records, uint32_t site,
						enum hawk_reach_kind kind, uint32_t block);

static inline struct hawk_leak_record *
hawk_leak_records_for(const struct hawk_leak_fold *fold, struct hawk_leak_records *records,
		      uint32_t site, enum hawk_reach_kind kind, uint32_t block)
{
	uint32_t number = records->numbers[hawk_leak_slot(fold, site, kind)];

	return number != HAWK_LEAK_NO_RECORD
		       ? &records->items[number]
		       : hawk_leak_records_make(fold, records, site, kind, block);
}

/** How many shares of the blocks are worth records of their own. */
unsigned hawk_leak_count_shares(const struct hawk_leak_fold *fold);

/** Adds blocks that were found to be of `kind` to the sums of what is told of them. */
void hawk_leak_add_sum(struct hawk_leak_fold *fold, enum hawk_reach_kind kind,
		       const struct hawk_chosen *sum);

/** Sorts the records: see struct hawk_leaks. */
void hawk_leaks_sort(const struct hawk_heap *heap, struct hawk_leaks *leaks);

/** Makes records of all blocks that count, without evidence, and fills `recorded`, `record_of` and
 * the sums of all kinds. */
struct hawk_error *hawk_leaks_add_blocks(struct hawk_leak_fold *fold);

/** Fills pointed_objects, source_blocks, explained, pointers and first_root of all records. */
struct hawk_error *hawk_leaks_find_evidence(struct hawk_leak_fold *fold);

/** The first block from `block` on that is definitely lost, as found; the number of all: none. */
uint32_t hawk_leak_next_leader(const struct hawk_leak_fold *fold, uint32_t block);

/** All that `leader` leads to and no lower leader does is added to `lost` (NULL = is not needed),
 * and to `met`, a bit for each block; adds to the number of blocks that were met. `stack` has room
 * for every block. */
void hawk_leaks_flood(const struct hawk_leak_fold *fold, uint64_t *met, uint32_t leader,
		      uint32_t *stack, struct hawk_chosen *lost, uint64_t *met_count);

/** Fills indirect_objects and indirect_bytes. `stack` has room for every block. */
struct hawk_error *hawk_leaks_add_indirect(struct hawk_leak_fold *fold, uint32_t *stack);

#endif
