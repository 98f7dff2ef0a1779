/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counter pairs, and moving an entry into one. Correctness rests on the order of stores: a process
 * may die between any two, and x86 shows stores to others in program order.
 */
#include "counters.h"

#include <stdbool.h>

#include "arena.h"
#include "file.h"

struct hawk_head hawk_counters_nowhere;

#ifdef HAWK_MODEL
/** Provided by the model checker of tests/model, which cannot see into assembly. */
bool exchange_pair(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0, uint64_t new1);
#else
/** Replaces both words if unchanged, in one instruction. */
static bool exchange_pair(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0,
			  uint64_t new1)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(unsigned __int128 *)pair), "+a"(old0), "+d"(old1)
			 : "b"(new0), "c"(new1)
			 : "memory");
	return done;
}
#endif

/** Tries once to add to a pair that held `word0`, under `tag`. */
static bool try_add(uint64_t *pair, uint64_t word0, uint32_t tag, uint64_t objects, uint64_t bytes)
{
	uint64_t word1 = __atomic_load_n(&pair[1], __ATOMIC_RELAXED);
	uint64_t sum = hawk_counter_objects(word0, word1) + objects;

	return exchange_pair(pair, word0, word1, hawk_counter_word0(sum, tag),
			     hawk_counter_word1(sum, hawk_counter_bytes(word1) + bytes));
}

static void add(uint64_t *pair, uint64_t objects, uint64_t bytes)
{
	uint64_t word0;

	do
		word0 = __atomic_load_n(&pair[0], __ATOMIC_RELAXED);
	while (!try_add(pair, word0, hawk_counter_tag(word0), objects, bytes));
}

void hawk_counters_add_allocations(uint32_t trace, uint64_t objects, uint64_t bytes)
{
	hawk_file_check_fork();
	if (trace)
		add(&hawk_arena_trace(trace)->alloc_objects, objects, bytes);
}

void hawk_counters_add_frees(uint32_t trace, uint64_t objects, uint64_t bytes)
{
	hawk_file_check_fork();
	if (trace)
		add(&hawk_arena_trace(trace)->free_objects, objects, bytes);
}

static bool is_free_entry(uint64_t flush)
{
	return hawk_flush_entry(flush) >= HAWK_COUNTER_ENTRIES;
}

static uint64_t *pair_of(uint64_t flush)
{
	struct hawk_trace_record *record =
		hawk_arena_trace((uint32_t)(flush >> HAWK_FLUSH_TRACE_SHIFT));

	return is_free_entry(flush) ? &record->free_objects : &record->alloc_objects;
}

static struct hawk_counter_entry *entry_of(struct hawk_head *head, uint64_t flush)
{
	uint32_t entry = hawk_flush_entry(flush);

	return is_free_entry(flush) ? &head->frees[entry - HAWK_COUNTER_ENTRIES]
				    : &head->counters[entry];
}

/**
 * Notes another slot's flush as applied before its tag in `word0` is overwritten. Called after
 * reading `word0` from the pair of `flush`. If that slot is still busy with this flush, its flush
 * word must say so first. The pair must be unchanged after the flush word is read: then the tag was
 * present during the read. A slot never chooses the tag bit that it finds, so it is the tag of that
 * flush.
 */
static void save_news(uint64_t flush, const uint64_t *pair, uint64_t word0)
{
	uint32_t tag = hawk_counter_tag(word0);
	uint32_t index = (tag >> 1) - 1;
	struct hawk_head *other;
	uint64_t news;

	hawk_file_check_fork();
	other = hawk_arena_element(HAWK_ARRAY_THREADS, index);
	news = other ? __atomic_load_n(&other->record.flush, __ATOMIC_ACQUIRE) : 0;

	if ((news & (HAWK_FLUSH_PENDING | HAWK_FLUSH_APPLIED)) != HAWK_FLUSH_PENDING ||
	    news >> HAWK_FLUSH_TRACE_SHIFT != flush >> HAWK_FLUSH_TRACE_SHIFT ||
	    is_free_entry(news) != is_free_entry(flush) || hawk_flush_tag(news, index) != tag ||
	    __atomic_load_n(&pair[0], __ATOMIC_ACQUIRE) != word0)
		return;
	__atomic_compare_exchange_n(&other->record.flush, &news, news | HAWK_FLUSH_APPLIED, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void apply(const struct hawk_head *head, uint64_t flush,
		  const struct hawk_counter_entry *entry)
{
	uint64_t *pair = pair_of(flush);
	uint32_t tag = hawk_flush_tag(flush, head->index);
	uint64_t word0;

	do {
		word0 = __atomic_load_n(&pair[0], __ATOMIC_ACQUIRE);
		if (hawk_counter_tag(word0) && hawk_counter_tag(word0) >> 1 != tag >> 1)
			save_news(flush, pair, word0);
	} while (!try_add(pair, word0, tag, entry->objects, entry->bytes));
}

/** Clears the trace first: an entry without a trace counts for nothing, whatever else it holds. */
static void empty_entry(struct hawk_head *head, struct hawk_counter_entry *entry)
{
	entry->trace = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	entry->objects = 0;
	entry->bytes = 0;
	__atomic_store_n(&head->record.flush, 0, __ATOMIC_RELEASE);
}

static void flush_entry(struct hawk_head *head, uint32_t index, struct hawk_counter_entry *entry)
{
	uint64_t flush = HAWK_FLUSH_PENDING | (uint64_t)index << HAWK_FLUSH_ENTRY_SHIFT |
			 (uint64_t)entry->trace << HAWK_FLUSH_TRACE_SHIFT;

	if (!entry->trace)
		return;
	hawk_file_check_fork();
	if (__builtin_expect(head == &hawk_counters_nowhere, 0)) {
		*entry = (struct hawk_counter_entry){0};
		return;
	}
	flush |= (uint64_t)(head->version++ & 0xfffff) << HAWK_FLUSH_VERSION_SHIFT;
	/* Choose the tag bit that is not in use: only this slot's thread writes its tags. */
	if (hawk_counter_tag(__atomic_load_n(pair_of(flush), __ATOMIC_RELAXED)) ==
	    hawk_flush_tag(flush, head->index))
		flush |= HAWK_FLUSH_TAG_BIT;
	__atomic_store_n(&head->record.flush, flush, __ATOMIC_RELEASE);
	apply(head, flush, entry);
	empty_entry(head, entry);
}

void hawk_counters_flush_allocations(struct hawk_head *head, uint32_t entry)
{
	flush_entry(head, entry, &head->counters[entry]);
}

void hawk_counters_flush_frees(struct hawk_head *head, uint32_t entry)
{
	flush_entry(head, HAWK_COUNTER_ENTRIES + entry, &head->frees[entry]);
}

void hawk_counters_flush_all(struct hawk_head *head)
{
	for (uint32_t i = 0; i < HAWK_COUNTER_ENTRIES; i++)
		hawk_counters_flush_allocations(head, i);
	for (uint32_t i = 0; i < HAWK_FREE_ENTRIES; i++)
		hawk_counters_flush_frees(head, i);
}

void hawk_counters_recover(struct hawk_head *head)
{
	uint64_t flush = __atomic_load_n(&head->record.flush, __ATOMIC_ACQUIRE);
	uint32_t tag;

	if (!(flush & HAWK_FLUSH_PENDING))
		return;
	tag = hawk_counter_tag(__atomic_load_n(pair_of(flush), __ATOMIC_ACQUIRE));
	/* In this order: the tag may vanish at any time, but only after the flush word says it was
	 * applied. */
	flush = __atomic_load_n(&head->record.flush, __ATOMIC_ACQUIRE);
	if (flush & HAWK_FLUSH_APPLIED || tag == hawk_flush_tag(flush, head->index))
		empty_entry(head, entry_of(head, flush));
	else
		__atomic_store_n(&head->record.flush, 0, __ATOMIC_RELEASE);
}

void hawk_counters_forget(struct hawk_head *head, uint32_t trace_count)
{
	struct hawk_counter_entry *entries[] = {head->counters, head->frees};
	const uint32_t counts[] = {HAWK_COUNTER_ENTRIES, HAWK_FREE_ENTRIES};

	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < counts[i]; j++)
			if (entries[i][j].trace >= trace_count)
				entries[i][j] = (struct hawk_counter_entry){0};
	if (head->record.flush >> HAWK_FLUSH_TRACE_SHIFT >= trace_count)
		head->record.flush = 0;
}
