/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The label hash: chain heads, chains through the records, as for traces.
 */
#include "labels.h"

#include <string.h>

#include "file.h"
#include "traces.h"

enum {
	BUCKETS_LOG2 = 12,
	WORD_BYTES = 8,
};

static uint32_t *buckets;

bool hawk_labels_init(void)
{
	buckets = hawk_arena_private(sizeof(*buckets) << BUCKETS_LOG2, HAWK_EXTENT_PRIVATE);
	return buckets != NULL;
}

/** Returns bytes `at` .. `at` + 7 of a name, zeros after its end. */
static inline uint64_t word_at(const char *name, size_t length, size_t at)
{
	uint64_t word = 0;

	if (length - at >= WORD_BYTES)
		memcpy(&word, name + at, WORD_BYTES);
	else
		for (size_t i = 0; i < length - at; i++)
			word |= (uint64_t)(unsigned char)name[at + i] << 8 * i;
	return word;
}

static uint64_t hash_of(enum hawk_label_kind kind, uint32_t parent, const char *name, size_t length)
{
	uint64_t hash = hawk_hash_word((uint64_t)parent << 32 | kind, length);

	for (size_t at = 0; at < length; at += WORD_BYTES)
		hash = hawk_hash_word(hash, word_at(name, length, at));
	return hash ? hash : 1;
}

static size_t cut(size_t length)
{
	return length < HAWK_LABEL_NAME_BYTES_MAX ? length : HAWK_LABEL_NAME_BYTES_MAX;
}

static bool has_name(const struct hawk_label_record *record, const char *name, size_t length)
{
	const uint64_t *words;

	if (record->name_bytes != length)
		return false;
	if (!length)
		return true;
	words = hawk_arena_words(record->name_index);
	for (size_t at = 0; at < length; at += WORD_BYTES)
		if (words[at / WORD_BYTES] != word_at(name, length, at))
			return false;
	return true;
}

bool hawk_labels_equal(uint32_t label, enum hawk_label_kind kind, const char *name, size_t length)
{
	const struct hawk_label_record *record = hawk_arena_label(label);

	return record->kind == kind && has_name(record, name, cut(length));
}

/** Follows a chain from `id` until `end` (exclusive; 0 = the whole of it). */
static uint32_t find(uint32_t id, uint32_t end, const struct hawk_label_record *wanted,
		     const char *name)
{
	while (id && id != end) {
		const struct hawk_label_record *record = hawk_arena_label(id);

		if (record->hash == wanted->hash && record->kind == wanted->kind &&
		    record->parent == wanted->parent && has_name(record, name, wanted->name_bytes))
			return id;
		id = record->chain;
	}
	return 0;
}

static uint32_t make_record(const struct hawk_label_record *wanted, const char *name)
{
	uint32_t words = (wanted->name_bytes + WORD_BYTES - 1) / WORD_BYTES;
	struct hawk_label_record *record;
	uint32_t index = 0, id;

	id = __atomic_load_n(&hawk_table_header->label_count, __ATOMIC_RELAXED);
	/* Checked before words are used up: without room, every call tries this again. */
	if (!hawk_arena_element(HAWK_ARRAY_LABELS, id ? id : 1) ||
	    (words && !hawk_arena_reserve_words(words, &index)))
		return 0;
	record = hawk_arena_take(HAWK_ARRAY_LABELS, &hawk_table_header->label_count, 1, &id);
	if (!record)
		return 0;
	for (uint32_t i = 0; i < words; i++)
		hawk_arena_words(index)[i] =
			word_at(name, wanted->name_bytes, (size_t)i * WORD_BYTES);
	record->kind = wanted->kind;
	record->parent = wanted->parent;
	record->name_index = index;
	record->name_bytes = wanted->name_bytes;
	__atomic_store_n(&record->hash, wanted->hash, __ATOMIC_RELEASE);
	return id;
}

/** Writes a new record, not yet on any chain. Returns 0 without room. */
static uint32_t write_record(const struct hawk_label_record *wanted, const char *name)
{
	hawk_file_check_fork();
	return hawk_file_lost ? 0 : make_record(wanted, name);
}

uint32_t hawk_labels_intern(enum hawk_label_kind kind, uint32_t parent, const char *name,
			    size_t length)
{
	const struct hawk_label_record wanted = {
		.hash = hash_of(kind, parent, name, cut(length)),
		.kind = kind,
		.parent = parent,
		.name_bytes = (uint32_t)cut(length),
	};
	uint32_t *bucket = &buckets[wanted.hash >> (64 - BUCKETS_LOG2)];
	uint32_t head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	uint32_t id = find(head, 0, &wanted, name);

	if (id)
		return id;
	id = write_record(&wanted, name);
	if (!id)
		return 0;
	for (;;) {
		uint32_t seen = head;
		uint32_t same;

		hawk_arena_label(id)->chain = head;
		if (__atomic_compare_exchange_n(bucket, &head, id, false, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			return id;
		same = find(head, seen, &wanted, name);
		if (same)
			return same; /* ours stays behind, off the chain, never used */
	}
}
