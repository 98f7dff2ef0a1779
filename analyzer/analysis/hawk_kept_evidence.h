/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What each block adds to the evidence of its loss record, kept with the graph and in the index
 * cache: two bytes a block. Who asks for the leaks among some blocks needs neither pointers nor
 * kinds of blocks; records are sums over the chosen ones.
 *
 * All of a record is such a sum but the number of blocks that hold pointers to it: one that holds
 * several, to different blocks of the record, counts once if any of these is chosen. Such blocks
 * are groups of what they point to; in sums are those that hold one pointer, or several to one
 * block.
 */
#ifndef HAWK_KEPT_EVIDENCE_H
#define HAWK_KEPT_EVIDENCE_H

#include "hawk_leaks.h"

enum {
	/** The code of blocks that are listed one by one; smaller ones are indices. */
	HAWK_EVIDENCE_ODD = UINT16_MAX,
	HAWK_EVIDENCE_ODD_MAX = 1 << 16, /**< with more nothing is kept */
};

/** Of one block, or of each of those with the same code. */
struct hawk_evidence {
	struct {
		uint32_t start, interior;
	} pointers[HAWK_LEAK_SOURCES]; /**< to it, as in a record */
	uint32_t explained;
	uint32_t sources; /**< blocks that point to it and to no other one of its record */
	uint32_t kind;    /**< enum hawk_reach_kind, as found */
	uint32_t block;   /**< of odd ones: which; else 0 */
};

/** What is lost through a block that is definitely lost, as in a record. */
struct hawk_lost_through {
	uint32_t block;
	uint32_t objects;
	uint64_t bytes;
};

/** What there is of each list; as in the cache. */
struct hawk_evidence_head {
	uint64_t coded_count; /**< of `items`, those that codes are indices of */
	uint64_t downgraded;  /**< 0, 1: lost blocks are in records of possibly lost ones */
};

struct hawk_kept_evidence {
	struct hawk_evidence_head head;
	const uint16_t *codes; /**< by block; what is no index and not odd has no evidence */
	/** By code; behind them odd ones, ascending by block. */
	const struct hawk_evidence *items;
	size_t item_count;
	/** Number of a block << 1 | it is the first of its group. All blocks of a group count for
	 * one record, and another block points to all of them. */
	const uint32_t *groups;
	size_t group_count;                   /**< numbers */
	const struct hawk_lost_through *lost; /**< ascending by block; nothing lost: not there */
	size_t lost_count;

	/* Empty, NULL = they lie in memory of somebody else. */
	struct hawk_area codes_area;
	struct hawk_area groups_area;
	struct hawk_evidence *owned_items;
	struct hawk_lost_through *owned_lost;
};

/** Fills `evidence` of the graph, if it is not there, with what it depends on: not where it would
 * be too large, or a living process cannot be read any more. Takes 10 bytes a block, a quarter of
 * a byte a pointer, and 4 bytes for each pointer of groups, of which there may be four a block. */
struct hawk_error *hawk_kept_evidence_need(struct hawk_block_graph *graph);

/** Whether the graph has it, of the kinds that are told now, and the `leaks` that go with it. */
bool hawk_kept_evidence_fits(const struct hawk_block_graph *graph);

/** As hawk_leaks_make() with all heuristics, of the blocks that `filter` wants, from evidence that
 * fits. Needs HAWK_PART_INDEX and HAWK_PART_ROOTS. */
struct hawk_error *hawk_kept_evidence_take(const struct hawk_block_graph *graph, unsigned kinds,
					   const struct hawk_choice_wish *filter,
					   struct hawk_leaks *ret);

/** Accepts NULL. */
void hawk_kept_evidence_destroy(struct hawk_kept_evidence *kept);

#endif
