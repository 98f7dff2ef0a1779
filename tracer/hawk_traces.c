/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The trace hash: 2^17 chain heads (512 KiB, touched as needed), chains through the records
 * themselves.
 */
#include "hawk_traces.h"

#include "hawk_arena.h"
#include "hawk_known.h"

enum {
	BUCKETS_LOG2 = 17,
};

static uint32_t *buckets;

bool hawk_traces_init(void)
{
	buckets = hawk_arena_private(sizeof(*buckets) << BUCKETS_LOG2, HAWK_EXTENT_PRIVATE);
	return buckets && hawk_known_init();
}

/** Walks the delta code of one record from the leaf outwards. */
struct record_cursor {
	const struct hawk_trace_record *record;
	const uint64_t *own;
	uint32_t own_left;
};

/** Sets the cursor on frame `skip` (from the leaf) of `record`. */
static void cursor_enter(struct record_cursor *cursor, const struct hawk_trace_record *record,
			 uint32_t skip)
{
	while (skip >= record->own_count) {
		const struct hawk_trace_record *tail = hawk_arena_trace(record->tail_trace);

		/* Of the tail's frames only the outermost tail_count are ours. */
		skip = skip - record->own_count + (tail->own_count + (uint32_t)tail->tail_count) -
		       record->tail_count;
		record = tail;
	}
	cursor->record = record;
	cursor->own = hawk_arena_words(record->word_index) + skip;
	cursor->own_left = record->own_count - skip;
}

static uint64_t cursor_next(struct record_cursor *cursor)
{
	if (!cursor->own_left) {
		const struct hawk_trace_record *tail = hawk_arena_trace(cursor->record->tail_trace);

		cursor_enter(cursor, tail,
			     tail->own_count + (uint32_t)tail->tail_count -
				     cursor->record->tail_count);
	}
	cursor->own_left--;
	return *cursor->own++;
}

static bool frames_equal(const struct hawk_trace_record *record, const struct hawk_frames *frames)
{
	struct record_cursor cursor;

	if (record->own_count + (uint32_t)record->tail_count != frames->count ||
	    record->generation != frames->generation || record->flags != frames->flags)
		return false;
	cursor_enter(&cursor, record, 0);
	for (uint32_t i = 0; i < frames->count; i++)
		if (cursor_next(&cursor) != frames->pc(frames, i))
			return false;
	return true;
}

/** Follows a chain from `id` until `end` (exclusive; 0 = the whole of it). */
static uint32_t find(uint32_t id, uint32_t end, const struct hawk_frames *frames)
{
	while (id && id != end) {
		const struct hawk_trace_record *record = hawk_arena_trace(id);

		if (record->hash == frames->hash && frames_equal(record, frames))
			return id;
		id = record->chain;
	}
	return 0;
}

/**
 * Goes on to the trace that really holds the outermost `tail_count` frames: without this, tails
 * would lead through ever more traces that contribute nothing.
 */
static uint32_t resolve_tail(uint32_t trace, uint32_t tail_count)
{
	for (;;) {
		const struct hawk_trace_record *record = hawk_arena_trace(trace);

		if (record->tail_count < tail_count)
			return trace;
		trace = record->tail_trace;
	}
}

/** A new record that is not on any chain yet; 0 if there is no room. */
static uint32_t write_record(const struct hawk_frames *frames)
{
	uint32_t tail = frames->tail_trace ? frames->tail_count : 0;
	struct hawk_trace_record *record;
	uint32_t own, id, index;
	uint64_t *words;

	if (tail >= frames->count)
		tail = frames->count - 1; /* own_count is at least 1 */
	own = frames->count - tail;
	/* Before anything is used up: when there is no memory, this is tried again and again. */
	id = __atomic_load_n(&hawk_table_header->trace_count, __ATOMIC_RELAXED);
	if (!hawk_arena_element(HAWK_ARRAY_TRACES, id) || !hawk_arena_reserve_words(own, &index))
		return 0;
	id = __atomic_fetch_add(&hawk_table_header->trace_count, 1, __ATOMIC_RELAXED);
	record = hawk_arena_element(HAWK_ARRAY_TRACES, id);
	if (!record)
		return 0;
	words = hawk_arena_words(index);
	for (uint32_t i = 0; i < own; i++)
		words[i] = frames->pc(frames, i);
	record->generation = frames->generation;
	record->word_index = index;
	record->own_count = (uint16_t)own;
	record->tail_count = (uint16_t)tail;
	record->tail_trace = tail ? resolve_tail(frames->tail_trace, tail) : 0;
	record->flags = frames->flags;
	__atomic_store_n(&record->hash, frames->hash, __ATOMIC_RELEASE);
	return id;
}

uint32_t hawk_traces_intern(const struct hawk_frames *frames)
{
	uint32_t *bucket = &buckets[frames->hash >> (64 - BUCKETS_LOG2)];
	uint32_t head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	uint32_t id = find(head, 0, frames);
	struct hawk_trace_record *record;

	if (id || !frames->count)
		return id;
	id = write_record(frames);
	if (!id)
		return 0;
	record = hawk_arena_trace(id);
	for (;;) {
		uint32_t seen = head;
		uint32_t same;

		record->chain = head;
		if (__atomic_compare_exchange_n(bucket, &head, id, false, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			return id;
		same = find(head, seen,
			    frames); /* somebody was quicker: perhaps with the very same stack */
		if (same)
			return same; /* our record stays behind: valid, off the chain, never used */
	}
}
