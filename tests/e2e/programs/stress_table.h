/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tracer's table as the process that it counts for finds it in its own memory, and its sums at
 * any instant. Only for stress_step.c, which has the trap flag set meanwhile.
 */
#ifndef STRESS_TABLE_H
#define STRESS_TABLE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hawk_trace_table.h"

static const struct hawk_table_header *table;

/** Fills `table`, or returns false. */
static bool find_table(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end;
	char line[512], rights[8];

	while (maps && !table && fgets(line, sizeof(line), maps)) {
		const struct hawk_table_header *at;

		if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 ||
		    strncmp(rights, "rw-", 3) || end - start > 1 << 30)
			continue;
		for (; start + sizeof(*at) <= end && !table; start += HAWK_TABLE_ALIGNMENT) {
			at = (const void *)start;
			if (at->magic == hawk_table_magic() && at->self_address == start &&
			    at->primary_address == start)
				table = at;
		}
	}
	if (maps)
		fclose(maps);
	return table;
}

/** Calls and bytes, of allocations and of frees. */
struct sums {
	uint64_t alloc_objects, alloc_bytes, free_objects, free_bytes;
};

static const void *element(const uint64_t *segments, uint64_t index, unsigned first_log2,
			   size_t bytes)
{
	unsigned segment = hawk_segment_of(index, first_log2);

	return (const char *)segments[segment] +
	       (index - hawk_segment_first(segment, first_log2)) * bytes;
}

static const struct hawk_thread_record *thread_at(uint32_t index)
{
	return element(table->thread_segments, index, HAWK_THREAD_SEGMENT_LOG2,
		       table->thread_slot_bytes);
}

static const struct hawk_trace_record *trace_at(uint32_t id)
{
	return element(table->trace_segments, id, HAWK_TRACE_SEGMENT_LOG2,
		       sizeof(struct hawk_trace_record));
}

/** Entry that the record has already, of the flush that is going on; UINT32_MAX = none. */
static uint32_t applied_entry(const struct hawk_thread_record *thread, uint32_t index)
{
	const struct hawk_trace_record *record;
	uint32_t entry = hawk_flush_entry(thread->flush);
	uint64_t word0;

	if (!(thread->flush & HAWK_FLUSH_PENDING))
		return UINT32_MAX;
	record = trace_at((uint32_t)(thread->flush >> HAWK_FLUSH_TRACE_SHIFT));
	word0 = entry < thread->counter_count ? record->alloc_objects : record->free_objects;
	return thread->flush & HAWK_FLUSH_APPLIED ||
			       hawk_counter_tag(word0) == hawk_flush_tag(thread->flush, index)
		       ? entry
		       : UINT32_MAX;
}

static void add_thread(struct sums *sums, uint32_t index)
{
	const struct hawk_thread_record *thread = thread_at(index);
	const struct hawk_counter_entry *allocations =
		(const void *)((const char *)thread + thread->counter_offset);
	const struct hawk_counter_entry *frees =
		(const void *)((const char *)thread + thread->free_offset);
	uint32_t applied = applied_entry(thread, index);

	sums->alloc_objects += thread->alloc_objects_untraced;
	sums->alloc_bytes += thread->alloc_bytes_untraced;
	for (uint32_t i = 0; i < thread->counter_count; i++) {
		if (!allocations[i].trace || i == applied)
			continue;
		sums->alloc_objects += allocations[i].objects;
		sums->alloc_bytes += allocations[i].bytes;
	}
	for (uint32_t i = 0; i < thread->free_count; i++) {
		if (!frees[i].trace || i + thread->counter_count == applied)
			continue;
		sums->free_objects += frees[i].objects;
		sums->free_bytes += frees[i].bytes;
	}
}

static struct sums add_up(void)
{
	struct sums sums = {.alloc_objects = table->orphan_alloc_objects,
			    .alloc_bytes = table->orphan_alloc_bytes};

	for (uint32_t i = 0; i < table->thread_count; i++)
		add_thread(&sums, i);
	for (uint32_t i = 1; i < table->trace_count; i++) {
		const struct hawk_trace_record *record = trace_at(i);

		sums.alloc_objects +=
			hawk_counter_objects(record->alloc_objects, record->alloc_bytes);
		sums.alloc_bytes += hawk_counter_bytes(record->alloc_bytes);
		sums.free_objects += hawk_counter_objects(record->free_objects, record->free_bytes);
		sums.free_bytes += hawk_counter_bytes(record->free_bytes);
	}
	return sums;
}

/** Blocks that count as live, whatever their traces; where nobody is in a call. */
static uint64_t count_live(void)
{
	uint64_t live = add_up().alloc_objects - table->orphan_free_objects;

	for (uint32_t i = 0; i < table->thread_count; i++)
		live -= thread_at(i)->free_objects;
	return live;
}

static uint64_t count_dropped(void)
{
	uint64_t sum = table->dropped_objects;

	for (uint32_t i = 0; i < table->thread_count; i++)
		sum += thread_at(i)->dropped_objects;
	return sum;
}

#endif
