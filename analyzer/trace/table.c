/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opening a table: header, extents, arrays, modules, traces, counters, in this order, and all at
 * once, because a live process is let go soon afterwards.
 */
#include "hawk_table_state.h"

#include "hawk_cleanup.h"

#include <stdlib.h>

static void hawk_cleanup_table(struct hawk_table **table)
{
	hawk_table_close(*table);
}

static struct hawk_error *open_arrays(struct hawk_table *table)
{
	const struct hawk_table_header *header = &table->header;
	const struct hawk_table_array_shape traces = {
		.addresses = header->trace_segments,
		.segment_count = HAWK_TRACE_SEGMENTS,
		.first_log2 = HAWK_TRACE_SEGMENT_LOG2,
		.record_bytes = header->trace_record_bytes,
		.count = header->trace_count < HAWK_TABLE_TRACES_MAX ? header->trace_count
								     : HAWK_TABLE_TRACES_MAX,
	};
	const struct hawk_table_array_shape words = {
		.addresses = header->word_segments,
		.segment_count = HAWK_WORD_SEGMENTS,
		.first_log2 = HAWK_WORD_SEGMENT_LOG2,
		.record_bytes = sizeof(uint64_t),
		.count = header->word_count,
	};
	const struct hawk_table_array_shape threads = {
		.addresses = header->thread_segments,
		.segment_count = HAWK_THREAD_SEGMENTS,
		.first_log2 = HAWK_THREAD_SEGMENT_LOG2,
		.record_bytes = header->thread_slot_bytes,
		.count = header->thread_count,
	};
	const struct hawk_table_array_shape modules = {
		.addresses = header->module_segments,
		.segment_count = HAWK_MODULE_SEGMENTS,
		.first_log2 = HAWK_MODULE_SEGMENT_LOG2,
		.record_bytes = header->module_record_bytes,
		.count = header->module_count < HAWK_TABLE_MODULES_MAX ? header->module_count
								       : HAWK_TABLE_MODULES_MAX,
	};
	const struct hawk_table_array_shape labels = {
		.addresses = header->label_segments,
		.segment_count = HAWK_LABEL_SEGMENTS,
		.first_log2 = HAWK_LABEL_SEGMENT_LOG2,
		.record_bytes = sizeof(struct hawk_label_record),
		.count = header->label_count,
	};
	struct hawk_error *err;

	err = hawk_table_array_open(table->target, &traces, true, &table->traces);
	if (!err)
		err = hawk_table_array_open(table->target, &words, true, &table->words);
	/* Slots are mostly the tracer's scratch, and read only once: not captured. */
	if (!err)
		err = hawk_table_array_open(table->target, &threads, false, &table->threads);
	if (!err)
		err = hawk_table_array_open(table->target, &modules, true, &table->module_records);
	if (!err)
		err = hawk_table_array_open(table->target, &labels, true, &table->label_records);
	return err;
}

static void report_absent(struct hawk_findings *findings, const char *what, uint64_t said,
			  uint64_t there)
{
	if (said > there)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "table-records-missing*",
				  "%llu of %llu %s of the trace table are not there",
				  (unsigned long long)(said - there), (unsigned long long)said,
				  what);
}

static void clamp_counts(struct hawk_table *table, struct hawk_findings *findings)
{
	struct hawk_table_header *header = &table->header;

	/* Id 0 exists without a record. */
	if (header->trace_count > 1)
		report_absent(findings, "traces", header->trace_count, table->traces.count);
	report_absent(findings, "words", header->word_count, table->words.count);
	report_absent(findings, "thread records", header->thread_count, table->threads.count);
	report_absent(findings, "module records", header->module_count,
		      table->module_records.count);
	/* As of traces, label 0 exists without a record. */
	if (header->label_count > 1)
		report_absent(findings, "scopes and types", header->label_count,
			      table->label_records.count);
	header->trace_count = table->traces.count ? (uint32_t)table->traces.count : 1;
	header->word_count = (uint32_t)table->words.count;
	header->thread_count = (uint32_t)table->threads.count;
	header->module_count = (uint32_t)table->module_records.count;
	header->options[sizeof(header->options) - 1] = '\0';
}

/* Of a twin, everything that changes is stale. */
static void forget_contents(struct hawk_table_header *header)
{
	header->trace_count = 1;
	header->word_count = 0;
	header->thread_count = 0;
	header->module_count = 0;
	header->label_count = 0;
	header->extent_count = 0;
}

struct hawk_error *hawk_table_find(struct hawk_target *target, struct hawk_findings *findings,
				   struct hawk_table **ret)
{
	CLEANUP(table) struct hawk_table *table = calloc(1, sizeof(*table));
	CLEANUP(free_ptr) struct hawk_table_found *found = calloc(1, sizeof(*found));
	struct hawk_error *err;
	bool is_found;

	if (!table || !found)
		return &hawk_enomem;
	err = hawk_table_search(target, findings, found, &is_found);
	if (err)
		return err;
	if (!is_found) {
		*ret = NULL;
		return NULL;
	}
	table->target = target;
	table->header = found->header;
	table->is_twin = found->is_twin;
	table->repaired = found->repaired;
	table->trace_limit = found->header.trace_count;
	if (table->is_twin)
		forget_contents(&table->header);
	err = open_arrays(table);
	if (err)
		return err;
	clamp_counts(table, findings);
	err = hawk_table_load_extents(table);
	if (!err)
		err = hawk_table_load_modules(table, findings);
	if (!err)
		err = hawk_table_load_labels(table, findings);
	if (!err)
		err = hawk_table_load_traces(table, findings);
	if (!err)
		err = hawk_table_load_counters(table, findings);
	if (!err)
		err = hawk_table_load_samples(table, findings);
	if (err)
		return err;
	*ret = take_ptr(&table);
	return NULL;
}

void hawk_table_close(struct hawk_table *table)
{
	if (!table)
		return;
	hawk_table_free_modules(table);
	hawk_table_free_labels(table);
	free(table->extents);
	free(table->tails);
	free(table->counters);
	free(table);
}

const struct hawk_table_header *hawk_table_header(const struct hawk_table *table)
{
	return &table->header;
}

bool hawk_table_is_twin(const struct hawk_table *table)
{
	return table->is_twin;
}

uint32_t hawk_table_trace_limit(const struct hawk_table *table)
{
	if (table->is_twin || table->repaired)
		return UINT32_MAX;
	return table->trace_limit ? table->trace_limit : 1;
}

uint8_t hawk_table_birth_limit(const struct hawk_table *table)
{
	const uint64_t minute = 60000000000 / HAWK_BIRTH_UNIT_NS;
	uint64_t units = table->header.clock_units;

	/* Threads publish the clock without a lock: the latest reading may be lost to an older one
	 * until the next. */
	if (table->is_twin || table->repaired || units > UINT32_MAX)
		return UINT8_MAX;
	return hawk_birth_encode(2 * units + minute);
}

const struct hawk_table_extent *hawk_table_extents(const struct hawk_table *table, size_t *count)
{
	*count = table->extent_count;
	return table->extents;
}

static int compare_extents(const void *left, const void *right)
{
	const struct hawk_table_extent *a = left;
	const struct hawk_table_extent *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

struct hawk_error *hawk_table_load_extents(struct hawk_table *table)
{
	const struct hawk_table_header *header = &table->header;
	uint32_t count = header->extent_count < HAWK_TABLE_EXTENTS ? header->extent_count
								   : HAWK_TABLE_EXTENTS;

	table->extents = calloc(HAWK_TABLE_EXTENTS, sizeof(*table->extents));
	if (!table->extents)
		return &hawk_enomem;
	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_table_extent *extent = &header->extents[i];

		if (extent->kind && extent->bytes && extent->bytes <= UINT64_MAX - extent->address)
			table->extents[table->extent_count++] = *extent;
	}
	qsort(table->extents, table->extent_count, sizeof(*table->extents), compare_extents);
	return NULL;
}
