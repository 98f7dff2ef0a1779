/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sums cumulative counters: those flushed into the trace records, plus those that thread slots
 * still hold.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"

static void add(struct hawk_trace_counters *to, uint64_t objects, uint64_t bytes)
{
	to->alloc_objects += objects;
	to->alloc_bytes += bytes;
}

static void add_frees(struct hawk_trace_counters *to, uint64_t objects, uint64_t bytes)
{
	to->free_objects += objects;
	to->free_bytes += bytes;
}

static bool has_tags(const struct hawk_table *table)
{
	return table->header.incompatible_flags & HAWK_TABLE_TAGGED_COUNTERS;
}

static bool has_live_counters(const struct hawk_table *table)
{
	return has_tags(table) && table->header.compatible_flags & HAWK_TABLE_LIVE_COUNTERS;
}

/* Reads a record's counter as signed. It may be negative while a thread's entries hold the other
 * part: an allocation moved to another trace when its block's type was named, or a free was taken
 * back when realloc failed. The sum is right again. */
static uint64_t signed_part(uint64_t value, unsigned bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

static void add_record(struct hawk_table *table, uint32_t id,
		       const struct hawk_trace_record *record)
{
	struct hawk_trace_counters *counters = &table->counters[id];

	if (!has_tags(table)) {
		add(counters, record->alloc_objects, record->alloc_bytes);
		return;
	}
	add(counters,
	    signed_part(hawk_counter_objects(record->alloc_objects, record->alloc_bytes),
			HAWK_COUNTER_OBJECTS_BITS),
	    signed_part(hawk_counter_bytes(record->alloc_bytes), HAWK_COUNTER_BYTES_BITS));
	if (has_live_counters(table))
		add_frees(
			counters,
			signed_part(hawk_counter_objects(record->free_objects, record->free_bytes),
				    HAWK_COUNTER_OBJECTS_BITS),
			signed_part(hawk_counter_bytes(record->free_bytes),
				    HAWK_COUNTER_BYTES_BITS));
}

static void add_records(struct hawk_table *table)
{
	struct hawk_trace_record record;

	for (uint32_t id = 1; id < table->header.trace_count; id++)
		if (hawk_table_array_read(&table->traces, id, &record, sizeof(record)))
			add_record(table, id, &record);
}

/** The entries of one thread slot, of allocations or of frees. */
struct entries {
	uint64_t address;
	uint32_t count;
	uint32_t skipped; /* index of an entry already in the trace record; UINT32_MAX = none */
	void (*add)(struct hawk_trace_counters *to, uint64_t objects, uint64_t bytes);
};

static void add_entry(struct hawk_table *table, const struct entries *entries,
		      const struct hawk_counter_entry *entry)
{
	if (entry->trace && entry->trace < table->header.trace_count)
		entries->add(&table->counters[entry->trace], entry->objects, entry->bytes);
}

/* Adds all entries; returns false if some cannot be read. */
static bool add_entries(struct hawk_table *table, const struct entries *entries)
{
	struct hawk_counter_entry some[64];
	uint32_t count;

	for (uint32_t first = 0; first < entries->count; first += count) {
		uint64_t bytes;

		count = entries->count - first < 64 ? entries->count - first : 64;
		bytes = count * sizeof(some[0]);
		if (hawk_target_read_some(table->target, entries->address + first * sizeof(some[0]),
					  some, bytes) != bytes)
			return false;
		for (uint32_t i = 0; i < count; i++)
			if (first + i != entries->skipped)
				add_entry(table, entries, &some[i]);
	}
	return true;
}

static bool fits(const struct hawk_table *table, uint32_t offset, uint32_t count)
{
	uint64_t bytes = count * (uint64_t)sizeof(struct hawk_counter_entry);
	uint64_t slot = table->header.thread_slot_bytes;

	return offset >= HAWK_THREAD_RECORD_BYTES_MIN && offset <= slot && bytes <= slot - offset;
}

/* Returns true if the trace's counters already have the flush that a thread was making when the
 * process died. */
static bool was_applied(const struct hawk_table *table, uint32_t slot, uint64_t flush,
			bool of_frees)
{
	struct hawk_trace_record record;

	if (flush & HAWK_FLUSH_APPLIED)
		return true;
	return hawk_table_array_read(&table->traces, flush >> HAWK_FLUSH_TRACE_SHIFT, &record,
				     sizeof(record)) &&
	       hawk_counter_tag(of_frees ? record.free_objects : record.alloc_objects) ==
		       hawk_flush_tag(flush, slot);
}

static void skip_applied(const struct hawk_table *table, uint32_t slot,
			 const struct hawk_thread_record *record, struct entries *allocations,
			 struct entries *frees)
{
	uint32_t entry = hawk_flush_entry(record->flush);
	bool of_frees = entry >= record->counter_count;

	if (!has_tags(table) || !(record->flush & HAWK_FLUSH_PENDING) ||
	    !was_applied(table, slot, record->flush, of_frees))
		return;
	if (of_frees)
		frees->skipped = entry - record->counter_count;
	else
		allocations->skipped = entry;
}

/* Reads slot `index`. Fields that older tables lack are 0: their counters begin there. */
static bool read_slot(const struct hawk_table *table, uint32_t index,
		      struct hawk_thread_record *ret)
{
	uint32_t known = table->threads.record_bytes;

	*ret = (struct hawk_thread_record){0};
	if (known > sizeof(*ret))
		known = sizeof(*ret);
	if (!hawk_table_array_read(&table->threads, index, ret, known))
		return false;
	if (ret->counter_offset >= HAWK_THREAD_RECORD_BYTES_MIN && ret->counter_offset < known)
		memset((char *)ret + ret->counter_offset, 0, known - ret->counter_offset);
	return true;
}

/* Adds a slot; returns false if it is damaged. */
static bool add_slot(struct hawk_table *table, uint32_t index)
{
	struct entries allocations = {.skipped = UINT32_MAX, .add = add};
	struct entries frees = {.skipped = UINT32_MAX, .add = add_frees};
	struct hawk_thread_record record;
	uint64_t address;

	if (!read_slot(table, index, &record) ||
	    !hawk_table_array_address(&table->threads, index, &address))
		return true; /* was reported when the array was opened */
	if (record.state == HAWK_THREAD_UNUSED)
		return true;
	if (record.state != HAWK_THREAD_LIVE && record.state != HAWK_THREAD_FREE)
		return false;
	table->totals.slots++;
	table->totals.free_objects += record.free_objects;
	table->totals.free_bytes += record.free_bytes;
	add(&table->counters[0], record.alloc_objects_untraced, record.alloc_bytes_untraced);
	if (!fits(table, record.counter_offset, record.counter_count))
		return false;
	table->header.dropped_objects += record.dropped_objects;
	table->header.dropped_bytes += record.dropped_bytes;
	table->totals.threads += record.users;
	allocations.address = address + record.counter_offset;
	allocations.count = record.counter_count;
	if (has_live_counters(table)) {
		if (record.free_count && !fits(table, record.free_offset, record.free_count))
			return false;
		frees.address = address + record.free_offset;
		frees.count = record.free_count;
	}
	skip_applied(table, index, &record, &allocations, &frees);
	return add_entries(table, &allocations) && add_entries(table, &frees);
}

static uint64_t sum_extents(const struct hawk_table *table)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->extent_count; i++)
		if (__builtin_add_overflow(sum, table->extents[i].bytes, &sum))
			return UINT64_MAX;
	return sum;
}

/* Adds frees of blocks without a stack, which only the totals have. */
static void add_untraced_frees(struct hawk_table *table)
{
	struct hawk_trace_counters *none = &table->counters[0];
	uint64_t objects = 0, bytes = 0;

	for (uint32_t id = 1; id < table->header.trace_count; id++) {
		objects += table->counters[id].free_objects;
		bytes += table->counters[id].free_bytes;
	}
	if (table->totals.free_objects > objects)
		none->free_objects = table->totals.free_objects - objects;
	if (table->totals.free_bytes > bytes)
		none->free_bytes = table->totals.free_bytes - bytes;
}

/* Sets negative counters to 0: the process died while moving an allocation, or taking a free back,
 * that it had only begun to count. */
static void forget_less_than_nothing(struct hawk_trace_counters *counters)
{
	if ((int64_t)counters->alloc_objects < 0)
		counters->alloc_objects = 0;
	if ((int64_t)counters->alloc_bytes < 0)
		counters->alloc_bytes = 0;
	if ((int64_t)counters->free_objects < 0)
		counters->free_objects = 0;
	if ((int64_t)counters->free_bytes < 0)
		counters->free_bytes = 0;
}

static void sum_totals(struct hawk_table *table)
{
	struct hawk_table_totals *totals = &table->totals;

	for (uint32_t id = 0; id < table->header.trace_count; id++) {
		forget_less_than_nothing(&table->counters[id]);
		totals->alloc_objects += table->counters[id].alloc_objects;
		totals->alloc_bytes += table->counters[id].alloc_bytes;
	}
	totals->free_objects += table->header.orphan_free_objects;
	totals->free_bytes += table->header.orphan_free_bytes;
	if (has_live_counters(table))
		add_untraced_frees(table);
	if (totals->threads < totals->slots)
		totals->threads = 0; /* not known: an older or damaged table */
	totals->tracer_bytes = sum_extents(table);
}

/* Finds alternate stacks of live threads: the kernel forgets those of ended ones. */
static struct hawk_error *find_signal_stacks(struct hawk_table *table)
{
	for (uint32_t i = 0; i < table->header.thread_count; i++) {
		struct hawk_thread_record record;

		if (!read_slot(table, i, &record) || record.state != HAWK_THREAD_LIVE ||
		    !record.signal_stack)
			continue;
		if (!hawk_array_reserve(&table->signal_stacks, table->signal_stack_count,
					&table->signal_stack_capacity,
					sizeof(*table->signal_stacks)))
			return &hawk_enomem;
		table->signal_stacks[table->signal_stack_count++] =
			(struct hawk_table_signal_stack){record.signal_stack, record.tid};
	}
	return NULL;
}

const struct hawk_table_signal_stack *hawk_table_signal_stacks(const struct hawk_table *table,
							       size_t *count)
{
	*count = table->signal_stack_count;
	return table->signal_stacks;
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
	return find_signal_stacks(table);
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
