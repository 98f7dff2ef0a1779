/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Re-sealing with a type; sealing and un-sealing of pool objects.
 */
#include "annotated.h"

#include "table/clock.h"
#include "table/counters.h"
#include "table/file.h"
#include "table/labels.h"
#include "table/marks.h"
#include "next.h"
#include "record.h"
#include "table/sampler.h"

/** Returns the id of `trace` with this type in place of any other; 0 if the table is full. */
static uint32_t typed(uint32_t trace, uint32_t label)
{
	uint64_t marks[1 + HAWK_TRACE_MARKS_MAX];
	uint32_t count;
	uint32_t base = hawk_marks_of(trace, marks + 1, &count);
	uint64_t mark = hawk_mark(label, HAWK_MARK_UNPLACED);

	/* A type is always the first mark. */
	if (count && hawk_arena_label(hawk_mark_label(marks[1]))->kind == HAWK_LABEL_TYPE) {
		marks[1] = mark;
		return hawk_marks_intern(base, marks + 1, count);
	}
	marks[0] = mark;
	return hawk_marks_intern(base, marks, count + 1);
}

/**
 * Moves one allocation from one trace to another; the total ever allocated stays the same. The old
 * trace goes first: if the process dies in between, the count is one too low, and never includes a
 * block without a header.
 */
static void move_allocation(uint32_t from, uint32_t to, uint64_t bytes)
{
	struct hawk_table_header *header = hawk_table_header;

	/* Counters wrap here, and wrap back when the threads' counters are added. */
	if (from) {
		hawk_counters_add_allocations(from, UINT64_MAX, 0 - bytes);
	} else {
		__atomic_fetch_sub(&header->orphan_alloc_objects, 1, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&header->orphan_alloc_bytes, bytes, __ATOMIC_RELAXED);
	}
	hawk_counters_add_allocations(to, 1, bytes);
}

void hawk_annotated_set_type(void *pointer, const char *name, size_t length)
{
	struct hawk_block_header *header = hawk_header_of(pointer);
	uint32_t label, from, to;
	uint64_t word0;

	hawk_file_check_fork();
	if (!hawk_header_valid(pointer))
		return;
	word0 = header->word0;
	from = hawk_header_trace(header->word1);
	if (hawk_header_kind(word0) == HAWK_KIND_LOADER || hawk_bootstrap_owns(pointer))
		return;
	if (from && from == hawk_sampler_skipped) /* types of the sample only, as stacks */
		return;
	label = hawk_labels_intern(HAWK_LABEL_TYPE, 0, name, length);
	to = label ? typed(from, label) : 0;
	if (!to) {
		__atomic_fetch_add(&hawk_table_header->dropped_types, 1, __ATOMIC_RELAXED);
		return;
	}
	if (to == from)
		return;
	hawk_header_seal(pointer, word0, to);
	move_allocation(from, to, hawk_header_size(word0));
	if (hawk_sampler_mean && from)
		hawk_sampler_move(from, to, hawk_header_size(word0));
}

enum { OFFSET_LOG2 = 4, PAGE_BYTES = 4096 };

static void finish(void *pointer)
{
	const struct hawk_block_header *header = hawk_header_of(pointer);
	uint64_t size = hawk_header_size(header->word0);
	uint32_t trace = hawk_header_trace(header->word1);

	hawk_record_free(trace, size);
	hawk_header_unseal(pointer);
}

static bool is_pool_object(const void *pointer)
{
	return hawk_header_valid(pointer) &&
	       hawk_header_kind(hawk_header_of(pointer)->word0) == HAWK_KIND_POOL;
}

void hawk_annotated_begin(const struct hawk_frame_state *caller, void *pointer, size_t size)
{
	uint8_t birth;

	if (!pointer || (uintptr_t)pointer % HAWK_GRANULE_BYTES || size > HAWK_SIZE_MAX / 4)
		return;
	if (is_pool_object(pointer)) /* taken back without an error */
		finish(pointer);
	else if (hawk_header_valid(pointer)) /* no room was reserved: the header belongs to the
						arena itself */
		return;
	if (!((uintptr_t)pointer % PAGE_BYTES) && !hawk_readable((uint64_t)hawk_header_of(pointer)))
		return; /* there is no room at the start of a mapping either */
	birth = __atomic_load_n(&hawk_clock_birth, __ATOMIC_RELAXED);
	hawk_record_block(caller, (struct hawk_new_block){pointer, hawk_header_word0(HAWK_KIND_POOL,
										     OFFSET_LOG2,
										     birth, size)});
}

void hawk_annotated_end(void *pointer)
{
	if (pointer && !((uintptr_t)pointer % HAWK_GRANULE_BYTES) && is_pool_object(pointer))
		finish(pointer);
}

void hawk_annotated_reset(void *start, void *end)
{
	uintptr_t at = ((uintptr_t)start + HAWK_GRANULE_BYTES - 1) & -(uintptr_t)HAWK_GRANULE_BYTES;
	const struct hawk_block_header *header = (const void *)at;

	for (; (uintptr_t)end >= HAWK_HEADER_BYTES &&
	       (uintptr_t)header <= (uintptr_t)end - HAWK_HEADER_BYTES;
	     header++) {
		if (hawk_header_kind(header->word0) == HAWK_KIND_POOL &&
		    hawk_header_is_live(&hawk_table_header->key, header->word0, header->word1,
					(uint64_t)header))
			finish((void *)(header + 1));
	}
}
