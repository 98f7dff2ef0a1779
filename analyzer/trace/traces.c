/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Traces: every record is checked once when the table is opened, so that frames are collected
 * without further checks. Labels: the scopes and types named by the program. An invalid label is
 * dropped, with a finding; references to it have no name. A usable scope's parent is a usable scope
 * with a smaller id, so that walks outwards end.
 *
 * A tracer may attach each new stack to the thread's previous one, so a tail can pass through any
 * number of traces that own none of its frames. `tails` skips them: its entry for a trace names the
 * first one on the way that owns a frame of the tail, and tail_count falls at every step.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

enum { NO_TAIL = 1 };

/* Upper limit on steps of all searches for owners, which a forged table may make long. */
static const uint64_t STEPS_MAX = UINT64_C(1) << 28;

static bool read_trace(const struct hawk_table *table, uint32_t id, struct hawk_trace_record *ret)
{
	return hawk_table_array_read(&table->traces, id, ret, sizeof(*ret));
}

/* Reads word `i` of the record's own words. */
static bool read_word(const struct hawk_table *table, const struct hawk_trace_record *record,
		      uint32_t i, uint64_t *ret)
{
	return hawk_table_array_read(&table->words, (uint64_t)record->word_index + i, ret,
				     sizeof(*ret));
}

/* Returns true if a marked trace's own words are marks. */
static bool marks_usable(const struct hawk_table *table, const struct hawk_trace_record *record)
{
	uint64_t word;

	if (record->own_count > HAWK_TRACE_MARKS_MAX)
		return false;
	for (uint32_t i = 0; i < record->own_count; i++)
		if (!read_word(table, record, i, &word) || word >> 48 != HAWK_MARK_BIT >> 48)
			return false;
	return true;
}

/* Fills to->marks; its frames are set already. */
static void read_marks(const struct hawk_table *table, const struct hawk_trace_record *record,
		       struct hawk_trace *to)
{
	for (uint32_t i = 0; i < record->own_count && i < HAWK_TRACE_MARKS_MAX; i++) {
		struct hawk_trace_mark *mark = &to->marks[to->mark_count];
		uint64_t word;

		if (!read_word(table, record, i, &word))
			return;
		if (!hawk_table_label(table, hawk_mark_label(word)))
			continue; /* damaged: was reported */
		mark->label = hawk_mark_label(word);
		mark->frames_outside = hawk_mark_frames_outside(word);
		if (mark->frames_outside > to->frame_count)
			mark->frames_outside = HAWK_MARK_UNPLACED;
		to->mark_count++;
	}
}

static bool words_are_there(const struct hawk_table *table, const struct hawk_trace_record *record)
{
	uint64_t end = (uint64_t)record->word_index + record->own_count;
	uint64_t address;

	/* Words may continue in the next segment. If the end of the first one is missing,
	 * collecting the frames fails. */
	return hawk_table_array_address(&table->words, record->word_index, &address) &&
	       hawk_table_array_address(&table->words, end - 1, &address);
}

/* Returns the trace that owns the innermost of the outermost `frames` frames of usable trace `id`;
 * 0 = it has fewer. */
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

/* Checks a marked trace: its tail is all of an unmarked trace, or nothing. */
static uint32_t check_marked(const struct hawk_table *table, uint32_t id,
			     const struct hawk_trace_record *record)
{
	struct hawk_trace_record tail;

	if (!record->own_count || !marks_usable(table, record))
		return 0;
	if (!record->tail_trace)
		return record->tail_count ? 0 : NO_TAIL;
	if (record->tail_trace >= id || !table->tails[record->tail_trace] ||
	    !read_trace(table, record->tail_trace, &tail) || tail.flags & HAWK_TRACE_MARKED ||
	    (uint32_t)tail.own_count + tail.tail_count != record->tail_count)
		return 0;
	return record->tail_trace + 1;
}

/* Returns the entry for `tails`; 0 = damaged. */
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

/* Appends `count` words of the record, without the first `skip`, to the frames. */
static bool append_words(const struct hawk_table *table, const struct hawk_trace_record *record,
			 uint32_t skip, struct hawk_trace *to)
{
	for (uint32_t i = skip; i < record->own_count; i++) {
		uint64_t *frame = &to->frames[to->frame_count];

		if (to->frame_count == HAWK_TRACE_DEPTH_MAX || !read_word(table, record, i, frame))
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
	if (!table || id >= table->header.trace_count || !table->tails[id] ||
	    !read_trace(table, id, &record))
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
		read_marks(table, &record, ret);
	return true;
}

void hawk_table_free_labels(struct hawk_table *table)
{
	for (size_t i = 0; i < table->label_count; i++)
		free(table->labels[i].name);
	free(table->labels);
}

static bool is_usable(const struct hawk_table *table, uint32_t id,
		      const struct hawk_label_record *record)
{
	if (record->name_bytes > HAWK_LABEL_NAME_BYTES_MAX)
		return false;
	if (record->kind == HAWK_LABEL_TYPE)
		return !record->parent;
	return record->kind == HAWK_LABEL_SCOPE &&
	       (!record->parent ||
		(record->parent < id && table->labels[record->parent].kind == HAWK_LABEL_SCOPE));
}

static struct hawk_error *fill_label(struct hawk_table *table, uint32_t id,
				     const struct hawk_label_record *record)
{
	struct hawk_table_label *label = &table->labels[id];

	label->name = hawk_table_copy_text(table, record->name_index, record->name_bytes);
	if (!label->name)
		return &hawk_enomem;
	label->kind = record->kind;
	label->parent = record->parent;
	label->depth = record->parent ? table->labels[record->parent].depth + 1 : 0;
	label->entries = record->entries;
	label->total_ns = record->total_ns;
	return NULL;
}

struct hawk_error *hawk_table_load_labels(struct hawk_table *table, struct hawk_findings *findings)
{
	uint32_t count = (uint32_t)table->label_records.count;
	uint64_t damaged = 0;

	if (!count)
		return NULL;
	table->labels = calloc(count, sizeof(*table->labels));
	if (!table->labels)
		return &hawk_enomem;
	table->label_count = count;
	for (uint32_t id = 1; id < count; id++) {
		struct hawk_label_record record;
		struct hawk_error *err;

		/* No hash: the process died before the record was published. */
		if (!hawk_table_array_read(&table->label_records, id, &record, sizeof(record)) ||
		    !record.hash)
			continue;
		if (!is_usable(table, id, &record)) {
			damaged++;
			continue;
		}
		err = fill_label(table, id, &record);
		if (err)
			return err;
	}
	if (damaged)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "table-label-damaged",
				  "%llu of %u scopes and types in the trace table are damaged",
				  (unsigned long long)damaged, count - 1);
	return NULL;
}

const struct hawk_table_label *hawk_table_label(const struct hawk_table *table, uint32_t id)
{
	return table && id < table->label_count && table->labels[id].kind ? &table->labels[id]
									  : NULL;
}

uint32_t hawk_table_label_count(const struct hawk_table *table)
{
	return table ? table->label_count : 0;
}

/* Returns the label of `kind` in the trace's first such mark; 0 = none. */
static uint32_t find_label(const struct hawk_table *table, uint32_t trace, uint32_t kind)
{
	struct hawk_trace_record record;
	uint64_t word;

	if (!table || !table->label_count || trace >= table->header.trace_count ||
	    !table->tails[trace] || !read_trace(table, trace, &record) ||
	    !(record.flags & HAWK_TRACE_MARKED))
		return 0;
	for (uint32_t i = 0; i < record.own_count; i++) {
		const struct hawk_table_label *label;

		if (!read_word(table, &record, i, &word))
			return 0;
		label = hawk_table_label(table, hawk_mark_label(word));
		if (label && label->kind == kind)
			return hawk_mark_label(word);
	}
	return 0;
}

const char *hawk_table_type(const struct hawk_table *table, uint32_t trace)
{
	const struct hawk_table_label *label =
		hawk_table_label(table, find_label(table, trace, HAWK_LABEL_TYPE));

	return label ? label->name : NULL;
}

uint32_t hawk_table_scope(const struct hawk_table *table, uint32_t trace)
{
	return find_label(table, trace, HAWK_LABEL_SCOPE);
}
