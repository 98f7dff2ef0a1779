/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Traces: every record is checked once when the table is opened, then frames are collected without
 * further doubts.
 *
 * A tracer may hang each new stack onto the thread's previous one, so that a tail leads through any
 * number of traces that own none of its frames. `tails` skips them: its entry for a trace names
 * the first one on the way that owns a frame of the tail, and tail_count falls at every step.
 */
#include "hawk_table_state.h"

#include <stdlib.h>

enum { NO_TAIL = 1 };

/* A forged table of many records may make each search for an owner long: this many steps in all. */
static const uint64_t STEPS_MAX = UINT64_C(1) << 28;

static bool read_trace(const struct hawk_table *table, uint32_t id, struct hawk_trace_record *ret)
{
	return hawk_table_array_read(&table->traces, id, ret, sizeof(*ret));
}

static bool words_are_there(const struct hawk_table *table, const struct hawk_trace_record *record)
{
	uint64_t end = (uint64_t)record->word_index + record->own_count;
	uint64_t address;

	/* Words may run on into the next segment; if only the end of the first one is missing,
	 * collecting the frames says so. */
	return hawk_table_array_address(&table->words, record->word_index, &address) &&
	       hawk_table_array_address(&table->words, end - 1, &address);
}

/* The trace that owns the innermost of the outermost `frames` frames of usable trace `id`; 0 = it
 * has not so many. */
static uint32_t find_owner(const struct hawk_table *table, uint32_t id, uint32_t frames,
			   uint64_t *steps)
{
	struct hawk_trace_record record;

	if (!read_trace(table, id, &record) || record.flags & HAWK_TRACE_MARKED ||
	    frames > (uint32_t)record.own_count + record.tail_count)
		return 0;
	while (frames <= record.tail_count) {
		id = table->tails[id] - 1;
		if (++*steps > STEPS_MAX || !read_trace(table, id, &record))
			return 0;
	}
	return id;
}

/* The same for a marked trace: its tail is all of another one that is not marked, or nothing. */
static uint32_t check_marked(const struct hawk_table *table, uint32_t id,
			     const struct hawk_trace_record *record)
{
	struct hawk_trace_record tail;

	if (!record->own_count || !hawk_table_marks_usable(table, record))
		return 0;
	if (!record->tail_trace)
		return record->tail_count ? 0 : NO_TAIL;
	if (record->tail_trace >= id || !table->tails[record->tail_trace] ||
	    !read_trace(table, record->tail_trace, &tail) || tail.flags & HAWK_TRACE_MARKED ||
	    (uint32_t)tail.own_count + tail.tail_count != record->tail_count)
		return 0;
	return record->tail_trace + 1;
}

/* What to write into `tails`; 0 = damaged. */
static uint32_t check_record(const struct hawk_table *table, uint32_t id,
			     const struct hawk_trace_record *record, uint64_t *steps)
{
	uint32_t owner;

	if (record->flags & HAWK_TRACE_MARKED)
		return check_marked(table, id, record);
	if (!record->own_count ||
	    (uint32_t)record->own_count + record->tail_count > HAWK_TRACE_DEPTH_MAX ||
	    !words_are_there(table, record))
		return 0;
	if (!record->tail_count)
		return NO_TAIL;
	if (!record->tail_trace || record->tail_trace >= id || !table->tails[record->tail_trace])
		return 0;
	owner = find_owner(table, record->tail_trace, record->tail_count, steps);
	return owner ? owner + 1 : 0;
}

struct hawk_error *hawk_table_load_traces(struct hawk_table *table, struct hawk_findings *findings)
{
	uint32_t count = table->header.trace_count;
	uint64_t damaged = 0;
	uint64_t steps = 0;

	table->tails = calloc(count, sizeof(*table->tails));
	if (!table->tails)
		return &hawk_enomem;
	for (uint32_t id = 1; id < count; id++) {
		struct hawk_trace_record record;
		uint32_t tail;

		/* No hash: the process died before the record was published. */
		if (!read_trace(table, id, &record) || !record.hash)
			continue;
		tail = check_record(table, id, &record, &steps);
		if (tail)
			table->tails[id] = tail;
		else
			damaged++;
	}
	table->totals.damaged_traces = damaged;
	if (damaged)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "trace-damaged",
				  "%llu of %u stacks in the trace table are damaged or cut off",
				  (unsigned long long)damaged, count - 1);
	return NULL;
}

/* `count` words of the record, `skip` of them left out, behind the frames that are there. */
static bool append_words(const struct hawk_table *table, const struct hawk_trace_record *record,
			 uint32_t skip, struct hawk_trace *to)
{
	for (uint32_t i = skip; i < record->own_count; i++) {
		uint64_t *frame = &to->frames[to->frame_count];

		if (to->frame_count == HAWK_TRACE_DEPTH_MAX ||
		    !hawk_table_array_read(&table->words, (uint64_t)record->word_index + i, frame,
					   sizeof(*frame)))
			return false;
		to->frame_count++;
	}
	return true;
}

static bool collect(const struct hawk_table *table, uint32_t id, struct hawk_trace *ret)
{
	struct hawk_trace_record record;
	uint32_t skip = 0;

	for (;;) {
		uint32_t tail;
		uint32_t next = table->tails[id] - 1;

		if (!read_trace(table, id, &record) || !append_words(table, &record, skip, ret))
			return false;
		tail = record.tail_count;
		if (!tail)
			return true;
		id = next;
		if (!read_trace(table, id, &record) || tail <= record.tail_count)
			return false;
		skip = record.own_count + record.tail_count - tail;
	}
}

bool hawk_table_trace(const struct hawk_table *table, uint32_t id, struct hawk_trace *ret)
{
	struct hawk_trace_record record;

	ret->id = id;
	ret->generation = 0;
	ret->flags = 0;
	ret->frame_count = 0;
	ret->mark_count = 0;
	if (id >= table->header.trace_count || !table->tails[id] || !read_trace(table, id, &record))
		return false;
	ret->generation = record.generation;
	ret->flags = record.flags;
	if (record.flags & HAWK_TRACE_NOT_SAMPLED)
		return false;
	if (record.flags & HAWK_TRACE_MARKED)
		id = table->tails[id] - 1; /* 0: without a stack */
	if (id && !collect(table, id, ret)) {
		ret->frame_count = 0;
		return false;
	}
	if (record.flags & HAWK_TRACE_MARKED)
		hawk_table_read_marks(table, &record, ret);
	return true;
}
