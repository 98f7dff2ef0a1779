/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loss records: blocks of one leak kind from one site, with the evidence for the verdict. A fold
 * over the pointer graph.
 *
 * Kinds are Valgrind's (graph/reach.h), heuristics included. "Lost" claims that no live block or
 * root points there. If memory that may hold pointers is missing, or blocks may have been reclaimed
 * unnoticed, that cannot be claimed: such blocks become possibly lost and `downgraded` is set.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_LEAKS_H
#define HAWK_ANALYZER_ANALYSIS_LEAKS_H

#include "hawk/analysis/selection.h"
#include "hawk/graph/reach.h"
#include "hawk/graph/heuristics.h"
#include "hawk/names/type_words.h"

/** Places of pointers to a record's blocks: roots of a kind (enum hawk_root_kind), or blocks of a
 * kind (HAWK_LEAK_FROM_BLOCKS + enum hawk_reach_kind, before any downgrade). */
enum {
	HAWK_LEAK_FROM_BLOCKS = HAWK_ROOT_KINDS,
	HAWK_LEAK_SOURCES = HAWK_ROOT_KINDS + HAWK_REACH_KINDS,
};

struct hawk_leak_pointers {
	uint64_t start;
	uint64_t interior; /**< explained ones included */
};

struct hawk_leak_record {
	uint32_t site; /**< index into heap->sites, UINT32_MAX = none */
	enum hawk_reach_kind kind;
	uint64_t objects;
	uint64_t bytes; /**< requested */
	/** For definitely lost records: blocks lost indirectly through these. Each block counts
	 * once, for the lowest leader that leads to it. */
	uint64_t indirect_objects;
	uint64_t indirect_bytes;
	uint32_t example;         /**< the oldest block; then the lowest */
	uint32_t has_birth;       /**< 0, 1 */
	uint64_t oldest_units;    /**< its birth; valid if has_birth */
	uint64_t pointed_objects; /**< blocks with at least one pointer to them */
	uint64_t source_blocks;   /**< blocks that hold the pointers, the record's own included */
	uint64_t explained;       /**< interior pointers explained by a heuristic */
	struct hawk_leak_pointers pointers[HAWK_LEAK_SOURCES];
	uint32_t first_root;          /**< index of a root that points here; UINT32_MAX = none */
	uint32_t unused;              /**< 0 */
	struct hawk_type_words words; /**< of the example; zeros until hawk_leaks_read_types() */
};

struct hawk_leaks {
	/** By kind, then largest first (indirectly lost blocks included), then by site id. */
	struct hawk_leak_record *records;
	size_t count;
	struct hawk_reach_sum sums[HAWK_REACH_KINDS]; /**< of blocks that the filter wants */
	/** In doubt (hawk_leaks_doubt()): lost blocks became possibly lost. */
	bool downgraded;
	struct hawk_reach_sum downgrade;           /**< those */
	const struct hawk_reach *reach;            /**< borrowed; before any downgrade */
	uint64_t heuristics[HAWK_HEURISTIC_COUNT]; /**< pointers that they explain */
};

/** Reason why no block can be called lost. */
enum hawk_leaks_doubt {
	HAWK_LEAKS_NO_DOUBT,
	HAWK_LEAKS_MEMORY_MISSING,  /**< roots or heap are missing, or threads are not known */
	HAWK_LEAKS_HEAPS_DISCARDED, /**< unreferenced blocks may be long gone */
	HAWK_LEAKS_OVERWRITTEN,     /**< headers were overwritten, and perhaps pointers too */
};
enum hawk_leaks_doubt hawk_leaks_doubt(const struct hawk_graph *graph);

/**
 * Returns true if lost blocks may go unreported: some were downgraded, or blocks may be missing. If
 * only roots are missing and nothing was downgraded, returns false: more roots can only make fewer
 * blocks lost.
 */
bool hawk_leaks_may_hide(const struct hawk_graph *graph, const struct hawk_leaks *leaks);

/** "memory is missing in which pointers may lie": a clause, also for HAWK_LEAKS_NO_DOUBT. */
const char *hawk_leaks_doubt_text(enum hawk_leaks_doubt doubt);

/** Returns the kind that can be claimed for a block: its reach, but possibly lost for a lost block
 * in case of doubt. */
enum hawk_reach_kind hawk_leaks_kind(const struct hawk_graph *graph, const struct hawk_reach *reach,
				     uint32_t block);

/**
 * Makes the records, reading block headers only. `reach` was made with `explained` and must outlive
 * `ret`. Evidence and examples are complete for `kinds` (bits 1u << enum hawk_reach_kind); other
 * kinds get sums only. `chosen`: a bit for each block that counts; NULL = all do. Deinitialize
 * `ret` after success only.
 */
struct hawk_error *hawk_leaks_make(const struct hawk_graph *graph,
				   const struct hawk_explained *explained,
				   const struct hawk_reach *reach, unsigned kinds,
				   const uint64_t *chosen, struct hawk_leaks *ret);

/** Accepts leaks of zeros. */
void hawk_leaks_deinit(struct hawk_leaks *leaks);

#endif
