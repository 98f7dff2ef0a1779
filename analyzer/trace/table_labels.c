/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Labels: the scopes and types that the program has named.
 *
 * A label that cannot be is left out, with a finding; whatever refers to it then has no name. A
 * usable scope's parent is a usable scope with a smaller id, so that going outwards ends.
 */
#include "hawk_table_state.h"

#include <stdlib.h>
#include <string.h>

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
	return id < table->label_count && table->labels[id].kind ? &table->labels[id] : NULL;
}

uint32_t hawk_table_label_count(const struct hawk_table *table)
{
	return table->label_count;
}

static bool read_marked(const struct hawk_table *table, uint32_t trace,
			struct hawk_trace_record *record)
{
	return trace < table->header.trace_count && table->tails[trace] &&
	       hawk_table_array_read(&table->traces, trace, record, sizeof(*record)) &&
	       record->flags & HAWK_TRACE_MARKED;
}

/* The first mark of the trace with a label of `kind`; 0 = none. */
static uint32_t find_label(const struct hawk_table *table, uint32_t trace, uint32_t kind)
{
	struct hawk_trace_record record;
	uint64_t word;

	if (!table->label_count || !read_marked(table, trace, &record))
		return 0;
	for (uint32_t i = 0; i < record.own_count; i++) {
		const struct hawk_table_label *label;

		if (!hawk_table_array_read(&table->words, (uint64_t)record.word_index + i, &word,
					   sizeof(word)))
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

bool hawk_table_marks_usable(const struct hawk_table *table, const struct hawk_trace_record *record)
{
	uint64_t word;

	if (record->own_count > HAWK_TRACE_MARKS_MAX)
		return false;
	for (uint32_t i = 0; i < record->own_count; i++)
		if (!hawk_table_array_read(&table->words, (uint64_t)record->word_index + i, &word,
					   sizeof(word)) ||
		    word >> 48 != HAWK_MARK_BIT >> 48)
			return false;
	return true;
}

void hawk_table_read_marks(const struct hawk_table *table, const struct hawk_trace_record *record,
			   struct hawk_trace *to)
{
	for (uint32_t i = 0; i < record->own_count && i < HAWK_TRACE_MARKS_MAX; i++) {
		struct hawk_trace_mark *mark = &to->marks[to->mark_count];
		uint64_t word;

		if (!hawk_table_array_read(&table->words, (uint64_t)record->word_index + i, &word,
					   sizeof(word)))
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
