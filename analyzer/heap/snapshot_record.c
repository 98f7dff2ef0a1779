/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Saves and reads the sums of a heap, and sites if it has no blocks.
 */
#include "snapshot.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

#define SUM(member)     offsetof(struct hawk_heap_record, sums.member)
#define ACCOUNT(member) offsetof(struct hawk_heap_record, accounting.member)

/* The numbers in file order. Later versions may append more, which a reader skips. */
static const size_t numbers[] = {
	offsetof(struct hawk_heap_record, blocks),
	SUM(blocks),
	SUM(bytes),
	SUM(carved_objects),
	SUM(carved_bytes),
	offsetof(struct hawk_heap_record, overlapping),
	offsetof(struct hawk_heap_record, implausible),
	SUM(clipped),
	SUM(header_bytes),
	offsetof(struct hawk_heap_record, reserved),
	offsetof(struct hawk_heap_record, reserved),
	offsetof(struct hawk_heap_record, reserved),
	ACCOUNT(requested_bytes),
	ACCOUNT(header_bytes),
	ACCOUNT(heap_bytes),
	ACCOUNT(never_used_bytes),
	ACCOUNT(overhead_bytes),
	ACCOUNT(writable_bytes),
	ACCOUNT(touched_bytes),
	ACCOUNT(tracer_bytes),
	ACCOUNT(tracer_touched_bytes),
	ACCOUNT(other_bytes),
	ACCOUNT(untouched_bytes),     /* older files end before it */
	ACCOUNT(outside.stack_bytes), /* or before this */
	ACCOUNT(outside.ended_stacks),
	ACCOUNT(outside.ended_stack_bytes),
	ACCOUNT(outside.unknown_bytes),
};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/** A site's numbers in file order. */
static const size_t site_numbers[] = {
	offsetof(struct hawk_site, id),
	offsetof(struct hawk_site, inuse_objects),
	offsetof(struct hawk_site, inuse_bytes),
	offsetof(struct hawk_site, alloc_objects),
	offsetof(struct hawk_site, alloc_bytes),
	offsetof(struct hawk_site, oldest_units),
	offsetof(struct hawk_site, newest_units),
	offsetof(struct hawk_site, sample.inuse_objects),
	offsetof(struct hawk_site, sample.inuse_bytes),
	offsetof(struct hawk_site, sample.alloc_objects),
	offsetof(struct hawk_site, sample.alloc_bytes),
	offsetof(struct hawk_site, sample.inuse_objects_error),
	offsetof(struct hawk_site, sample.inuse_bytes_error),
	offsetof(struct hawk_site, sample.alloc_bytes_error),
};

enum { SITE_NUMBERS = sizeof(site_numbers) / sizeof(site_numbers[0]) };

static void put_sites(struct hawk_column *to, const struct hawk_heap_record *record)
{
	hawk_column_put(to, record->site_count);
	for (size_t i = 0; i < record->site_count; i++) {
		hawk_column_put(to, record->sites[i].trace);
		hawk_column_put(to, record->sites[i].sample.estimated);
		hawk_column_put_numbers(to, &record->sites[i], site_numbers, SITE_NUMBERS);
	}
	hawk_column_put(to, record->trace_count);
	for (uint32_t i = 0; i < record->trace_count; i++)
		hawk_column_put(to, (uint64_t)record->site_of_trace[i] + 1);
	hawk_column_put(to, (uint64_t)record->lost_site + 1);
}

struct hawk_error *hawk_heap_record_save(const struct hawk_heap_record *record,
					 const struct hawk_target *target,
					 struct hawk_snapshot_writer *writer)
{
	CLEANUP(column) struct hawk_column to = {0};
	struct hawk_snapshot_piece piece = {.items = 1};

	hawk_column_put(&to, record->knows);
	hawk_column_put(&to, record->accounting.measured);
	hawk_column_put(&to, NUMBERS);
	hawk_column_put_numbers(&to, record, numbers, NUMBERS);
	if (!(record->knows & HAWK_HEAP_BLOCKS))
		put_sites(&to, record);
	hawk_heap_parts_put(record, target, &to);
	piece.column = to;
	return hawk_snapshot_put(writer, HAWK_SNAPSHOT_HEAP, &piece);
}

/* Reads an index of a site, or UINT32_MAX; the file stores it plus one. */
static uint32_t get_site(struct hawk_cursor *from, size_t count)
{
	uint64_t value = hawk_column_get_below(from, (uint64_t)UINT32_MAX + 1);

	if (value > count && value != (uint64_t)UINT32_MAX + 1)
		from->failed = true;
	return (uint32_t)(value - 1);
}

static struct hawk_error *get_sites(struct hawk_cursor *from, struct hawk_heap_record *record)
{
	record->site_count = hawk_column_get_count(from);
	record->sites = calloc(record->site_count + 1, sizeof(*record->sites));
	if (!record->sites)
		return &hawk_enomem;
	for (size_t i = 0; i < record->site_count && !from->failed; i++) {
		struct hawk_site *site = &record->sites[i];

		site->trace = (uint32_t)hawk_column_get_below(from, UINT32_MAX);
		site->sample.estimated = hawk_column_get_below(from, 1);
		hawk_column_get_numbers(from, site, site_numbers, SITE_NUMBERS);
	}
	record->trace_count = (uint32_t)hawk_column_get_count(from);
	record->site_of_trace = calloc((size_t)record->trace_count + 1, sizeof(uint32_t));
	if (!record->site_of_trace)
		return &hawk_enomem;
	for (uint32_t i = 0; i < record->trace_count && !from->failed; i++)
		record->site_of_trace[i] = get_site(from, record->site_count);
	record->lost_site = get_site(from, record->site_count);
	return NULL;
}

static struct hawk_error *read_contents(struct hawk_cursor *from, const struct hawk_target *target,
					struct hawk_heap_record *ret)
{
	struct hawk_error *err = NULL;
	size_t count;

	ret->knows = (unsigned)hawk_column_get_below(from, UINT32_MAX) & ~HAWK_HEAP_CONTENTS;
	ret->accounting.measured = hawk_column_get_below(from, 1);
	count = hawk_column_get_count(from);
	hawk_column_get_numbers(from, ret, numbers, count < NUMBERS ? count : NUMBERS);
	for (size_t i = NUMBERS; i < count; i++)
		(void)hawk_column_get(from);
	if (!(ret->knows & HAWK_HEAP_BLOCKS))
		err = get_sites(from, ret);
	return err ? err : hawk_heap_parts_get(from, target, ret);
}

struct hawk_error *hawk_heap_record_read(const struct hawk_target *target,
					 struct hawk_heap_record *ret)
{
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	struct hawk_heap_record record = {0};
	struct hawk_error *err =
		hawk_snapshot_read(hawk_target_snapshot(target), HAWK_SNAPSHOT_HEAP, 0, &contents);

	if (!err)
		err = read_contents(&contents.cursor, target, &record);
	if (!err && contents.cursor.failed)
		err = hawk_snapshot_nonsense(HAWK_SNAPSHOT_HEAP);
	if (err)
		hawk_heap_record_deinit(&record);
	else
		*ret = record;
	return err;
}

void hawk_heap_record_deinit(struct hawk_heap_record *record)
{
	free(record->sites);
	free(record->site_of_trace);
	hawk_heap_spans_deinit(&record->spans);
	hawk_damages_deinit(&record->damages);
	free(record->classes);
	free(record->names);
	free(record->frames);
	*record = (struct hawk_heap_record){0};
}
