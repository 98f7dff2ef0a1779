/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Moves a thread's entries to the counters of a trace, so that a reader finds every call counted
 * exactly once, at whatever instruction the process died.
 *
 * Moving an entry takes several stores. A 16-byte exchange makes it atomic: it adds to the trace's
 * counter pair and leaves the slot's tag there. The slot's flush word names the entry beforehand. A
 * thread about to overwrite another slot's tag first marks that slot's flush word as applied.
 * Lock-free: threads never wait.
 */
#ifndef HAWK_TRACER_TABLE_COUNTERS_H
#define HAWK_TRACER_TABLE_COUNTERS_H

#include "hawk_trace_table.h"

enum {
	HAWK_COUNTER_ENTRIES = 256,
	HAWK_FREE_ENTRIES = 128,
};
static_assert((int)HAWK_COUNTER_ENTRIES + (int)HAWK_FREE_ENTRIES <= (int)HAWK_FLUSH_ENTRY_MASK + 1,
	      "a flush word can name every entry");

/** The part of a thread slot that readers see: an element of the table's thread array. */
struct hawk_head {
	struct hawk_thread_record record;
	struct hawk_counter_entry counters[HAWK_COUNTER_ENTRIES]; /**< by the low bits of the id */
	struct hawk_counter_entry frees[HAWK_FREE_ENTRIES];       /**< likewise */
	uint32_t index;
	uint32_t version; /**< flushes so far */
} __attribute__((aligned(128)));

/** Dummy head for a thread whose own was wiped by a fork: written, never read. See
 * table/threads.h. */
extern struct hawk_head hawk_counters_nowhere __attribute__((visibility("hidden")));

/** Adds to the counters of `trace` at once; for callers without a slot. */
void hawk_counters_add_allocations(uint32_t trace, uint64_t objects, uint64_t bytes);
void hawk_counters_add_frees(uint32_t trace, uint64_t objects, uint64_t bytes);

/** Moves an entry of `head` to its trace's counters and empties it; by the slot's thread only. */
void hawk_counters_flush_allocations(struct hawk_head *head, uint32_t entry);
void hawk_counters_flush_frees(struct hawk_head *head, uint32_t entry);
void hawk_counters_flush_all(struct hawk_head *head);

/** Clears entries of traces from `trace_count` on: their ids will be reused. */
void hawk_counters_forget(struct hawk_head *head, uint32_t trace_count);

/** Ends a flush that a handler jumped out of, if any; by the slot's thread only. */
void hawk_counters_recover(struct hawk_head *head);

#endif
