/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cycles among lost blocks: definitely lost blocks that keep themselves alive, as with a cycle of
 * shared_ptr. Strongly connected components with the same sites have one shape and are counted
 * together. A shape has the shortest way round the first one, and the pointer to cut.
 *
 * A run of blocks of the same site is one step, so that rings of any length have few shapes. A
 * pointer of a block to itself counts only if the block is in no other cycle, and only if it leads
 * to the first byte: strings and other members have pointers into their own block.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_LEAK_CYCLES_H
#define HAWK_ANALYZER_ANALYSIS_LEAK_CYCLES_H

#include "hawk/analysis/leaks.h"
#include "hawk/analysis/referrers.h"

enum {
	HAWK_LEAK_STEPS_MAX = 12,
	HAWK_LEAK_CYCLES_MAX = 32, /**< shapes */
};

/** A run of blocks of one site. */
struct hawk_leak_step {
	uint32_t block;               /**< the first of the run */
	uint32_t last;                /**< its last one, which points to the next step's first */
	uint32_t blocks;              /**< number */
	struct hawk_type_words words; /**< of `block` */
	uint64_t offset;  /**< in the run's last block, of the pointer to the next step's first;
			       HAWK_OFFSET_UNKNOWN if not readable */
	uint64_t leaders; /**< cycles of the shape whose definitely lost block is of this site */
};

struct hawk_leak_cycle {
	struct hawk_leak_step steps[HAWK_LEAK_STEPS_MAX]; /**< from the largest block on */
	uint32_t step_count;
	bool cut_off;    /**< the cycle has further steps */
	uint64_t length; /**< blocks of the first cycle */
	uint64_t cycles;
	struct hawk_chosen lost; /**< blocks lost through the cycles, their own included */
	/** The step whose pointer to the next step frees most of the first cycle's blocks if it is
	 * removed; UINT32_MAX = none, or too large to tell. */
	uint32_t cut;
	struct hawk_chosen freed; /**< by that */
	bool frees_all;           /**< and nothing of the first cycle stays lost */
	uint64_t shape;           /**< hash of the component's sites */
};

struct hawk_leak_cycles {
	/** Most lost bytes first. */
	struct hawk_leak_cycle items[HAWK_LEAK_CYCLES_MAX];
	size_t count;
	uint64_t unlisted; /**< cycles of further shapes */
};

/** Finds the cycles of definitely lost blocks in `chosen` (a bit each; NULL = all). Reads the
 * offsets of a shape's pointers. */
struct hawk_error *hawk_leak_cycles_find(const struct hawk_graph *graph,
					 const struct hawk_reach *reach, const uint64_t *chosen,
					 struct hawk_leak_cycles *ret);

/** Reads the words that may reveal the types of records' examples and of steps. */
void hawk_leaks_read_types(const struct hawk_graph *graph, const struct hawk_module_words *modules,
			   struct hawk_leaks *leaks, struct hawk_leak_cycles *cycles);

/** Returns the shape that most definitely lost blocks of `site` lead, and their number; NULL =
 * none. */
const struct hawk_leak_cycle *hawk_leak_cycle_of(const struct hawk_heap *heap,
						 const struct hawk_leak_cycles *cycles,
						 uint32_t site, uint64_t *leaders);

#endif
