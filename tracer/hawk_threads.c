/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Slots come and go with threads: a bitmap of free ones, claimed by compare-and-swap.
 */
#include "hawk_threads.h"

#include <pthread.h>

#include "hawk_arena.h"
#include "hawk_traces.h"

enum {
	PAGE_BYTES = 4096,
	FREE_MAP_WORDS =
		4096, /**< 262,144 slots at once; threads beyond that are served like gone ones */
	/** Destructor rounds, of four, until the slot is given back. The rest is for threads whose
	 * first allocation is made by a destructor. */
	EXIT_ROUNDS = 2,
};

const uint32_t hawk_thread_slot_bytes =
	(sizeof(struct hawk_slot) + PAGE_BYTES - 1) & -(uint32_t)PAGE_BYTES;

__thread struct hawk_slot *hawk_thread_slot __attribute__((tls_model("initial-exec")));

/** Bit i: slot i is free to be used again. Slots at and above thread_count were never used. */
static uint64_t *free_map;
static uint32_t free_count;

static pthread_key_t exit_key;
static bool exit_key_made;

bool hawk_threads_init(void)
{
	free_map = hawk_arena_private(FREE_MAP_WORDS * sizeof(*free_map), HAWK_EXTENT_PRIVATE);
	return free_map != NULL;
}

static struct hawk_slot *slot_at(uint32_t index)
{
	return hawk_arena_element(HAWK_ARRAY_THREADS, index);
}

static struct hawk_slot *claim_free(void)
{
	uint32_t words = hawk_table_header->thread_count / 64 + 1;

	if (!__atomic_load_n(&free_count, __ATOMIC_RELAXED))
		return NULL;
	for (uint32_t i = 0; i < words && i < FREE_MAP_WORDS; i++) {
		uint64_t bits = __atomic_load_n(&free_map[i], __ATOMIC_RELAXED);

		while (bits) {
			uint64_t lowest = bits & -bits;

			if (__atomic_compare_exchange_n(&free_map[i], &bits, bits & ~lowest, false,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
				__atomic_fetch_sub(&free_count, 1, __ATOMIC_RELAXED);
				return slot_at(i * 64 + (uint32_t)__builtin_ctzll(lowest));
			}
		}
	}
	return NULL;
}

static struct hawk_slot *claim_new(void)
{
	uint32_t *count = &hawk_table_header->thread_count;
	uint32_t index = __atomic_load_n(count, __ATOMIC_RELAXED);
	struct hawk_slot *slot;

	do {
		if (index >= FREE_MAP_WORDS * 64 || !slot_at(index))
			return NULL;
	} while (!__atomic_compare_exchange_n(count, &index, index + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	slot = slot_at(index);
	slot->index = index;
	slot->record.counter_offset = offsetof(struct hawk_slot, counters);
	slot->record.counter_count = HAWK_COUNTER_ENTRIES;
	return slot;
}

static void reset(struct hawk_slot *slot)
{
	slot->busy = 0;
	slot->exit_rounds = 0;
	slot->clock_countdown = 0;
	slot->clock_interval = 0;
	slot->clock_last_ns = 0;
	slot->stack.count = 0;
	slot->stack.trace = 0;
	slot->record.tid = (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);
	__atomic_store_n(&slot->record.state, (uint32_t)HAWK_THREAD_LIVE, __ATOMIC_RELEASE);
}

static void give_back(struct hawk_slot *slot)
{
	__atomic_store_n(&slot->record.state, (uint32_t)HAWK_THREAD_FREE, __ATOMIC_RELAXED);
	__atomic_fetch_or(&free_map[slot->index / 64], UINT64_C(1) << slot->index % 64,
			  __ATOMIC_RELEASE);
	__atomic_fetch_add(&free_count, 1, __ATOMIC_RELAXED);
}

/** The slot becomes the thread's, unless a handler that came in between has got it one. */
static struct hawk_slot *install(struct hawk_slot *slot)
{
	struct hawk_slot *expected = NULL;

	if (__atomic_compare_exchange_n(&hawk_thread_slot, &expected, slot, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return slot;
	give_back(slot);
	return NULL;
}

void hawk_threads_recover(struct hawk_slot *slot)
{
	slot->stack.count = 0;
	slot->stack.trace = 0;
	slot->stack.readable_start = 0;
	slot->stack.readable_end = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->busy = 0;
}

struct hawk_slot *hawk_threads_acquire(void)
{
	struct hawk_slot *slot;

	if (hawk_thread_slot == HAWK_SLOT_GONE)
		return NULL;
	slot = claim_free();
	if (!slot)
		slot = claim_new();
	if (!slot)
		return NULL;
	reset(slot);
	if (!install(slot))
		return hawk_thread_slot == HAWK_SLOT_GONE ? NULL : hawk_thread_slot;
	if (exit_key_made) {
		/* With very many keys in the process this callocs; the busy mark makes that call a
		 * nested one. */
		slot->busy = HAWK_BUSY_FOR_SURE;
		pthread_setspecific(exit_key, slot);
		slot->busy = 0;
	}
	return slot;
}

void hawk_threads_flush(struct hawk_counter_entry *entry)
{
	struct hawk_counter_entry old = *entry;

	entry->trace = 0;
	entry->objects = 0;
	entry->bytes = 0;
	hawk_traces_add(old.trace, old.objects, old.bytes);
}

static void release(struct hawk_slot *slot)
{
	slot->busy = HAWK_BUSY_FOR_SURE;
	for (uint32_t i = 0; i < HAWK_COUNTER_ENTRIES; i++)
		if (slot->counters[i].trace)
			hawk_threads_flush(&slot->counters[i]);
	hawk_thread_slot = HAWK_SLOT_GONE;
	give_back(slot);
}

/** Runs in two rounds, because other destructors may still allocate. */
static void on_thread_exit(void *data)
{
	struct hawk_slot *slot = data;

	if (hawk_thread_slot != slot)
		return;
	if (++slot->exit_rounds < EXIT_ROUNDS && !pthread_setspecific(exit_key, slot))
		return;
	release(slot);
}

void hawk_threads_watch_exits(void)
{
	struct hawk_slot *slot = hawk_thread_slot;

	exit_key_made = !pthread_key_create(&exit_key, on_thread_exit);
	if (exit_key_made && (uintptr_t)slot > 1)
		pthread_setspecific(exit_key, slot);
}
