/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The index of traces: tables of buckets, each four times as long as the one before, so that few
 * stacks touch few pages.
 *
 *     bucket of 8 words = 64 bytes, 64 of them in table 0
 *     word: low half of the hash << 32 | trace id; 0 = empty
 *
 * The high bits of a hash name one bucket in each table. These buckets are filled one after the
 * other, word by word, and words never change. So a new stack of that hash has exactly one place,
 * and the loser of a race for it compares with the word now there.
 *
 * When memory runs short, later tables are made shorter: most stacks are in the earlier ones, and
 * the remaining memory is needed for the stacks themselves.
 */
#include "traces.h"

#include "arena.h"
#include "file.h"
#include "place.h"

enum {
	TABLES = 12, /**< the last table is longer than the range of ids */
	BUCKETS_LOG2_MIN = 6,
	BUCKETS_LOG2_STEP = 2,
	BUCKETS_LOG2_SHORT = 12, /**< 256 KiB: smallest table when room is short */
	ROOM_SHARE = 4,          /**< a table takes at most this fraction of the remaining room */
	WAYS = HAWK_TRACES_WAYS,

	LOG2_MASK = 63,
};

/** Address of each table, with log2 of its number of buckets in the low bits. */
static uint64_t tables[TABLES];

enum {
	KNOWN_SETS_MAX = 1 << HAWK_KNOWN_SETS_LOG2_MAX,
	KNOWN_TRACES_PER_SET = 3, /**< of four entries; with more, many sets would overflow */
};

struct hawk_known hawk_known = {.set_mask = (1 << HAWK_KNOWN_SETS_LOG2_MIN) - 1};

bool hawk_known_init(void)
{
	hawk_known.entries =
		hawk_arena_private(KNOWN_SETS_MAX * HAWK_KNOWN_WAYS * sizeof(*hawk_known.entries),
				   HAWK_EXTENT_PRIVATE);
	return hawk_known.entries != NULL;
}

/** Grows the number of sets to fit all traces. Racing threads may set it back once, which is
 * harmless. */
static void grow_known(void)
{
	uint64_t traces = __atomic_load_n(&hawk_table_header->trace_count, __ATOMIC_RELAXED);
	uint64_t mask = __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED);

	while (traces > (mask + 1) * KNOWN_TRACES_PER_SET && mask + 1 < KNOWN_SETS_MAX)
		mask = 2 * mask + 1;
	if (mask != hawk_known.set_mask)
		__atomic_store_n(&hawk_known.set_mask, mask, __ATOMIC_RELAXED);
}

void hawk_known_add(uint64_t hash, uint64_t check, uint32_t trace)
{
	uint64_t low = check << 32 | trace;
	struct hawk_known_entry *set, *victim;

	grow_known();
	set = &hawk_known.entries[(hash & __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED)) *
				  HAWK_KNOWN_WAYS];
	victim = &set[check >> 32 & (HAWK_KNOWN_WAYS - 1)];
	for (unsigned i = 0; i < HAWK_KNOWN_WAYS; i++)
		if (!__atomic_load_n(&set[i].words[1], __ATOMIC_RELAXED)) {
			victim = &set[i];
			break;
		}
	__atomic_store_n(&victim->words[1], low, __ATOMIC_RELAXED);
	__atomic_store_n(&victim->words[0], hash ^ low, __ATOMIC_RELAXED);
}

static unsigned buckets_log2(unsigned table)
{
	return BUCKETS_LOG2_MIN + table * BUCKETS_LOG2_STEP;
}

static size_t table_bytes(unsigned log2)
{
	return (sizeof(uint64_t) * WAYS) << log2;
}

bool hawk_traces_init(void)
{
	size_t bytes = 0;
	char *memory;

	for (unsigned i = 0; i < HAWK_TRACES_TABLES_AT_ONCE; i++)
		bytes += table_bytes(buckets_log2(i));
	memory = hawk_arena_private(bytes, HAWK_EXTENT_PRIVATE);
	if (!memory)
		return false;
	for (unsigned i = 0; i < HAWK_TRACES_TABLES_AT_ONCE;
	     memory += table_bytes(buckets_log2(i++)))
		tables[i] = (uint64_t)memory | buckets_log2(i);
	return hawk_known_init();
}

/** Makes a table and returns its word; 0 without memory. */
static uint64_t make_table(unsigned number)
{
	unsigned log2 = buckets_log2(number);
	uint64_t word;

	while (log2 > BUCKETS_LOG2_SHORT && table_bytes(log2) > hawk_place_room() / ROOM_SHARE)
		log2--;
	word = hawk_arena_private_at(&tables[number], table_bytes(log2), log2);
	if (!word && log2 > BUCKETS_LOG2_SHORT)
		word = hawk_arena_private_at(&tables[number], table_bytes(BUCKETS_LOG2_SHORT),
					     BUCKETS_LOG2_SHORT);
	return word;
}

/** Returns the bucket of `hash` in a table; NULL without memory. */
static uint64_t *bucket_of(unsigned number, uint64_t hash)
{
	uint64_t word = __atomic_load_n(&tables[number], __ATOMIC_ACQUIRE);

	if (!word)
		word = make_table(number);
	if (!word)
		return NULL;
	return (uint64_t *)(word & ~(uint64_t)LOG2_MASK) +
	       (hash >> (64 - (word & LOG2_MASK))) * WAYS;
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

		/* Only the outermost tail_count of the tail's frames are ours. */
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

/** Returns the id in `word` if it is the id of `frames`, else 0. */
static uint32_t id_if_equal(uint64_t word, const struct hawk_frames *frames)
{
	uint32_t id = (uint32_t)word;
	const struct hawk_trace_record *record;

	if (word >> 32 != (uint32_t)frames->hash)
		return 0;
	record = hawk_arena_trace(id);
	return record->hash == frames->hash && frames_equal(record, frames) ? id : 0;
}

/**
 * Returns the trace that really holds the outermost `tail_count` frames. Without this, tails would
 * lead through ever more traces that contribute nothing.
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

static uint32_t make_record(const struct hawk_frames *frames)
{
	uint32_t tail = frames->tail_trace ? frames->tail_count : 0;
	struct hawk_trace_record *record;
	uint32_t own, id, index;
	uint64_t *words;

	if (tail >= frames->count)
		tail = frames->count - 1; /* own_count is at least 1 */
	own = frames->count - tail;
	record = hawk_arena_take_trace(own, &index, &id);
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

/** Writes a new record, not yet in the index. Returns 0 without room. */
static uint32_t write_record(const struct hawk_frames *frames)
{
	hawk_file_check_fork();
	return hawk_file_lost ? 0 : make_record(frames);
}

/** State of a lookup. */
struct search {
	const struct hawk_frames *frames;
	uint32_t written; /**< its new record; 0 = none so far */
	uint32_t id;      /**< the result; 0 = no room */
};

/** Returns true if the word held this stack, holds it now, or there is no room for another
 * record. */
static bool ends_at(struct search *search, uint64_t *at)
{
	const struct hawk_frames *frames = search->frames;
	uint64_t word = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (!word) {
		if (!search->written)
			search->written = write_record(frames);
		search->id = search->written;
		if (!search->id ||
		    __atomic_compare_exchange_n(at, &word, frames->hash << 32 | search->written,
						false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
			return true;
		/* Another thread was quicker, perhaps with the same stack. Then our record stays
		 * behind: valid, not in the index, never used. */
	}
	search->id = id_if_equal(word, frames);
	return search->id;
}

uint32_t hawk_traces_intern(const struct hawk_frames *frames)
{
	struct search search = {.frames = frames};

	if (!frames->count)
		return 0;
	for (unsigned number = 0; number < TABLES; number++) {
		uint64_t *bucket = bucket_of(number, frames->hash);

		if (!bucket)
			return 0;
		for (unsigned i = 0; i < WAYS; i++)
			if (ends_at(&search, &bucket[i]))
				return search.id;
	}
	return 0;
}
