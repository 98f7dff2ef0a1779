/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loss records: blocks of one leak kind from one site, with the evidence for the verdict. A fold
 * over the pointer graph.
 *
 * Kinds are Valgrind's (graph/reach.h), heuristics included. A verdict of "lost" says that nothing
 * points to a block that is live; where memory is missing in which a pointer could lie, or blocks
 * may have been taken back unnoticed, it cannot be given: then blocks that would be lost are
 * possibly lost, and `downgraded` is set.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_LEAKS_H
#define HAWK_ANALYZER_ANALYSIS_LEAKS_H

#include "hawk/analysis/block_choice.h"
#include "hawk/graph/reach.h"
#include "hawk/graph/heuristics.h"

/** Where pointers to a record's blocks lie: in roots of a kind (enum hawk_root_kind), or in blocks
 * of a kind (HAWK_LEAK_FROM_BLOCKS + enum hawk_reach_kind, as it was found). */
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
	/** Definitely lost: what is lost indirectly through these blocks. Each block counts once,
	 * for the lowest leader that leads to it. */
	uint64_t indirect_objects;
	uint64_t indirect_bytes;
	uint32_t example;         /**< the oldest block; of these the lowest */
	uint32_t has_birth;       /**< 0, 1 */
	uint64_t oldest_units;    /**< its birth; valid if has_birth */
	uint64_t pointed_objects; /**< blocks that at least one pointer leads to */
	uint64_t source_blocks;   /**< other blocks, and those of the record, that hold pointers */
	uint64_t explained;       /**< interior pointers that a heuristic explains */
	struct hawk_leak_pointers pointers[HAWK_LEAK_SOURCES];
	uint32_t first_root; /**< index into the roots of one that points here; UINT32_MAX = none */
	uint32_t unused;     /**< 0 */
};

struct hawk_leaks {
	/** By kind, then largest first (with what is lost through it), then by site id. */
	struct hawk_leak_record *records;
	size_t count;
	struct hawk_reach_sum sums[HAWK_REACH_KINDS]; /**< of blocks that the filter wants */
	/** There is a doubt (hawk_leaks_doubt()): lost blocks have become possibly lost. */
	bool downgraded;
	struct hawk_reach_sum downgrade; /**< those */
	const struct hawk_reach *reach;  /**< the owner's: as found, before any downgrade */
	uint64_t heuristics[HAWK_HEURISTIC_COUNT]; /**< pointers that they explain */
};

/** Why "lost" cannot be said of anything. */
enum hawk_leaks_doubt {
	HAWK_LEAKS_NO_DOUBT,
	HAWK_LEAKS_MEMORY_MISSING,  /**< roots or heap are missing, or threads are not known */
	HAWK_LEAKS_HEAPS_DISCARDED, /**< what nothing points to may be gone long ago */
	HAWK_LEAKS_OVERWRITTEN,     /**< headers were, and with them perhaps pointers */
};
enum hawk_leaks_doubt hawk_leaks_doubt(const struct hawk_graph *graph);

/**
 * Whether blocks may be lost that are not called so: what would be was downgraded, or blocks may be
 * missing. Where roots alone are missing, and nothing was downgraded, no more blocks can be lost:
 * more roots only make them fewer.
 */
bool hawk_leaks_may_hide(const struct hawk_graph *graph, const struct hawk_leaks *leaks);

/** "memory is missing in which pointers may lie": a clause, also for HAWK_LEAKS_NO_DOUBT. */
const char *hawk_leaks_doubt_text(enum hawk_leaks_doubt doubt);

/** What may be claimed of a block: its reach, but where that is not certain, what seems to be lost
 * is possibly lost. */
enum hawk_reach_kind hawk_leaks_kind(const struct hawk_graph *graph, const struct hawk_reach *reach,
				     uint32_t block);

/**
 * Reads no memory but blocks' headers. `reach` was made with `explained`; it must outlive `ret`.
 * Evidence and examples are complete for the kinds in `kinds` (bits 1u << enum hawk_reach_kind); of
 * other kinds there are sums only. `chosen`: a bit for each block that counts; NULL = all do. `ret`
 * is to be deinitialized after success only.
 */
struct hawk_error *hawk_leaks_make(const struct hawk_graph *graph,
				   const struct hawk_explained *explained,
				   const struct hawk_reach *reach, unsigned kinds,
				   const uint64_t *chosen, struct hawk_leaks *ret);

/** Accepts leaks of zeros. */
void hawk_leaks_deinit(struct hawk_leaks *leaks);

#endif
