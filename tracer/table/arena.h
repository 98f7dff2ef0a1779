/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tracer's memory: the table header and its doubling arrays.
 *
 * Memory is anonymous (table/place.h), or, for the parts that readers need, in a file
 * (table/file.h). It is never moved or given back. Each segment of an array is a span
 * (table/span.h), shorter where memory is limited.
 */
#ifndef HAWK_TRACER_TABLE_ARENA_H
#define HAWK_TRACER_TABLE_ARENA_H

#include <stdbool.h>

#include "syscall.h"
#include "hawk_trace_table.h"

/** The primary header; NULL until hawk_arena_init() has succeeded. Read by every hook for the
 * key. */
extern struct hawk_table_header *hawk_table_header __attribute__((visibility("hidden")));

/**
 * Maps and publishes the table. Needs no C library, so it can run inside the very first malloc.
 * Copies `compatible_flags` and `options` into the header. Returns false without memory; the tracer
 * then stays out.
 */
bool hawk_arena_init(uint64_t compatible_flags, const char *options);

/** The doubling arrays of the table. */
enum hawk_arena_array {
	HAWK_ARRAY_TRACES,
	HAWK_ARRAY_WORDS,
	HAWK_ARRAY_THREADS,
	HAWK_ARRAY_MODULES,
	HAWK_ARRAY_SAMPLES,
	HAWK_ARRAY_LABELS,
};

/** Returns the address of element `index`, mapping its segment if necessary; NULL without memory or
 * directory entry. */
void *hawk_arena_element(enum hawk_arena_array array, uint64_t index);

/** Returns a record known to exist: no check, no mapping. */
static inline struct hawk_trace_record *hawk_arena_trace(uint32_t id)
{
	unsigned segment = hawk_segment_of(id, HAWK_TRACE_SEGMENT_LOG2);

	return (struct hawk_trace_record *)hawk_table_header->trace_segments[segment] +
	       (id - hawk_segment_first(segment, HAWK_TRACE_SEGMENT_LOG2));
}

static inline uint64_t *hawk_arena_words(uint32_t index)
{
	unsigned segment = hawk_segment_of(index, HAWK_WORD_SEGMENT_LOG2);

	return (uint64_t *)hawk_table_header->word_segments[segment] +
	       (index - hawk_segment_first(segment, HAWK_WORD_SEGMENT_LOG2));
}

static inline struct hawk_label_record *hawk_arena_label(uint32_t id)
{
	unsigned segment = hawk_segment_of(id, HAWK_LABEL_SEGMENT_LOG2);

	return (struct hawk_label_record *)hawk_table_header->label_segments[segment] +
	       (id - hawk_segment_first(segment, HAWK_LABEL_SEGMENT_LOG2));
}

/** Requires readers to know `flag` (enum hawk_table_incompatible), in both headers. */
void hawk_arena_require(uint64_t flag);

/**
 * Takes the next record of an array, from number `least` on. Sets `*index` to its number and raises
 * `*count`, the number of records. Returns NULL without memory and leaves `*count`: everything
 * below it is mapped.
 */
void *hawk_arena_take(enum hawk_arena_array array, uint32_t *count, uint32_t least,
		      uint32_t *index);

/** Takes the next trace record, its sample record if sampling, and `words` words at `index`.
 * Returns NULL without memory for all of these. */
struct hawk_trace_record *hawk_arena_take_trace(uint32_t words, uint32_t *index, uint32_t *id);

/** Reserves `count` words in one segment. Returns false when full. */
bool hawk_arena_reserve_words(uint32_t count, uint32_t *index);

/** Adds memory to the list of the tracer's mappings, unless the list is full. `file_offset` 0 =
 * anonymous. */
void hawk_arena_publish(const void *memory, size_t bytes, enum hawk_extent_kind kind,
			uint64_t file_offset);

/** Returns anonymous zeroed memory for the tracer's own use, entered in the list of extents; NULL
 * without memory. */
void *hawk_arena_private(size_t bytes, enum hawk_extent_kind kind);

/** Maps memory of kind HAWK_EXTENT_PRIVATE and stores its address combined with `tag` (below 4096)
 * in `*place`, which is 0 (release). Returns the stored value, or the value that another thread
 * stored meanwhile; 0 without memory. */
uint64_t hawk_arena_private_at(uint64_t *place, size_t bytes, unsigned tag);

/**
 * Adopts a table that a forked child copied from its parent's file: takes back additions that the
 * parent made since the fork. `known_bytes` returns the bytes copied from an address on, 0 = none.
 * With `file`, the copy is in the child's own file and names the child as its process.
 */
void hawk_arena_adopt(uint64_t (*known_bytes)(uint64_t address), bool file);

/** Notes that the program keeps [start, end) out of cores; otherwise the analyzer takes it for
 * memory never written. Takes no lock, memory or system call. */
void hawk_undumped_add(struct hawk_table_header *header, uint64_t start, uint64_t end);

/** Removes notes that lie completely within [start, end). */
void hawk_undumped_remove(struct hawk_table_header *header, uint64_t start, uint64_t end);

/** Size of the readers' part of a thread slot, in bytes; set by the thread module before
 * hawk_arena_init(). */
extern const uint32_t hawk_thread_slot_bytes;

#endif
