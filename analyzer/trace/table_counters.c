/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cumulative counters: what was flushed into the trace records, plus what every thread slot still
 * holds.
 */
#include "hawk_table_state.h"

#include <stdlib.h>
#include <string.h>

static void add(struct hawk_trace_counters *to, uint64_t objects, uint64_t bytes)
{
	to->alloc_objects += objects;
	to->alloc_bytes += bytes;
}

static void add_records(struct hawk_table *table)
{
	struct hawk_trace_record record;

	for (uint32_t id = 1; id < table->header.trace_count; id++)
		if (hawk_table_array_read(&table->traces, id, &record, sizeof(record)) &&
		    (record.alloc_objects || record.alloc_bytes))
			add(&table->counters[id], record.alloc_objects, record.alloc_bytes);
}

static void add_entry(struct hawk_table *table, const struct hawk_counter_entry *entry)
{
	if (entry->trace && entry->trace < table->header.trace_count)
		add(&table->counters[entry->trace], entry->objects, entry->bytes);
}

/* The counter entries of the slot at `address`. False if they cannot all be read. */
static bool add_entries(struct hawk_table *table, uint64_t address, uint32_t count)
{
	struct hawk_counter_entry entries[64];

	while (count) {
		uint32_t some = count < 64 ? count : 64;
		uint64_t bytes = some * sizeof(entries[0]);

		if (hawk_target_read_some(table->target, address, entries, bytes) != bytes)
			return false;
		for (uint32_t i = 0; i < some; i++)
			add_entry(table, &entries[i]);
		address += bytes;
		count -= some;
	}
	return true;
}

static bool entries_fit(const struct hawk_table *table, const struct hawk_thread_record *record)
{
	uint64_t bytes = record->counter_count * (uint64_t)sizeof(struct hawk_counter_entry);
	uint64_t slot = table->header.thread_slot_bytes;

	return record->counter_offset >= sizeof(*record) && record->counter_offset <= slot &&
	       bytes <= slot - record->counter_offset;
}

/* False if the slot is damaged. */
static bool add_slot(struct hawk_table *table, uint32_t index)
{
	struct hawk_thread_record record;
	uint64_t address;

	if (!hawk_table_array_read(&table->threads, index, &record, sizeof(record)) ||
	    !hawk_table_array_address(&table->threads, index, &address))
		return true; /* was reported when the array was opened */
	if (record.state == HAWK_THREAD_UNUSED)
		return true;
	if (record.state != HAWK_THREAD_LIVE && record.state != HAWK_THREAD_FREE)
		return false;
	table->totals.free_objects += record.free_objects;
	table->totals.free_bytes += record.free_bytes;
	add(&table->counters[0], record.alloc_objects_untraced, record.alloc_bytes_untraced);
	return entries_fit(table, &record) &&
	       add_entries(table, address + record.counter_offset, record.counter_count);
}

static uint64_t sum_extents(const struct hawk_table *table)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->extent_count; i++)
		if (__builtin_add_overflow(sum, table->extents[i].bytes, &sum))
			return UINT64_MAX;
	return sum;
}

static void sum_totals(struct hawk_table *table)
{
	struct hawk_table_totals *totals = &table->totals;

	for (uint32_t id = 0; id < table->header.trace_count; id++) {
		totals->alloc_objects += table->counters[id].alloc_objects;
		totals->alloc_bytes += table->counters[id].alloc_bytes;
	}
	totals->free_objects += table->header.orphan_free_objects;
	totals->free_bytes += table->header.orphan_free_bytes;
	totals->threads = table->header.thread_count;
	totals->tracer_bytes = sum_extents(table);
}

struct hawk_error *hawk_table_load_counters(struct hawk_table *table,
					    struct hawk_findings *findings)
{
	const struct hawk_table_header *header = &table->header;

	table->counters = calloc(header->trace_count, sizeof(*table->counters));
	if (!table->counters)
		return &hawk_enomem;
	if (table->is_twin)
		return NULL;
	add_records(table);
	add(&table->counters[0], header->orphan_alloc_objects, header->orphan_alloc_bytes);
	for (uint32_t i = 0; i < header->thread_count; i++)
		table->totals.damaged_threads += !add_slot(table, i);
	if (table->totals.damaged_threads)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "table-thread-damaged",
				  "%llu thread records of the trace table are damaged; cumulative "
				  "counts are too low",
				  (unsigned long long)table->totals.damaged_threads);
	sum_totals(table);
	return NULL;
}

struct hawk_error *hawk_table_counters(const struct hawk_table *table,
				       struct hawk_trace_counters **ret)
{
	size_t bytes = table->header.trace_count * sizeof(**ret);
	struct hawk_trace_counters *copy = malloc(bytes);

	if (!copy)
		return &hawk_enomem;
	memcpy(copy, table->counters, bytes);
	*ret = copy;
	return NULL;
}

struct hawk_table_totals hawk_table_totals(const struct hawk_table *table)
{
	return table->totals;
}
