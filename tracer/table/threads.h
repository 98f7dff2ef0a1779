/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Per-thread slots of the trace table: the previous stack, unflushed counters, totals of frees.
 * Slots of exited threads are reused; their counters go on.
 *
 * The part that readers see (struct hawk_head) lies in the table; the rest is private.
 *
 * Glossary: a thread is *busy* while it works in its own slot; a signal handler that interrupts it
 * then and allocates is *nested* and must not touch the slot. A handler that jumps out leaves the
 * thread *abandoned*: busy with a call that will never return. A thread whose destructor gave back
 * its slot is *gone*; it may still allocate and is served like a nested one.
 */
#ifndef HAWK_TRACER_TABLE_THREADS_H
#define HAWK_TRACER_TABLE_THREADS_H

#include "counters.h"
#include "scopes.h"
#include "sampler.h"
#include "unwind/unwind.h"

/**
 * A thread's hold on its part of the table. With a table file it lies in memory that reads as zeros
 * in a forked child. The child may continue in the middle of a call that a handler interrupted, so
 * all state to wipe is here, and zeros are valid between any two instructions. Such a call counts
 * in a place nobody reads, and leaves the thread busy, so that the next call notices.
 */
struct hawk_hold {
	/** HAWK_IDLE, or the stack pointer of the busy call, see the glossary. */
	uint64_t busy;
	uint64_t idle; /**< HAWK_IDLE: the value a finished call stores in `busy` */
	uint64_t head; /**< readers' part: distance from hawk_counters_nowhere */
} __attribute__((aligned(128)));

struct hawk_slot {
	struct hawk_hold *hold;
	struct hawk_head *head;   /**< readers' part, without a table file (nothing is wiped) */
	uint64_t scope_key;       /**< key of the open scopes; 0 = none */
	uint32_t clock_countdown; /**< calls until the clock is read again */
	uint32_t clock_interval;  /**< what the countdown started from */
	uint32_t exit_rounds;     /**< destructor rounds seen */
	uint32_t top_hits;        /**< stacks found by their tops */
	uint32_t walks_to_skip;   /**< stacks to drop without a walk */
	uint32_t walk_backoff;    /**< on lack of room walks_to_skip becomes 2 x this + 1 */
	uint64_t clock_last_ns;
	struct hawk_sampler sampler;
	uint64_t changed_stacks;   /**< for stats=1; cumulative, also over several threads */
	uint64_t looked_up_stacks; /**< likewise */
	struct hawk_stack stack;
	struct hawk_scopes
		scopes; /**< last: most programs have none, and its pages stay untouched */
} __attribute__((aligned(4096)));

/** Value of hawk_hold.busy when idle. */
#define HAWK_IDLE UINT64_C(1)

/** Value of hawk_hold.busy while no stack pointer can prove that the work was abandoned. */
#define HAWK_BUSY_FOR_SURE UINT64_MAX

/** Value of hawk_thread_slot once the thread's destructor has run. */
#define HAWK_SLOT_GONE ((struct hawk_slot *)1)

/** This thread's slot; NULL before its first allocation. */
extern __thread struct hawk_slot *hawk_thread_slot __attribute__((tls_model("initial-exec")));

static inline struct hawk_head *hawk_threads_head(const struct hawk_slot *slot)
{
	return (struct hawk_head *)((char *)&hawk_counters_nowhere + slot->hold->head);
}

/** Returns true if the slot is not busy; for its own thread. */
static inline bool hawk_threads_is_idle(const struct hawk_slot *slot)
{
	return slot->hold->busy == HAWK_IDLE;
}

/** Marks the thread busy with a call whose stack pointer is `sp`, or with HAWK_BUSY_FOR_SURE. */
static inline void hawk_threads_begin(struct hawk_slot *slot, uint64_t sp)
{
	slot->hold->busy = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void hawk_threads_end(struct hawk_slot *slot)
{
	struct hawk_hold *hold = slot->hold;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	hold->busy = hold->idle;
}

/** Maps the bitmap of free slots. Returns false without memory. */
bool hawk_threads_init(void);

/** Returns the private part of slot `index`, which is or was in use; NULL if there is none. */
struct hawk_slot *hawk_threads_slot(uint32_t index);

/** Restores the hold of the thread's slot in a forked child, whose holds were wiped. */
void hawk_threads_restore(struct hawk_slot *slot);

/** Registers the thread destructor. Called by the library's constructor. */
void hawk_threads_watch_exits(void);

/** Ends an abandoned call's work: discards the previous stack. */
void hawk_threads_recover(struct hawk_slot *slot);

/** Gives the calling thread a slot. Returns NULL without memory, or if the thread is gone. */
struct hawk_slot *hawk_threads_acquire(void);

static inline struct hawk_slot *hawk_threads_current(void)
{
	struct hawk_slot *slot = hawk_thread_slot;

	if (__builtin_expect((uintptr_t)slot > 1, 1))
		return slot;
	return hawk_threads_acquire();
}

/** Notes the memory of the thread's alternate signal stack; `start` 0 = it has none. */
void hawk_threads_note_signal_stack(struct hawk_head *head, uint64_t start, uint64_t bytes);

/** Counts an allocation of `trace`; only by the slot's own thread while busy. */
static inline void hawk_threads_count(struct hawk_slot *slot, uint32_t trace, uint64_t bytes)
{
	struct hawk_head *head = hawk_threads_head(slot);
	struct hawk_counter_entry *entry = &head->counters[trace % HAWK_COUNTER_ENTRIES];

	if (!trace) {
		head->record.alloc_objects_untraced++;
		head->record.alloc_bytes_untraced += bytes;
		return;
	}
	if (__builtin_expect(entry->trace != trace || entry->objects == UINT32_MAX, 0)) {
		hawk_counters_flush_allocations(head, trace % HAWK_COUNTER_ENTRIES);
		entry->trace = trace;
	}
	entry->objects++;
	entry->bytes += bytes;
}

/** Counts an allocation whose stack did not fit the table; only by the slot's own thread while
 * busy. */
static inline void hawk_threads_count_dropped(struct hawk_slot *slot, uint64_t bytes)
{
	struct hawk_thread_record *record = &hawk_threads_head(slot)->record;

	record->dropped_objects++;
	record->dropped_bytes += bytes;
}

/** Adds in one instruction, so that a signal handler's addition is never lost. */
static inline void hawk_threads_add(uint64_t *sum, uint64_t value)
{
#ifdef HAWK_MODEL
	/* The model checker cannot see into assembly. */
	__atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
#else
	__asm__("addq %1, %0" : "+m"(*sum) : "er"(value) : "cc");
#endif
}

/** Counts frees by the thread of `head`. */
static inline void hawk_threads_count_free(struct hawk_head *head, uint64_t objects, uint64_t bytes)
{
	struct hawk_thread_record *record = &head->record;

	hawk_threads_add(&record->free_objects, objects);
	hawk_threads_add(&record->free_bytes, bytes);
}

/** Counts a free of a block of `trace`, which is not 0; only by the slot's own thread while
 * busy. */
static inline void hawk_threads_count_free_of(struct hawk_slot *slot, uint32_t trace,
					      uint64_t bytes)
{
	struct hawk_head *head = hawk_threads_head(slot);
	struct hawk_counter_entry *entry = &head->frees[trace % HAWK_FREE_ENTRIES];

	if (__builtin_expect(entry->trace != trace || entry->objects == UINT32_MAX, 0)) {
		hawk_counters_flush_frees(head, trace % HAWK_FREE_ENTRIES);
		entry->trace = trace;
	}
	entry->objects++;
	entry->bytes += bytes;
}

#endif
