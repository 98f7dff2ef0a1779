/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Per-thread slots of the trace table: the previous stack, counters not flushed yet, freed totals.
 * Slots of exited threads are used again, with their counters going on.
 *
 * What readers see of a slot (struct hawk_head) is in the table; the rest is private.
 *
 * Glossary: a thread is *busy* while it works in its own slot; whoever interrupts it then (a signal
 * handler that allocates) is *nested* and must not touch the slot. A handler that jumps out leaves
 * the thread *abandoned*: busy with a call that will never return. A thread whose slot was given
 * back by its destructor is *gone*; it may still allocate and is served like a nested one.
 */
#ifndef HAWK_THREADS_H
#define HAWK_THREADS_H

#include "hawk_counters.h"
#include "hawk_scopes.h"
#include "hawk_sampler.h"
#include "hawk_unwind.h"

struct hawk_slot {
	/**
	 * HAWK_IDLE, or the stack pointer of the call that is busy, see the glossary. 0 = the slot
	 * was wiped by a fork, see hawk_file.h.
	 */
	uint64_t busy;
	struct hawk_head *head;   /**< what readers see */
	uint64_t scope_key;       /**< of the scopes that are open; 0 = none */
	uint32_t clock_countdown; /**< calls until the clock is read again */
	uint32_t clock_interval;  /**< what the countdown started from */
	uint32_t exit_rounds;     /**< destructor rounds seen */
	uint32_t top_hits;        /**< stacks found by their tops */
	uint64_t clock_last_ns;
	struct hawk_sampler sampler;
	uint64_t changed_stacks;   /**< for stats=1; cumulative, also over several threads */
	uint64_t looked_up_stacks; /**< likewise */
	struct hawk_scopes scopes;
	struct hawk_stack stack;
};

/** Value of hawk_slot.busy when it is not. */
#define HAWK_IDLE UINT64_C(1)

/** Value of hawk_slot.busy while no stack pointer can prove that the work was abandoned. */
#define HAWK_BUSY_FOR_SURE UINT64_MAX

/** Value of hawk_thread_slot once the thread's destructor has run. */
#define HAWK_SLOT_GONE ((struct hawk_slot *)1)

/** This thread's slot; NULL before its first allocation. */
extern __thread struct hawk_slot *hawk_thread_slot __attribute__((tls_model("initial-exec")));

/** Maps the map of free slots. False: no memory. */
bool hawk_threads_init(void);

/** Private part of slot `index`, which is in use or was; NULL: there is none. */
struct hawk_slot *hawk_threads_slot(uint32_t index);

/**
 * Before and after a fork() by the calling thread. Where that comes in a handler while the thread
 * is busy, the child may return to the call that was interrupted: so what that works with, the
 * stack, is there, and only the beginning of the slot is wiped.
 */
void hawk_threads_keep_stack(bool keep);

/** In a forked child whose slots were wiped: gives the thread's slot its fields back. */
void hawk_threads_restore(struct hawk_slot *slot);

/** Registers the thread destructor. From the library's constructor. */
void hawk_threads_watch_exits(void);

/** Ends what an abandoned call began: nothing of the previous stack is believed. */
void hawk_threads_recover(struct hawk_slot *slot);

/** Gives the calling thread a slot. NULL: no memory, or gone. */
struct hawk_slot *hawk_threads_acquire(void);

static inline struct hawk_slot *hawk_threads_current(void)
{
	struct hawk_slot *slot = hawk_thread_slot;

	if (__builtin_expect((uintptr_t)slot > 1, 1))
		return slot;
	return hawk_threads_acquire();
}

/** Counts an allocation of `trace`; only by the slot's own thread while busy. */
static inline void hawk_threads_count(struct hawk_slot *slot, uint32_t trace, uint64_t bytes)
{
	struct hawk_head *head = slot->head;
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

/** One instruction, so that what a signal handler adds is never lost. */
static inline void hawk_threads_add(uint64_t *sum, uint64_t value)
{
#ifdef HAWK_MODEL
	/* The model checker cannot see what assembly does. */
	__atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
#else
	__asm__("addq %1, %0" : "+m"(*sum) : "er"(value) : "cc");
#endif
}

/** Counts a free by the slot's thread. */
static inline void hawk_threads_count_free(struct hawk_slot *slot, uint64_t bytes)
{
	struct hawk_thread_record *record = &slot->head->record;

	hawk_threads_add(&record->free_objects, 1);
	hawk_threads_add(&record->free_bytes, bytes);
}

/** Counts a free of a block of `trace`, which is not 0; only by the slot's own thread while busy.
 */
static inline void hawk_threads_count_free_of(struct hawk_slot *slot, uint32_t trace,
					      uint64_t bytes)
{
	struct hawk_head *head = slot->head;
	struct hawk_counter_entry *entry = &head->frees[trace % HAWK_FREE_ENTRIES];

	if (__builtin_expect(entry->trace != trace || entry->objects == UINT32_MAX, 0)) {
		hawk_counters_flush_frees(head, trace % HAWK_FREE_ENTRIES);
		entry->trace = trace;
	}
	entry->objects++;
	entry->bytes += bytes;
}

#endif
