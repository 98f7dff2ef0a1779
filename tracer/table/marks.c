/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The hash of marked traces, separate from that of stacks, so that stack lookups never meet them.
 */
#include "marks.h"

#include "arena.h"
#include "file.h"
#include "traces.h"

enum {
	BUCKETS_LOG2 = 14,
};

static uint32_t *buckets;

bool hawk_marks_init(void)
{
	buckets = hawk_arena_private(sizeof(*buckets) << BUCKETS_LOG2, HAWK_EXTENT_PRIVATE);
	return buckets != NULL;
}

struct marked {
	uint64_t hash;
	const uint64_t *marks;
	uint32_t count;
	uint32_t base;
};

static bool is_same(const struct hawk_trace_record *record, const struct marked *wanted)
{
	const uint64_t *words = hawk_arena_words(record->word_index);

	if (record->hash != wanted->hash || record->tail_trace != wanted->base ||
	    record->own_count != wanted->count)
		return false;
	for (uint32_t i = 0; i < wanted->count; i++)
		if (words[i] != wanted->marks[i])
			return false;
	return true;
}

/** Follows a chain from `id` until `end` (exclusive; 0 = the whole of it). */
static uint32_t find(uint32_t id, uint32_t end, const struct marked *wanted)
{
	while (id && id != end) {
		const struct hawk_trace_record *record = hawk_arena_trace(id);

		if (is_same(record, wanted))
			return id;
		id = record->chain;
	}
	return 0;
}

static void fill(struct hawk_trace_record *record, const struct marked *wanted, uint32_t index)
{
	const struct hawk_trace_record *base = wanted->base ? hawk_arena_trace(wanted->base) : NULL;

	record->generation = base ? base->generation : hawk_table_header->generation;
	record->word_index = index;
	record->own_count = (uint16_t)wanted->count;
	record->tail_count = base ? (uint16_t)(base->own_count + base->tail_count) : 0;
	record->tail_trace = wanted->base;
	record->flags = (base ? base->flags : 0) | HAWK_TRACE_MARKED;
	__atomic_store_n(&record->hash, wanted->hash, __ATOMIC_RELEASE);
}

static uint32_t make_record(const struct marked *wanted)
{
	struct hawk_trace_record *record;
	uint32_t id, index;

	record = hawk_arena_take_trace(wanted->count, &index, &id);
	if (!record)
		return 0;
	hawk_arena_require(HAWK_TABLE_MARKED);
	for (uint32_t i = 0; i < wanted->count; i++)
		hawk_arena_words(index)[i] = wanted->marks[i];
	fill(record, wanted, index);
	return id;
}

/** Writes a new record, not yet on any chain. Returns 0 without room. */
static uint32_t write_record(const struct marked *wanted)
{
	hawk_file_check_fork();
	return hawk_file_lost ? 0 : make_record(wanted);
}

uint32_t hawk_marks_intern(uint32_t base, const uint64_t *marks, uint32_t count)
{
	const struct marked wanted = {hawk_hash_words(marks, count, base), marks, count, base};
	uint32_t *bucket = &buckets[wanted.hash >> (64 - BUCKETS_LOG2)];
	uint32_t head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	uint32_t id = find(head, 0, &wanted);

	if (id)
		return id;
	id = write_record(&wanted);
	if (!id)
		return 0;
	for (;;) {
		uint32_t seen = head;
		uint32_t same;

		hawk_arena_trace(id)->chain = head;
		if (__atomic_compare_exchange_n(bucket, &head, id, false, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			return id;
		same = find(head, seen, &wanted);
		if (same)
			return same; /* ours stays behind, off the chain, never used */
	}
}

uint32_t hawk_marks_of(uint32_t trace, uint64_t *marks, uint32_t *count)
{
	const struct hawk_trace_record *record;
	const uint64_t *words;

	*count = 0;
	if (!trace)
		return 0;
	record = hawk_arena_trace(trace);
	if (!(record->flags & HAWK_TRACE_MARKED))
		return trace;
	words = hawk_arena_words(record->word_index);
	for (; *count < record->own_count && *count < HAWK_TRACE_MARKS_MAX; ++*count)
		marks[*count] = words[*count];
	return record->tail_trace;
}
