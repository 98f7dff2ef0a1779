/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tracer's memory: the table header and its doubling arrays.
 *
 * Everything is anonymous memory (table/place.h), or for what readers need a file (table/file.h);
 * nothing is ever moved or given back. Each segment of an array is a span (table/span.h), shorter
 * where memory is limited.
 */
#ifndef HAWK_TRACER_TABLE_ARENA_H
#define HAWK_TRACER_TABLE_ARENA_H

#include <stdbool.h>

#include "syscall.h"
#include "hawk_trace_table.h"

/** The primary header; NULL until hawk_arena_init() has succeeded. Read by every hook for the key.
 */
extern struct hawk_table_header *hawk_table_header __attribute__((visibility("hidden")));

/**
 * Maps and publishes the table. Needs nothing of the C library, so it can run inside the very first
 * malloc. `compatible_flags` and `options` go into the header as they are. False: no memory, the
 * tracer stays out.
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

/** Address of element `index`, mapping its segment if need be; NULL when there is no memory or no
 * directory entry. */
void *hawk_arena_element(enum hawk_arena_array array, uint64_t index);

/** As above for an element known to exist: no check, no mapping. */
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

/** From now on readers must know `flag` (enum hawk_table_incompatible); in both headers. */
void hawk_arena_require(uint64_t flag);

/**
 * Hands out the next record of an array, not before number `least`: its number is in `index`, and
 * *count, which says how many there are, grows. NULL: no memory, and *count stays: below it
 * everything is mapped.
 */
void *hawk_arena_take(enum hawk_arena_array array, uint32_t *count, uint32_t least,
		      uint32_t *index);

/** The next trace record, with the sample's beside it where there is a sample, and `words` words at
 * `index`. NULL: no memory for all of that. */
struct hawk_trace_record *hawk_arena_take_trace(uint32_t words, uint32_t *index, uint32_t *id);

/** Reserves `count` words that lie in one segment. False when full. */
bool hawk_arena_reserve_words(uint32_t count, uint32_t *index);

/** Enters memory into the list of all that the tracer has mapped. `file_offset`: 0 = anonymous. A
 * list that is full is left as it is. */
void hawk_arena_publish(const void *memory, size_t bytes, enum hawk_extent_kind kind,
			uint64_t file_offset);

/** Anonymous zeroed memory for the tracer's own use, entered in the list of extents. NULL when
 * there is none. */
void *hawk_arena_private(size_t bytes, enum hawk_extent_kind kind);

/** Memory of kind HAWK_EXTENT_PRIVATE for `*place`, which is 0 (release): its address and `tag`,
 * less than 4096, together. What others put there meanwhile is left and returned. 0 when there is
 * no memory. */
uint64_t hawk_arena_private_at(uint64_t *place, size_t bytes, unsigned tag);

/**
 * In a forked child whose table was copied from its parent's file: takes back what the parent has
 * added since the fork. `known_bytes` says how much from an address on was copied, 0 = nothing.
 * `file`: the copy is in a file of the child's own, and names the child as its process.
 */
void hawk_arena_adopt(uint64_t (*known_bytes)(uint64_t address), bool file);

/** Notes that the program keeps [start, end) out of cores: without that, the analyzer cannot tell
 * it from memory that was never written. No lock, no memory, no system call. */
void hawk_undumped_add(struct hawk_table_header *header, uint64_t start, uint64_t end);

/** Takes back notes that lie in [start, end) as a whole. */
void hawk_undumped_remove(struct hawk_table_header *header, uint64_t start, uint64_t end);

/** sizeof the readers' part of a thread slot, in bytes; set by the thread module before
 * hawk_arena_init(). */
extern const uint32_t hawk_thread_slot_bytes;

#endif
