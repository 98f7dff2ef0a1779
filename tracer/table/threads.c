/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Slots come and go with threads: a bitmap of free ones, claimed by compare-and-swap.
 */
#include "threads.h"

#include <pthread.h>

#include "arena.h"
#include "file.h"
#include "base/options.h"
#include "span.h"

enum {
	FREE_MAP_WORDS = 4096, /**< 262,144 slots at once; threads beyond that are served like
				  exiting ones */
	/** Destructor rounds, out of four, before the slot is given back. The rest serve threads
	 * whose first allocation happens in a destructor. */
	EXIT_ROUNDS = 2,
	PAGE_BYTES = 4096,
};

const uint32_t hawk_thread_slot_bytes = sizeof(struct hawk_head);

__thread struct hawk_slot *hawk_thread_slot __attribute__((tls_model("initial-exec")));

/** Bit i is set if slot i is free for reuse. Slots at and above thread_count were never used. */
static uint64_t *free_map;
static uint32_t free_count;

/** Private parts of the slots, in segments that double like the table's. The holds of a segment's
 * slots lie before it, in the same span, up to a page boundary. */
static struct hawk_span segments[HAWK_THREAD_SEGMENTS];

static pthread_key_t exit_key;
static bool exit_key_made;

bool hawk_threads_init(void)
{
	free_map = hawk_arena_private(FREE_MAP_WORDS * sizeof(*free_map), HAWK_EXTENT_PRIVATE);
	return free_map != NULL;
}

static size_t page_up(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
}

static size_t holds_bytes(unsigned segment)
{
	return page_up(hawk_segment_length(segment, HAWK_THREAD_SEGMENT_LOG2) *
		       sizeof(struct hawk_hold));
}

/** Returns the offset of slot `index` in its segment. */
static size_t place_of(uint32_t index, unsigned segment)
{
	return holds_bytes(segment) +
	       (index - hawk_segment_first(segment, HAWK_THREAD_SEGMENT_LOG2)) *
		       sizeof(struct hawk_slot);
}

struct hawk_slot *hawk_threads_slot(uint32_t index)
{
	unsigned segment = hawk_segment_of(index, HAWK_THREAD_SEGMENT_LOG2);
	size_t place = place_of(index, segment);
	uint64_t start =
		segment < HAWK_THREAD_SEGMENTS
			? hawk_span_find(&segments[segment], place + sizeof(struct hawk_slot))
			: 0;

	return start ? (struct hawk_slot *)(start + place) : NULL;
}

static struct hawk_hold *hold_of(const struct hawk_slot *slot, uint32_t index)
{
	unsigned segment = hawk_segment_of(index, HAWK_THREAD_SEGMENT_LOG2);
	char *start = (char *)slot - place_of(index, segment);

	return (struct hawk_hold *)start +
	       (index - hawk_segment_first(segment, HAWK_THREAD_SEGMENT_LOG2));
}

/** Returns the private part of slot `index`, mapping it if necessary; NULL without memory. */
static struct hawk_slot *make_slot(uint32_t index)
{
	unsigned segment = hawk_segment_of(index, HAWK_THREAD_SEGMENT_LOG2);
	struct hawk_span_shape shape = {.kind = HAWK_EXTENT_PRIVATE};

	if (segment >= HAWK_THREAD_SEGMENTS)
		return NULL;
	shape.wiped = holds_bytes(segment);
	shape.bytes = page_up(shape.wiped + hawk_segment_length(segment, HAWK_THREAD_SEGMENT_LOG2) *
						    sizeof(struct hawk_slot));
	hawk_span_reach(&segments[segment], &shape,
			place_of(index, segment) + sizeof(struct hawk_slot));
	return hawk_threads_slot(index);
}

/** Returns slot `index` and sets `*ret` to its part of the table. Returns NULL without memory. */
static struct hawk_slot *attach(uint32_t index, struct hawk_head **ret)
{
	struct hawk_head *head = hawk_arena_element(HAWK_ARRAY_THREADS, index);
	struct hawk_slot *slot = hawk_threads_slot(index);

	if (!head || !slot)
		return NULL;
	head->index = index;
	head->record.counter_offset = offsetof(struct hawk_head, counters);
	head->record.counter_count = HAWK_COUNTER_ENTRIES;
	head->record.free_offset = offsetof(struct hawk_head, frees);
	head->record.free_count = HAWK_FREE_ENTRIES;
	slot->hold = hold_of(slot, index);
	slot->head = head;
	*ret = head;
	return slot;
}

static struct hawk_slot *claim_free(struct hawk_head **head)
{
	uint32_t words =
		__atomic_load_n(&hawk_table_header->thread_count, __ATOMIC_RELAXED) / 64 + 1;

	if (!__atomic_load_n(&free_count, __ATOMIC_RELAXED))
		return NULL;
	for (uint32_t i = 0; i < words && i < FREE_MAP_WORDS; i++) {
		uint64_t bits = __atomic_load_n(&free_map[i], __ATOMIC_RELAXED);

		while (bits) {
			uint64_t lowest = bits & -bits;

			if (__atomic_compare_exchange_n(&free_map[i], &bits, bits & ~lowest, false,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
				__atomic_fetch_sub(&free_count, 1, __ATOMIC_RELAXED);
				return attach(i * 64 + (uint32_t)__builtin_ctzll(lowest), head);
			}
		}
	}
	return NULL;
}

static struct hawk_slot *claim_new(struct hawk_head **head)
{
	uint32_t *count = &hawk_table_header->thread_count;
	uint32_t index = __atomic_load_n(count, __ATOMIC_RELAXED);

	do {
		if (index >= FREE_MAP_WORDS * 64 ||
		    !hawk_arena_element(HAWK_ARRAY_THREADS, index) || !make_slot(index))
			return NULL;
		hawk_file_check_fork();
		if (hawk_file_lost)
			return NULL;
	} while (!__atomic_compare_exchange_n(count, &index, index + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return attach(index, head);
}

static void take_hold(struct hawk_slot *slot, const struct hawk_head *head, uint64_t busy)
{
	slot->hold->head = (uint64_t)head - (uint64_t)&hawk_counters_nowhere;
	slot->hold->idle = HAWK_IDLE;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->hold->busy = busy;
}

static void reset(struct hawk_slot *slot, struct hawk_head *head)
{
	take_hold(slot, head, HAWK_IDLE);
	slot->exit_rounds = 0;
	slot->clock_countdown = 0;
	slot->clock_interval = 0;
	slot->clock_last_ns = 0;
	slot->walks_to_skip = 0;
	slot->walk_backoff = 0;
	hawk_scopes_clear(&slot->scopes, &slot->scope_key);
	slot->stack.count = 0;
	slot->stack.trace = 0;
	head->record.tid = (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);
	head->record.users++;
	hawk_threads_note_signal_stack(head, 0, 0);
	__atomic_store_n(&head->record.state, (uint32_t)HAWK_THREAD_LIVE, __ATOMIC_RELEASE);
}

static void give_back(struct hawk_head *head)
{
	uint32_t index = head->index;

	__atomic_store_n(&head->record.state, (uint32_t)HAWK_THREAD_FREE, __ATOMIC_RELAXED);
	__atomic_fetch_or(&free_map[index / 64], UINT64_C(1) << index % 64, __ATOMIC_RELEASE);
	__atomic_fetch_add(&free_count, 1, __ATOMIC_RELAXED);
}

void hawk_threads_note_signal_stack(struct hawk_head *head, uint64_t start, uint64_t bytes)
{
	__atomic_store_n(&head->record.signal_stack, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&head->record.signal_stack_bytes, bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&head->record.signal_stack, start, __ATOMIC_RELEASE);
}

/** Gives the slot to the thread, unless a handler gave it one meanwhile. */
static struct hawk_slot *install(struct hawk_slot *slot, struct hawk_head *head)
{
	struct hawk_slot *expected = NULL;

	if (__atomic_compare_exchange_n(&hawk_thread_slot, &expected, slot, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return slot;
	give_back(head);
	return NULL;
}

void hawk_threads_recover(struct hawk_slot *slot)
{
	slot->stack.count = 0;
	slot->stack.trace = 0;
	slot->stack.readable_start = 0;
	slot->stack.readable_end = 0;
	hawk_counters_recover(hawk_threads_head(slot));
	hawk_threads_end(slot);
}

void hawk_threads_restore(struct hawk_slot *slot)
{
	struct hawk_head *head = NULL;

	for (unsigned i = 0; i < HAWK_THREAD_SEGMENTS; i++)
		segments[i].claim = 0;
	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++)
		if (hawk_threads_slot(i) == slot)
			head = hawk_arena_element(HAWK_ARRAY_THREADS, i);
	if (!head)
		return;
	head->record.tid = (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);
	/* A handler may have forked while the thread was busy. That looks like a jump out of the
	 * handler, which the next recorded stack reveals. */
	take_hold(slot, head,
		  hawk_options.stacks ? (uint64_t)__builtin_frame_address(0) : HAWK_IDLE);
}

/** Takes a slot for the thread. Returns NULL if there is none, or if a handler took one
 * meanwhile. */
static struct hawk_slot *take_slot(void)
{
	struct hawk_slot *slot;
	struct hawk_head *head;

	if (hawk_thread_slot || hawk_file_lost)
		return NULL;
	slot = claim_free(&head);
	if (!slot)
		slot = claim_new(&head);
	if (!slot)
		return NULL;
	reset(slot, head);
	return install(slot, head);
}

struct hawk_slot *hawk_threads_acquire(void)
{
	struct hawk_file_pause pause;
	struct hawk_slot *slot;

	hawk_file_enter(&pause);
	slot = take_slot();
	/* Check again: if signals cannot be blocked, the hold may be on the parent's file. */
	hawk_file_check_fork();
	hawk_file_exit(&pause);
	if (!slot)
		return hawk_thread_slot == HAWK_SLOT_GONE ? NULL : hawk_thread_slot;
	if (exit_key_made) {
		/* With very many keys in the process this calls calloc; the busy mark makes that
		 * call a nested one. */
		hawk_threads_begin(slot, HAWK_BUSY_FOR_SURE);
		pthread_setspecific(exit_key, slot);
		hawk_threads_end(slot);
	}
	return slot;
}

static void release(struct hawk_slot *slot)
{
	struct hawk_file_pause pause;
	struct hawk_head *head;

	hawk_file_enter(&pause);
	if (hawk_thread_slot == slot) { /* else a forked child has no memory */
		head = hawk_threads_head(slot);
		hawk_threads_begin(slot, HAWK_BUSY_FOR_SURE);
		hawk_counters_recover(head);
		hawk_counters_flush_all(head);
		hawk_thread_slot = HAWK_SLOT_GONE;
		give_back(head);
	}
	hawk_file_exit(&pause);
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
